import { topicParts } from './names.ts'

/** The statement of ours: other statements of the topic's policy are left as they are. */
export const PUBLISH_SID = 'EmailGatewaySesPublish'

export type Statement = Record<string, unknown> & { Sid?: string }
type Policy = { Version?: string; Id?: string; Statement?: Statement | Statement[] }

/** SES may publish to the topic, for this configuration set of this account only. */
export function publishStatement(topicArn: string, configurationSet: string): Statement {
  const { partition, region, account } = topicParts(topicArn)!
  return {
    Sid: PUBLISH_SID,
    Effect: 'Allow',
    Principal: { Service: 'ses.amazonaws.com' },
    Action: 'sns:Publish',
    Resource: topicArn,
    Condition: {
      StringEquals: {
        'AWS:SourceAccount': account,
        'AWS:SourceArn': `arn:${partition}:ses:${region}:${account}:configuration-set/${configurationSet}`,
      },
    },
  }
}

/** The policy with our statement; null: it has it already. */
export function policyWithPublish(current: string | undefined, statement: Statement): string | null {
  const policy = parsePolicy(current)
  const statements = [policy.Statement ?? []].flat()
  const own = statements.find(({ Sid }) => Sid === PUBLISH_SID)
  if (own && sameStatement(own, statement)) return null
  const others = statements.filter(({ Sid }) => Sid !== PUBLISH_SID)
  return JSON.stringify({ Version: '2008-10-17', ...policy, Statement: [...others, statement] })
}

function parsePolicy(text: string | undefined): Policy {
  try {
    return Object(JSON.parse(text ?? '{}')) as Policy
  } catch {
    return {}
  }
}

/** AWS answers with its own order of keys. */
const sameStatement = (a: Statement, b: Statement) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}
