import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from '@cdktf/hcl2json'
import { beforeAll, describe, expect, test } from 'vitest'
import { dmarcSuggestion, mailFromDomain, sesRecords } from '../../src/providers/domains.ts'
import { iamPolicy, resourceOf } from '../../src/providers/ses/explain-aws.ts'
import { DEFAULT_SES_NAME, SES_EVENT_TYPES, SES_EVENTS_PATH, sesNames } from '../../src/providers/ses/names.ts'
import { publishStatement } from '../../src/providers/ses/setup.ts'
import { ROOT } from '../support/process.ts'

const SCOPE = { region: 'REGION', account: 'ACCOUNT_ID', names: sesNames() }
const POLICY = iamPolicy(SCOPE)

/** IAM actions of the commands of the AWS SDK that the source imports. */
function actionsInSource(): string[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  return files
    .filter(file => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap(file => {
      const text = readFileSync(join(ROOT, 'src', file), 'utf8')
      return (['sesv2', 'sns'] as const).flatMap(service => {
        const imported =
          new RegExp(`import (?:type )?\\{([^}]*)\\} from '@aws-sdk/client-${service}'`).exec(text)?.[1] ?? ''
        const names = [...imported.matchAll(/\b([A-Z]\w+)Command\b/g)].map(match => match[1])
        return names.map(name => `${service === 'sns' ? 'sns' : 'ses'}:${name}`)
      })
    })
}

/** References in a text of Terraform, replaced by its value. */
const fill = (text: string, values: Record<string, string>) =>
  Object.entries(values).reduce((filled, [name, value]) => filled.replaceAll(`$\{${name}}`, value), text)

const sorted = (list: Iterable<string>) => [...new Set(list)].sort()

describe('the IAM policy', () => {
  test('allows what the code calls, and nothing else', () => {
    // SendEmail with a raw message needs the permission of SendRawEmail.
    expect(sorted(POLICY.Statement.flatMap(({ Action }) => Action))).toEqual(
      sorted([...actionsInSource(), 'ses:SendRawEmail']),
    )
    expect(POLICY.Statement.filter(({ Resource }) => Resource === '*').map(({ Sid }) => Sid)).toEqual(['Account'])
    expect(resourceOf('sns:Subscribe', SCOPE)).toBe('arn:aws:sns:REGION:ACCOUNT_ID:email-gateway-events')
  })

  test('is the one of docs/ses.md', () => {
    const page = readFileSync(join(ROOT, 'docs/ses.md'), 'utf8')
    const [, shown] = /^```json\n([\s\S]*?)^```$/m.exec(page)!
    expect(JSON.parse(shown!)).toEqual(POLICY)
  })
})

describe('ops/terraform', () => {
  // biome-ignore lint/suspicious/noExplicitAny: configuration as JSON
  let tf: Record<string, any>

  beforeAll(async () => {
    const folder = join(ROOT, 'ops/terraform')
    tf = { resource: {}, data: {}, variable: {}, output: {} }
    for (const file of readdirSync(folder).filter(name => name.endsWith('.tf'))) {
      const parsed = await parse(file, readFileSync(join(folder, file), 'utf8'))
      for (const [kind, blocks] of Object.entries(parsed))
        for (const [type, named] of Object.entries(blocks as object))
          tf[kind] = { ...tf[kind], [type]: Array.isArray(named) ? named : { ...tf[kind]?.[type], ...named } }
    }
  })
  const resource = (type: string, name: string) => tf.resource[type][name][0]

  test('makes the same names and event types as `ses setup`', () => {
    expect(tf.variable.name[0].default).toBe(DEFAULT_SES_NAME)
    const named = (text: string) => fill(text, { 'var.name': DEFAULT_SES_NAME })
    const names = sesNames()
    expect(named(resource('aws_sesv2_configuration_set', 'gateway').configuration_set_name)).toBe(
      names.configurationSet,
    )
    expect(named(resource('aws_sns_topic', 'events').name)).toBe(names.topic)
    expect(resource('aws_sns_topic', 'events').signature_version).toBe(2)
    const destination = resource('aws_sesv2_configuration_set_event_destination', 'gateway')
    expect(named(destination.event_destination_name)).toBe(names.eventDestination)
    expect(destination.event_destination[0]).toMatchObject({
      enabled: true,
      matching_event_types: [...SES_EVENT_TYPES],
    })
    const subscription = resource('aws_sns_topic_subscription', 'gateway')
    expect(subscription).toMatchObject({ protocol: 'https' })
    expect(fill(subscription.endpoint, { 'var.url': 'https://g.example' })).toBe(`https://g.example${SES_EVENTS_PATH}`)
  })

  test('lets SES publish as the command does', () => {
    const [statement] = tf.data.aws_iam_policy_document.events[0].statement
    const own = publishStatement('arn:aws:sns:us-east-1:1:email-gateway-events', 'email-gateway')
    const filled = (text: string) =>
      fill(text, {
        'local.ses': 'arn:aws:ses:us-east-1:1',
        'local.account': '1',
        'var.name': 'email-gateway',
        'aws_sns_topic.events.arn': 'arn:aws:sns:us-east-1:1:email-gateway-events',
      })
    expect({
      Sid: statement.sid,
      Effect: statement.effect,
      Principal: { [statement.principals[0].type]: statement.principals[0].identifiers[0] },
      Action: statement.actions[0],
      Resource: filled(statement.resources[0]),
      Condition: {
        StringEquals: Object.fromEntries(
          statement.condition.map((one: { variable: string; values: string[] }) => [
            one.variable,
            filled(one.values[0]!),
          ]),
        ),
      },
    }).toEqual(own)
    expect(statement.condition.every(({ test: how }: { test: string }) => how === 'StringEquals')).toBe(true)
  })

  test('gives the permissions of docs/ses.md', () => {
    const filled = (text: string) =>
      fill(text, {
        'local.ses': 'arn:aws:ses:REGION:ACCOUNT_ID',
        'var.name': 'email-gateway',
        'aws_sns_topic.events.arn': 'arn:aws:sns:REGION:ACCOUNT_ID:email-gateway-events',
      })
    const statements = tf.data.aws_iam_policy_document.gateway[0].statement.map(
      ({ sid, actions, resources }: { sid: string; actions: string[]; resources: string[] }) => ({
        Sid: sid,
        Effect: 'Allow',
        Action: actions,
        Resource: resources.length === 1 ? filled(resources[0]!) : resources.map(filled),
      }),
    )
    expect(statements).toEqual(POLICY.Statement)
  })

  test('makes the domains and shows the records that `domain add` does', () => {
    const identity = resource('aws_sesv2_email_identity', 'sender')
    expect(identity.dkim_signing_attributes[0].next_signing_key_length).toBe('RSA_2048_BIT')
    const mailFrom = resource('aws_sesv2_email_identity_mail_from_attributes', 'sender')
    expect(fill(mailFrom.mail_from_domain, { 'each.key': 'example.com' })).toBe(mailFromDomain('example.com', 'R', 0))
    expect(mailFrom.behavior_on_mx_failure).toBe('USE_DEFAULT_VALUE')
    const output: string = tf.output.dns_records[0].value
    const filled = fill(output, { domain: 'example.com', 'local.region': 'R', token: 't1' })
    const records = sesRecords({
      domain: 'example.com',
      region: 'R',
      dkimTokens: ['t1'],
      signingHostedZone: undefined,
      mailFrom: 'bounce.example.com',
    })
    for (const { type, name, value, priority } of [...records, dmarcSuggestion('example.com')])
      expect(filled).toContain(
        `type = "${type}", name = "${name}", value = "${priority === undefined ? '' : `${priority} `}${value}"`,
      )
  })
})
