import type { AwsOptions } from '../../providers/aws.ts'
import { readIdentity } from '../../providers/ses/domains.ts'
import { SES_EVENT_TYPES, SES_EVENTS_PATH } from '../../providers/ses/names.ts'
import {
  type FoundDestination,
  hasConfigurationSet,
  listDestinations,
  listSubscriptions,
  policyWithPublish,
  publishStatement,
  readAccount,
  readTopic,
  sesClient,
  snsClient,
} from '../../providers/ses/setup.ts'
import { failed, type NamedVerdict, ok, type Verdict, warning } from './verdict.ts'

export type IdentityFacts = {
  domain: string
  companies: string[]
  /** null: SES does not have it. */
  found: { verified: boolean; dkim: string; mailFrom: string } | null
}

/** What Amazon SES and SNS answered. */
export type SesFacts = {
  entry: string
  account: { production: boolean; max24Hours: number; sent24Hours: number }
  configurationSet: { name: string; exists: boolean } | null
  destinations: FoundDestination[]
  topics: { arn: string; exists: boolean; publishAllowed: boolean; endpoints: { url: string; confirmed: boolean }[] }[]
  identities: IdentityFacts[]
}

const QUOTA_SHARE = 0.8
const SET_UP = 'email-gateway ses setup --url https://…'

export function checkSes(facts: SesFacts): NamedVerdict[] {
  return [
    ...[checkAccount(facts), ...checkConfiguration(facts)].map(verdict => ({ name: 'ses', ...verdict })),
    ...facts.topics.map(topic => ({ name: 'sns', ...checkTopic(topic) })),
    ...facts.identities.map(identity => ({ name: 'domain', ...checkIdentity(identity) })),
  ]
}

function checkAccount({ entry, account: { production, max24Hours, sent24Hours } }: SesFacts): Verdict {
  if (!production)
    return warning(
      `${entry}: the account is in the sandbox, and sends to verified addresses only; ask for production access: aws sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL --website-url https://…`,
    )
  // -1 means no limit.
  if (max24Hours > 0 && sent24Hours >= max24Hours * QUOTA_SHARE)
    return warning(
      `${entry}: ${sent24Hours} of ${max24Hours} e-mails of the daily quota are spent; ask for more: aws service-quotas list-service-quotas --service-code ses`,
    )
  return ok(`${entry}: production, ${sent24Hours} of ${max24Hours} e-mails in 24 hours`)
}

function checkConfiguration({ entry, configurationSet, destinations, topics }: SesFacts): Verdict[] {
  // Whether it is set at all is the check of `events`.
  if (!configurationSet) return []
  const { name, exists } = configurationSet
  const setUp = `run: ${SET_UP} --name ${name}`
  if (!exists)
    return [failed(`${entry}: there is no configuration set ${name}, and SES refuses e-mails that name it; ${setUp}`)]
  const publishing = destinations.filter(({ topicArn }) => topics.some(({ arn }) => arn === topicArn))
  if (publishing.length === 0)
    return [failed(`${entry}: the configuration set ${name} reports to no topic of this gateway; ${setUp}`)]
  const types = new Set(publishing.filter(({ enabled }) => enabled).flatMap(({ eventTypes }) => eventTypes))
  const missing = SES_EVENT_TYPES.filter(type => !types.has(type))
  if (missing.length === 0) return [ok(`${entry}: ${name} reports every event that is used`)]
  return [warning(`${entry}: ${name} does not report ${missing.join(', ')}; ${setUp}`)]
}

function checkTopic({ arn, exists, publishAllowed, endpoints }: SesFacts['topics'][number]): Verdict {
  const setUp = `run: ${SET_UP}`
  if (!exists) return failed(`${arn} does not exist; ${setUp}`)
  const ours = endpoints.filter(({ url }) => url.split('?')[0]!.endsWith(SES_EVENTS_PATH))
  if (!ours[0]) return failed(`${arn} has no subscription of ${SES_EVENTS_PATH}; ${setUp}`)
  if (!ours.some(({ confirmed }) => confirmed))
    return failed(`${arn} has a subscription that is not confirmed; ${setUp}`)
  if (!publishAllowed)
    return warning(`${arn} has no policy of ours that lets only SES of this account publish; ${setUp}`)
  return ok(`${arn} is subscribed by ${ours[0].url}`)
}

function checkIdentity({ domain, companies, found }: IdentityFacts): Verdict {
  const check = domainCommand('check', domain, companies)
  if (!found) return failed(`Amazon SES does not have ${domain}; run: ${domainCommand('add', domain, companies)}`)
  if (!found.verified) return failed(`${domain} is not verified (DKIM ${found.dkim}); run: ${check}`)
  if (found.dkim !== 'SUCCESS') return warning(`${domain} is sent without DKIM (${found.dkim}); run: ${check}`)
  if (found.mailFrom !== 'SUCCESS')
    return warning(`${domain} has no MAIL FROM of its own (${found.mailFrom}); run: ${check}`)
  return ok(`${domain}: verified, DKIM, MAIL FROM`)
}

export const domainCommand = (action: 'add' | 'check', domain: string, [company = 'NAME']: string[]) =>
  `email-gateway domain ${action} ${domain} --company ${company}`

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
