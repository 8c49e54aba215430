import type { Logger } from 'pino'
import type { Storage } from '../console/storage.ts'
import { composeDomains } from '../domains/domains.ts'
import { returnExpiredLeases } from '../outbox/leases.ts'
import { composeFeedback } from '../pipeline/feedback/compose.ts'
import { logLost } from '../pipeline/housekeeping/log.ts'
import { composeSending } from '../pipeline/lanes/compose.ts'
import type { HtmlChecker } from '../platform/html/check.ts'
import { listenForNotifications } from '../platform/postgres/notifications.ts'
import { makeEmailLog } from '../platform/telemetry/email-log.ts'
import type { ProcessFigures } from '../platform/telemetry/process-figures.ts'
import type { Tracing } from '../platform/telemetry/tracing.ts'
import type { makeProviders } from '../providers/providers.ts'
import type { Config } from '../settings/config.ts'
import { composeWebhooks } from '../webhooks/compose.ts'
import { startHousekeeping } from './housekeeping.ts'
import type { Signals } from './signals.ts'

export type WorkerParts = {
  config: Config
  storage: Storage
  html: HtmlChecker
  signals: Signals
  /** Names this process in notifications, which it ignores itself. */
  senderId: string
  providersOf: typeof makeProviders
  tracing: Tracing
  figures: ProcessFigures
  log: Logger
}

export type Worker = {
  /** Everything that needs the database and can fail. Claims nothing yet. */
  prepare(): Promise<void>
  /** Cannot fail. */
  start(): void
  stop(): Promise<void>
}

/** Everything a worker process does: sending, feedback, webhooks and housekeeping. */
export async function composeWorker(parts: WorkerParts): Promise<Worker> {
  const { config, storage, html, signals, senderId, providersOf, tracing, figures, log } = parts
  const emailLog = makeEmailLog(log, config.LOG_SAMPLE)
  const { emailsReady, webhooksReady, eventsReceived } = signals
  const { db, url, onlyGateway } = storage
  const providers = await providersOf(config, db, () => emailsReady.wake(), log)
  const webhooks = composeWebhooks(config, db, webhooksReady, log, tracing)
  const feedback = composeFeedback({ config, db, received: eventsReceived, emailLog, tracing, log })
  const sending = await composeSending({
    config,
    db,
    providers,
    html,
    emailsReady,
    eventsReceived,
    wakeWebhooks: webhooks.wakeIfActive,
    countSent: feedback.countSent,
    emailLog,
    tracing,
    figures,
    log,
  })
  const { idempotentProviders } = providers
  const graceSeconds = config.UNKNOWN_GRACE_SECONDS
  const retentionDays = {
    content: config.RETENTION_CONTENT_DAYS,
    events: config.RETENTION_EVENTS_DAYS,
    emails: config.RETENTION_EMAILS_DAYS,
    deadLetters: config.RETENTION_DEAD_LETTERS_DAYS,
    webhooks: config.RETENTION_WEBHOOKS_DAYS,
    audit: config.RETENTION_AUDIT_DAYS,
    providerEvents: config.RETENTION_PROVIDER_EVENTS_DAYS,
  }
  const wake = { email_ready: () => emailsReady.wake(), webhook_ready: () => webhooksReady.wake() }
  const stops: (() => unknown)[] = []
  return {
    async prepare() {
      await providers.start()
      if (onlyGateway)
        await logLost(
          db.short,
          await returnExpiredLeases(db.short, { all: true, idempotentProviders, graceSeconds }),
          emailLog,
        )
      await sending.prepare()
    },
    start() {
      const domains = composeDomains(config, db)
      const options = {
        idempotentProviders,
        graceSeconds,
        retentionDays,
        emailsReady,
        pool: db.pool,
        emailLog,
        domains,
      }
      stops.push(startHousekeeping(db.short, options, log))
      stops.push(
        listenForNotifications(url, senderId, wake, error =>
          log.debug({ err: error }, 'The connection for notifications was lost'),
        ),
      )
      webhooks.start()
      sending.start()
      feedback.start()
    },
    async stop() {
      await sending.stop()
      await feedback.stop()
      // After those two: the webhooks of the last e-mails may still be delivered.
      await webhooks.stop()
      for (const stop of stops) await stop()
      await providers.stop()
    },
  }
}
