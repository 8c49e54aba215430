import { type Company, listCompanies } from '../../companies/companies.ts'
import type { Queryable } from '../../platform/postgres/query.ts'
import { parseAddress } from '../../platform/text/addresses.ts'
import { listTopics } from '../../providers/ses/sns.ts'
import type { makeProvider } from '../../providers/table.ts'
import { silenceAwsSdkWarning } from '../../settings/config.ts'
import type { InUse } from '../../settings/processes.ts'
import { recordedSettings } from '../../settings/recorded.ts'
import { missingSetting, type Settings } from '../../settings/settings.ts'
import type { Check } from './command.ts'
import { sesChecks } from './ses.ts'

const PROBE_MS = 20_000
/** Each is one call to the provider. */
const MAX_DOMAINS = 50

/** Connects to every provider in use and authenticates, with the credentials of this shell. Sends nothing. */
export async function probeChecks(inUse: InUse, config: Settings, db: Queryable): Promise<Check[]> {
  const real = inUse.providers.filter(entry => entry !== 'capture')
  if (real.length === 0) return [{ name: 'probe', state: 'ok', detail: 'capture needs no connection' }]
  const { makeProvider: make } = await import('../../providers/table.ts')
  const domains = senderDomains(await listCompanies(db), inUse.settings.EMAIL_FROM ?? config.EMAIL_FROM)
  const found = await Promise.all(real.map(entry => differing(entry, inUse, config) ?? probe(entry, config, make)))
  const details = await Promise.all(
    real.map((entry, place) => (found[place]!.state === 'ok' ? detailsOf(entry, inUse, config, domains, db) : [])),
  )
  return [...found, ...details.flat()]
}

async function probe(entry: string, config: Settings, make: typeof makeProvider): Promise<Check> {
  const name = 'probe'
  const setting = missingSetting(entry, config)
  if (setting) return { name, state: 'warning', detail: `${entry} is not tried: ${setting} is not set in this shell` }
  const provider = await make(entry, config)
  try {
    const found = await provider.probe!(AbortSignal.timeout(PROBE_MS))
    return { name, state: 'ok', detail: `${entry}: ${found}` }
  } catch (error) {
    const { name: kind, message } = error as Error
    const why = kind === 'TimeoutError' || kind === 'AbortError' ? `no answer within ${PROBE_MS / 1000} s` : message
    return { name, state: 'failed', detail: `${entry}: ${why || kind}` }
  } finally {
    await provider.close()
  }
}

/** Set in this shell, but not as the gateway has it: its answer would be about another destination. */
function differing(entry: string, { settings }: InUse, config: Settings): Check | null {
  const setting = DESTINATION[entry.split(':')[0]!]
  const own = setting && recordedSettings(config)[setting]
  if (!own || own === settings[setting]) return null
  const used = settings[setting] ? `it uses ${settings[setting]}` : 'it uses the default'
  const detail = `${entry} is not tried: this shell's ${setting} is not that of the gateway; ${used}`
  return { name: 'probe', state: 'warning', detail }
}

const DESTINATION: Record<string, 'SMTP_URL' | 'RESEND_BASE_URL' | 'AWS_ENDPOINT_URL_SESV2'> = {
  smtp: 'SMTP_URL',
  resend: 'RESEND_BASE_URL',
  ses: 'AWS_ENDPOINT_URL_SESV2',
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
async function detailsOf(
  entry: string,
  inUse: InUse,
  config: Settings,
  domains: Domains,
  db: Queryable,
): Promise<Check[]> {
  if (entry === 'smtp') {
    const { smtpTls } = await import('../../providers/smtp/smtp.ts')
    return [relayTlsOf(smtpTls(config.SMTP_URL!))]
  }
  try {
    return entry === 'resend' ? await askResend(config, domains) : await askSes(entry, inUse, config, domains, db)
  } catch (error) {
    return [notAsked(entry, error as Error & { action?: string })]
  }
}

/** Credentials that may only send are usual: what they may not read is not checked. */
function notAsked(entry: string, { action, message }: Error & { action?: string }): Check {
  const what = action ? `${action}: ${message}` : message
  return { name: entry.split(':')[0]!, state: 'warning', detail: `${entry} is not checked further: ${what}` }
}

async function askResend(config: Settings, wanted: Domains): Promise<Check[]> {
  const { resendDomains } = await import('../../providers/resend/domains.ts')
  const { RESEND_BASE_URL } = await import('../../providers/resend/resend.ts')
  const baseUrl = config.RESEND_BASE_URL ?? RESEND_BASE_URL
  const listed = await resendDomains({ apiKey: config.RESEND_API_KEY!, baseUrl })
    .list()
    .catch(error => {
      if (/restricted/i.test(error.message)) return null
      throw error
    })
  return resendDomainChecks({ listed, wanted })
}

async function askSes(
  entry: string,
  { settings }: InUse,
  config: Settings,
  domains: Domains,
  db: Queryable,
): Promise<Check[]> {
  silenceAwsSdkWarning()
  const { readSesFacts } = await import('./ses.ts')
  const facts = await readSesFacts({
    entry,
    region: entry.split(':')[1] ?? config.AWS_REGION!,
    sesEndpoint: config.AWS_ENDPOINT_URL_SESV2,
    snsEndpoint: config.AWS_ENDPOINT_URL_SNS,
    configurationSet: settings.SES_CONFIGURATION_SET ?? config.SES_CONFIGURATION_SET ?? null,
    topicArns: [...new Set([...(settings.SNS_TOPIC_ARNS ?? []), ...(await listTopics(db))])],
    domains,
  })
  return sesChecks(facts)
}

export type TlsOfRelay = 'always' | 'offered' | 'never' | 'local'

const WHEN: Record<TlsOfRelay, string> = {
  always: 'is encrypted, or not sent',
  local: 'does not leave this machine',
  offered: 'is encrypted only if the relay offers it: use smtps://, or add ?requireTLS=true to SMTP_URL',
  never: 'is never encrypted: remove ignoreTLS from SMTP_URL',
}

export function relayTlsOf(tls: TlsOfRelay): Check {
  const state = tls === 'offered' || tls === 'never' ? 'warning' : 'ok'
  return { name: 'smtp', state, detail: `mail to the relay ${WHEN[tls]}` }
}

export type ResendFacts = { listed: { name: string; status: string }[] | null; wanted: Map<string, string[]> }

/** listed null: the key is for sending only, and may not read them. */
export function resendDomainChecks({ listed, wanted }: ResendFacts): Check[] {
  const name = 'domain'
  if (listed === null) return [{ name, state: 'ok', detail: 'not checked at Resend: the API key is for sending only' }]
  return [...wanted].map(([domain, companies]): Check => {
    const status = listed.find(one => one.name.toLowerCase() === domain)?.status
    const company = companies[0] === undefined ? '--company NAME' : `--company ${companies[0]}`
    if (status === 'verified') return { name, state: 'ok', detail: `${domain} is verified at Resend` }
    if (status === undefined)
      return {
        name,
        state: 'failed',
        detail: `Resend does not have ${domain}; run: email-gateway domain add ${domain} ${company}`,
      }
    return {
      name,
      state: 'failed',
      detail: `${domain} is ${status} at Resend; run: email-gateway domain check ${domain} ${company}`,
    }
  })
}
