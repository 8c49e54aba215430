import { type Company, listCompanies } from '../../companies/companies.ts'
import type { Queryable } from '../../platform/postgres/query.ts'
import { parseAddress } from '../../platform/text/addresses.ts'
import type { ListedDomain } from '../../providers/resend/domains.ts'
import { listTopics } from '../../providers/ses/sns.ts'
import type { smtpTls } from '../../providers/smtp/smtp.ts'
import { silenceAwsSdkWarning } from '../../settings/config.ts'
import type { InUse } from '../../settings/processes.ts'
import { recordedSettings } from '../../settings/recorded.ts'
import type { Settings } from '../../settings/settings.ts'
import { checkSes, domainCommand, readSesFacts, type SesFacts } from './ses.ts'
import { failed, type NamedVerdict, ok, type Verdict, warning } from './verdict.ts'

const PROBE_MS = 20_000
/** Each is one call to the provider. */
const MAX_DOMAINS = 50

/** Connects to every provider in use and authenticates, with the credentials of this shell. Sends nothing. */
export async function probeProviders(inUse: InUse, config: Settings, db: Queryable): Promise<NamedVerdict[]> {
  const real = inUse.providers.filter(entry => entry !== 'capture')
  if (real.length === 0) return [{ name: 'probe', ...ok('capture needs no connection') }]
  const domains = senderDomains(await listCompanies(db), inUse.settings.EMAIL_FROM ?? config.EMAIL_FROM)
  const found = await Promise.all(
    real.map(async entry => checkDestination(entry, inUse, config) ?? probe(entry, config)),
  )
  const details = await Promise.all(
    real.map((entry, index) => (found[index]!.state === 'ok' ? checkDetails(entry, inUse, config, domains, db) : [])),
  )
  return [...found.map(verdict => ({ name: 'probe', ...verdict })), ...details.flat()]
}

async function probe(entry: string, config: Settings): Promise<Verdict> {
  const setting = missingSetting(entry, config)
  if (setting) return warning(`${entry} is not tried: ${setting} is not set in this shell`)
  const { makeProvider } = await import('../../providers/clients.ts')
  const provider = await makeProvider(entry, config)
  try {
    return ok(`${entry}: ${await provider.probe!(AbortSignal.timeout(PROBE_MS))}`)
  } catch (error) {
    const { name, message } = error as Error
    const why = name === 'TimeoutError' || name === 'AbortError' ? `no answer within ${PROBE_MS / 1000} s` : message
    return failed(`${entry}: ${why || name}`)
  } finally {
    await provider.close()
  }
}

/** Set in this shell, but not as the gateway has it: its answer would be about another destination. */
function checkDestination(entry: string, { settings }: InUse, config: Settings): Verdict | null {
  const setting = DESTINATION[entry.split(':')[0]!]
  const own = setting && recordedSettings(config)[setting]
  if (!own || own === settings[setting]) return null
  const used = settings[setting] ? `it uses ${settings[setting]}` : 'it uses the default'
  return warning(`${entry} is not tried: this shell's ${setting} is not that of the gateway; ${used}`)
}

const DESTINATION: Record<string, 'SMTP_URL' | 'RESEND_BASE_URL' | 'AWS_ENDPOINT_URL_SESV2'> = {
  smtp: 'SMTP_URL',
  resend: 'RESEND_BASE_URL',
  ses: 'AWS_ENDPOINT_URL_SESV2',
}

function missingSetting(entry: string, config: Settings): string | null {
  if (entry === 'smtp') return config.SMTP_URL ? null : 'SMTP_URL'
  if (entry === 'resend') return config.RESEND_API_KEY ? null : 'RESEND_API_KEY'
  return entry.includes(':') || config.AWS_REGION ? null : 'AWS_REGION'
}

type Domains = Map<string, string[]>

/** Every domain that mail is sent from, with the companies that have it. */
export function senderDomains(companies: Pick<Company, 'name' | 'fromDomains'>[], emailFrom: string): Domains {
  const domains: Domains = new Map()
  const from = parseAddress(emailFrom)
  if (from.ok && !from.value.domain.endsWith('localdomain')) domains.set(from.value.domain, [])
  for (const { name, fromDomains } of companies)
    for (const domain of fromDomains) domains.set(domain, [...(domains.get(domain) ?? []), name])
  return new Map([...domains].slice(0, MAX_DOMAINS))
}

/** What the provider knows about our account, domains and events. */
async function checkDetails(
  entry: string,
  inUse: InUse,
  config: Settings,
  domains: Domains,
  db: Queryable,
): Promise<NamedVerdict[]> {
  if (entry === 'smtp') {
    const { smtpTls } = await import('../../providers/smtp/smtp.ts')
    return [{ name: 'smtp', ...checkRelayTls(smtpTls(config.SMTP_URL!)) }]
  }
  try {
    if (entry !== 'resend') return checkSes(await askSes(entry, inUse, config, domains, db))
    const listed = await listResendDomains(config)
    return checkResendDomains(listed, domains).map(verdict => ({ name: 'domain', ...verdict }))
  } catch (error) {
    // Credentials that may only send are usual: what they may not read is not checked.
    const { action, message } = error as Error & { action?: string }
    const what = action ? `${action}: ${message}` : message
    return [{ name: entry.split(':')[0]!, ...warning(`${entry} is not checked further: ${what}`) }]
  }
}

/** null: the key is for sending only, and may not read them. */
async function listResendDomains(config: Settings): Promise<ListedDomain[] | null> {
  const { resendDomains } = await import('../../providers/resend/domains.ts')
  const { RESEND_BASE_URL } = await import('../../providers/resend/resend.ts')
  const baseUrl = config.RESEND_BASE_URL ?? RESEND_BASE_URL
  try {
    return await resendDomains({ apiKey: config.RESEND_API_KEY!, baseUrl }).list()
  } catch (error) {
    if (/restricted/i.test((error as Error).message)) return null
    throw error
  }
}

async function askSes(
  entry: string,
  { settings }: InUse,
  config: Settings,
  domains: Domains,
  db: Queryable,
): Promise<SesFacts> {
  silenceAwsSdkWarning()
  return readSesFacts({
    entry,
    region: entry.split(':')[1] ?? config.AWS_REGION!,
    sesEndpoint: config.AWS_ENDPOINT_URL_SESV2,
    snsEndpoint: config.AWS_ENDPOINT_URL_SNS,
    configurationSet: settings.SES_CONFIGURATION_SET ?? config.SES_CONFIGURATION_SET ?? null,
    topicArns: [...new Set([...(settings.SNS_TOPIC_ARNS ?? []), ...(await listTopics(db))])],
    domains,
  })
}

export function checkRelayTls(tls: ReturnType<typeof smtpTls>): Verdict {
  switch (tls) {
    case 'always':
      return ok('mail to the relay is encrypted, or not sent')
    case 'local':
      return ok('mail to the relay does not leave this machine')
    case 'offered':
      return warning(
        'mail to the relay is encrypted only if the relay offers it: use smtps://, or add ?requireTLS=true to SMTP_URL',
      )
    case 'never':
      return warning('mail to the relay is never encrypted: remove ignoreTLS from SMTP_URL')
  }
}

export function checkResendDomains(listed: ListedDomain[] | null, wanted: Domains): Verdict[] {
  if (listed === null) return [ok('not checked at Resend: the API key is for sending only')]
  return [...wanted].map(([domain, companies]) => {
    const status = listed.find(({ name }) => name.toLowerCase() === domain)?.status
    if (status === 'verified') return ok(`${domain} is verified at Resend`)
    return status === undefined
      ? failed(`Resend does not have ${domain}; run: ${domainCommand('add', domain, companies)}`)
      : failed(`${domain} is ${status} at Resend; run: ${domainCommand('check', domain, companies)}`)
  })
}
