import { Batcher } from '../platform/batcher.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { writeBatchOrSingly } from '../platform/postgres/retries.ts'
import { silenceAwsSdkWarning } from '../settings/config.ts'
import type { Settings } from '../settings/settings.ts'
import { captureProvider } from './capture/capture.ts'
import { type CaptureItem, countThrottled, putCaptured } from './capture/inbox.ts'
import type { Provider } from './provider.ts'

const CAPTURE_BATCH = { maxItems: 256, concurrency: 2 }

/** config.ts has checked each provider's settings. Imported when used: loading the AWS SDK takes a third of a second. */
export async function makeProvider(entry: string, config: Settings): Promise<Provider> {
  const [name, region] = entry.split(':')
  switch (name) {
    case 'resend': {
      const { resendProvider } = await import('./resend/resend.ts')
      const { RESEND_API_KEY, RESEND_BASE_URL } = config
      return resendProvider({ apiKey: RESEND_API_KEY!, ...(RESEND_BASE_URL && { baseUrl: RESEND_BASE_URL }) })
    }
    case 'smtp': {
      const { smtpProvider } = await import('./smtp/smtp.ts')
      return smtpProvider({ url: config.SMTP_URL!, maxConnections: config.WORKER_CONCURRENCY })
    }
    case 'ses': {
      silenceAwsSdkWarning()
      const { sesProvider } = await import('./ses/ses.ts')
      return sesProvider({
        name: entry,
        region: region ?? config.AWS_REGION!,
        configurationSet: config.SES_CONFIGURATION_SET ?? null,
        ...(config.AWS_ENDPOINT_URL_SESV2 && { endpoint: config.AWS_ENDPOINT_URL_SESV2 }),
      })
    }
    default:
      throw new Error(`There is no client for the provider ${entry}`)
  }
}

export function makeCapture(db: Database): Provider {
  const captures = new Batcher({
    ...CAPTURE_BATCH,
    flush: (batch: CaptureItem[]) => writeBatchOrSingly(batch, some => putCaptured(db.short, some)),
  })
  return captureProvider({ put: item => captures.add(item), timesThrottled: id => countThrottled(db.short, id) })
}
