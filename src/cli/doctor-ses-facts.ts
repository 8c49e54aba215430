import { policyWithPublish, publishStatement } from '../contracts/ses/topic-policy.ts'
import type { AwsOptions } from '../providers/aws/call.ts'
import { hasConfigurationSet, listDestinations, readAccount, sesClient } from '../providers/aws/ses-events.ts'
import { listSubscriptions, readTopic, snsClient } from '../providers/aws/sns-topic.ts'
import { readIdentity } from '../providers/domains/ses.ts'
import type { IdentityFacts, SesFacts } from './doctor-ses.ts'

/** `domains`: sender domains with the companies that have them. */
export type SesQuestions = AwsOptions & {
  entry: string
  configurationSet: string | null
  topicArns: string[]
  domains: Map<string, string[]>
}

export async function readSesFacts(asked: SesQuestions): Promise<SesFacts> {
  const { entry, configurationSet: set, topicArns, domains, region } = asked
  const [ses, sns] = [sesClient(asked), snsClient(asked)]
  try {
    const { ProductionAccessEnabled, SendQuota } = await readAccount(ses)
    const exists = set !== null && (await hasConfigurationSet(ses, set))
    const inRegion = topicArns.filter(arn => arn.split(':')[3] === region)
    return {
      entry,
      account: {
        production: ProductionAccessEnabled === true,
        max24Hours: SendQuota?.Max24HourSend ?? -1,
        sent24Hours: SendQuota?.SentLast24Hours ?? 0,
      },
      configurationSet: set === null ? null : { name: set, exists },
      destinations: exists ? await listDestinations(ses, set) : [],
      topics: await Promise.all(inRegion.map(arn => topicFacts(sns, arn, set))),
      identities: await Promise.all([...domains].map(([domain, companies]) => identityFacts(ses, domain, companies))),
    }
  } finally {
    ses.destroy()
    sns.destroy()
  }
}

async function topicFacts(sns: ReturnType<typeof snsClient>, arn: string, set: string | null) {
  const topic = await readTopic(sns, arn)
  if (!topic) return { arn, exists: false, publishAllowed: false, endpoints: [] }
  const allowed = set === null || policyWithPublish(topic.Policy, publishStatement(arn, set)) === null
  return { arn, exists: true, publishAllowed: allowed, endpoints: await listSubscriptions(sns, arn) }
}

async function identityFacts(
  ses: ReturnType<typeof sesClient>,
  domain: string,
  companies: string[],
): Promise<IdentityFacts> {
  const identity = await readIdentity(ses, domain)
  if (!identity) return { domain, companies, found: null }
  const { VerifiedForSendingStatus, DkimAttributes, MailFromAttributes } = identity
  const dkim = DkimAttributes?.Status ?? 'NOT_STARTED'
  const mailFrom = MailFromAttributes?.MailFromDomainStatus ?? 'not set'
  return { domain, companies, found: { verified: VerifiedForSendingStatus === true, dkim, mailFrom } }
}
