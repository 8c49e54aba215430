import { Batcher } from '../platform/batcher.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { writeBatchOrSingly } from '../platform/postgres/retries.ts'
import { silenceAwsSdkWarning } from '../settings/config.ts'
import type { ProviderName, Settings } from '../settings/settings.ts'
import { captureProvider } from './capture/capture.ts'
import { type CaptureItem, countThrottled, putCaptured } from './capture/inbox.ts'
import type { ProviderDomains } from './domains.ts'
import type { Provider } from './provider.ts'
import { type ReadReport, readOwnReport } from './report.ts'
import { readResendEvent } from './resend/reports.ts'
import { readSesEvent } from './ses/reports.ts'

type Rate = number | null

/** What the rest of the gateway asks of a provider. Its errors are in errors/classify.ts, its settings in settings.ts and processes.ts. */
type ProviderKind = {
  /** Of one entry of EMAIL_PROVIDER, whose settings config.ts has checked. */
  make: (entry: string, config: Settings) => Promise<Provider>
  /** Of all its entries. Without it, there is nothing to create and verify there. */
  openDomains?: (entries: string[], config: Settings) => Promise<ProviderDomains[]>
  readReport: (payload: string, receivedMs: number) => ReadReport
  /** The rate while it does not throttle: of SEND_RATE_PER_SECOND, and the one that the provider has reported. */
  baseRate: (configured: Rate, reported: Rate) => Rate
}

/** The rate of the SES sandbox, used until the quota of the account is known. */
const DEFAULT_SES_RATE = 1

/** A rate that was reported in responses is a hard limit. */
const lowerRate = (configured: Rate, reported: Rate): Rate =>
  configured !== null && reported !== null ? Math.min(configured, reported) : (configured ?? reported)

/** Clients are imported when used: loading the AWS SDK takes a third of a second. */
const PROVIDERS: Record<ProviderName, ProviderKind> = {
  ses: {
    async make(entry, config) {
      silenceAwsSdkWarning()
      const { sesProvider } = await import('./ses/ses.ts')
      return sesProvider({
        name: entry,
        region: regionOf(entry, config),
        configurationSet: config.SES_CONFIGURATION_SET ?? null,
        ...(config.AWS_ENDPOINT_URL_SESV2 && { endpoint: config.AWS_ENDPOINT_URL_SESV2 }),
      })
    },
    async openDomains(entries, config) {
      silenceAwsSdkWarning()
      const { sesDomains } = await import('./ses/domains.ts')
      const sesEndpoint = config.AWS_ENDPOINT_URL_SESV2
      return entries.map((name, place) => sesDomains({ name, place, region: regionOf(name, config), sesEndpoint }))
    },
    readReport: readSesEvent,
    // The setting overrides the quota of the account.
    baseRate: (configured, reported) => configured ?? reported ?? DEFAULT_SES_RATE,
  },
  resend: {
    async make(_entry, { RESEND_API_KEY, RESEND_BASE_URL }) {
      const { resendProvider } = await import('./resend/resend.ts')
      return resendProvider({ apiKey: RESEND_API_KEY!, ...(RESEND_BASE_URL && { baseUrl: RESEND_BASE_URL }) })
    },
    async openDomains(_entries, config) {
      const { resendDomains } = await import('./resend/domains.ts')
      const { RESEND_BASE_URL } = await import('./resend/resend.ts')
      return [resendDomains({ apiKey: config.RESEND_API_KEY!, baseUrl: config.RESEND_BASE_URL ?? RESEND_BASE_URL })]
    },
    readReport: readResendEvent,
    baseRate: lowerRate,
  },
  smtp: {
    async make(_entry, config) {
      const { smtpProvider } = await import('./smtp/smtp.ts')
      return smtpProvider({ url: config.SMTP_URL!, maxConnections: config.WORKER_CONCURRENCY })
    },
    readReport: readOwnReport,
    baseRate: lowerRate,
  },
  capture: {
    make: () => Promise.reject(new Error('Capture is made with a database')),
    readReport: readOwnReport,
    baseRate: () => null,
  },
}

const regionOf = (entry: string, config: Settings) => entry.split(':')[1] ?? config.AWS_REGION!
const nameOf = (entry: string) => entry.split(':')[0] as ProviderName

export const makeProvider = (entry: string, config: Settings): Promise<Provider> =>
  PROVIDERS[nameOf(entry)].make(entry, config)

const CAPTURE_BATCH = { maxItems: 256, concurrency: 2 }

export function makeCapture(db: Database): Provider {
  const captures = new Batcher({
    ...CAPTURE_BATCH,
    flush: (batch: CaptureItem[]) => writeBatchOrSingly(batch, some => putCaptured(db.short, some)),
  })
  return captureProvider({ put: item => captures.add(item), timesThrottled: id => countThrottled(db.short, id) })
}

/** Of the entries that have any; those of SES first. */
export async function openDomains(entries: string[], config: Settings): Promise<ProviderDomains[]> {
  const opened: ProviderDomains[] = []
  for (const [name, provider] of Object.entries(PROVIDERS)) {
    const ofProvider = entries.filter(entry => nameOf(entry) === name)
    if (ofProvider.length > 0) opened.push(...((await provider.openDomains?.(ofProvider, config)) ?? []))
  }
  return opened
}

/** receivedMs is by the database's clock. Times in the event are ignored if they are more than a day later. */
export function readReport(provider: ProviderName, payload: string, receivedMs: number): ReadReport {
  return PROVIDERS[provider].readReport(payload, receivedMs)
}

/** Recipients per second for a provider that does not throttle; null: no limit. */
export function baseRate(entry: string, configured: Rate, reported: Rate): Rate {
  // The database may have a provider of another version.
  const known: ProviderKind | undefined = PROVIDERS[nameOf(entry)]
  return (known?.baseRate ?? lowerRate)(configured, reported)
}
