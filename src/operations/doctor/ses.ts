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
import type { Check } from './command.ts'

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

export function sesChecks(facts: SesFacts): Check[] {
  return [accountOf(facts), ...configurationOf(facts), ...topicsOf(facts), ...facts.identities.flatMap(identityOf)]
}

function accountOf({ entry, account }: SesFacts): Check {
  const name = 'ses'
  const { production, max24Hours, sent24Hours } = account
  if (!production)
    return {
      name,
      state: 'warning',
      detail: `${entry}: the account is in the sandbox, and sends to verified addresses only; ask for production access: aws sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL --website-url https://…`,
    }
  // -1 means no limit.
  if (max24Hours > 0 && sent24Hours >= max24Hours * QUOTA_SHARE)
    return {
      name,
      state: 'warning',
      detail: `${entry}: ${sent24Hours} of ${max24Hours} e-mails of the daily quota are spent; ask for more: aws service-quotas list-service-quotas --service-code ses`,
    }
  return { name, state: 'ok', detail: `${entry}: production, ${sent24Hours} of ${max24Hours} e-mails in 24 hours` }
}

function configurationOf({ entry, configurationSet, destinations, topics }: SesFacts): Check[] {
  const name = 'ses'
  // Whether it is set at all is the check of `events`.
  if (!configurationSet) return []
  if (!configurationSet.exists)
    return [
      {
        name,
        state: 'failed',
        detail: `${entry}: there is no configuration set ${configurationSet.name}, and SES refuses e-mails that name it; run: ${SET_UP} --name ${configurationSet.name}`,
      },
    ]
  const publishing = destinations.filter(({ topicArn }) => topics.some(({ arn }) => arn === topicArn))
  if (publishing.length === 0)
    return [
      {
        name,
        state: 'failed',
        detail: `${entry}: the configuration set ${configurationSet.name} reports to no topic of this gateway; run: ${SET_UP} --name ${configurationSet.name}`,
      },
    ]
  const types = new Set(publishing.filter(({ enabled }) => enabled).flatMap(({ eventTypes }) => eventTypes))
  const missing = SES_EVENT_TYPES.filter(type => !types.has(type))
  if (missing.length === 0)
    return [{ name, state: 'ok', detail: `${entry}: ${configurationSet.name} reports every event that is used` }]
  return [
    {
      name,
      state: 'warning',
      detail: `${entry}: ${configurationSet.name} does not report ${missing.join(', ')}; run: ${SET_UP} --name ${configurationSet.name}`,
    },
  ]
}

function topicsOf({ topics }: SesFacts): Check[] {
  const name = 'sns'
  return topics.map(({ arn, exists, publishAllowed, endpoints }): Check => {
    const failed = (what: string): Check => ({ name, state: 'failed', detail: `${arn} ${what}; run: ${SET_UP}` })
    if (!exists) return failed('does not exist')
    const ours = endpoints.filter(({ url }) => url.split('?')[0]!.endsWith(SES_EVENTS_PATH))
    if (ours.length === 0) return failed(`has no subscription of ${SES_EVENTS_PATH}`)
    if (!ours.some(({ confirmed }) => confirmed)) return failed('has a subscription that is not confirmed')
    if (!publishAllowed)
      return {
        name,
        state: 'warning',
        detail: `${arn} has no policy of ours that lets only SES of this account publish; run: ${SET_UP}`,
      }
    return { name, state: 'ok', detail: `${arn} is subscribed by ${ours[0]!.url}` }
  })
}

function identityOf({ domain, companies, found }: IdentityFacts): Check[] {
  const name = 'domain'
  const company = companies[0] === undefined ? '--company NAME' : `--company ${companies[0]}`
  const add = `email-gateway domain add ${domain} ${company}`
  const check = `email-gateway domain check ${domain} ${company}`
  if (!found) return [{ name, state: 'failed', detail: `Amazon SES does not have ${domain}; run: ${add}` }]
  if (!found.verified)
    return [{ name, state: 'failed', detail: `${domain} is not verified (DKIM ${found.dkim}); run: ${check}` }]
  if (found.dkim !== 'SUCCESS')
    return [{ name, state: 'warning', detail: `${domain} is sent without DKIM (${found.dkim}); run: ${check}` }]
  if (found.mailFrom !== 'SUCCESS')
    return [
      { name, state: 'warning', detail: `${domain} has no MAIL FROM of its own (${found.mailFrom}); run: ${check}` },
    ]
  return [{ name, state: 'ok', detail: `${domain}: verified, DKIM, MAIL FROM` }]
}

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
