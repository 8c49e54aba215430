import type { Logger } from 'pino'
import { addToReputation, warnOrPauseCompanies } from '../../companies/reputation.ts'
import { type IncomingEvent, storeProviderEvents } from '../../outbox/provider-events.ts'
import { Batcher } from '../../platform/batcher.ts'
import { cachedQuery } from '../../platform/cache.ts'
import { oneAtATime, periodically } from '../../platform/periodic-task.ts'
import { BufferedCounter, bufferedCounter } from '../../platform/postgres/counters.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { writeBatchOrSingly } from '../../platform/postgres/retries.ts'
import type { WakeableSleep } from '../../platform/sleep.ts'
import type { EmailLog } from '../../platform/telemetry/email-log.ts'
import type { Tracing } from '../../platform/telemetry/tracing.ts'
import {
  certificateSource,
  fetchedCertificates,
  listTopics,
  pinnedCertificates,
  regionOfArn,
} from '../../providers/ses/sns.ts'
import { type Config, silenceAwsSdkWarning } from '../../settings/config.ts'
import { suppressionPolicy } from '../../suppression/rules.ts'
import { feedbackLoop } from './event-loop.ts'
import { recordFeedback } from './feedback.ts'
import type { ProviderEventDeps } from './routes.ts'

const FLUSH_COUNTS_MS = 2_000
/** Also without new events: the grace period of a warning ends, and old hours no longer count. */
const CHECK_REPUTATIONS_MS = 60_000

export type Feedback = {
  /** An e-mail was sent to so many recipients. */
  countSent: (companyId: string, recipients: number) => void
  start(): void
  stop(): Promise<void>
}

export type FeedbackParts = {
  config: Config
  db: Database
  received: WakeableSleep
  emailLog: EmailLog
  tracing: Tracing
  log: Logger
}

/** Provider events, and the reputation of the companies. */
export function composeFeedback({ config, db, received, emailLog, tracing, log }: FeedbackParts): Feedback {
  const counter = new BufferedCounter(counts =>
    addToReputation(
      db.pool,
      counts.map(([companyId, sent]) => ({ companyId, sent })),
    ),
  )
  // Called every minute and after provider events, which may coincide.
  const checkReputations = oneAtATime(async () => {
    await counter.flush()
    await warnOrPauseCompanies(db.pool, log)
  })
  const deps = { db: db.short, suppression: suppressionPolicy(config), emailLog, tracing, log }
  const loop = feedbackLoop({ record: () => recordFeedback(deps), checkReputations, received, log })
  const every = (ms: number, task: () => Promise<unknown>, message: string) =>
    periodically(ms, task, error => log.warn({ err: error }, message))
  let periodic: (() => Promise<void>)[] = []
  return {
    countSent: (companyId, recipients) => counter.count(companyId, recipients),
    start() {
      loop.start()
      periodic = [
        every(FLUSH_COUNTS_MS, () => counter.flush(), 'Could not write the counts of sent e-mails; trying again'),
        every(CHECK_REPUTATIONS_MS, checkReputations, 'Could not check the reputation of the companies; trying again'),
      ]
    },
    async stop() {
      await Promise.all(periodic.map(stop => stop()))
      await loop.stop()
      await counter.flush().catch(() => {})
    },
  }
}

/** Many events share one commit; each 16 KB of payload counts as one more. */
const INBOX_BATCH = { maxItems: 256, concurrency: 2, maxWeight: 1024 }
const WEIGHT_CHARS = 16 * 1024
/** How long a topic may stay unknown after `ses setup` has recorded it: Amazon SNS sends its confirmation within a second. */
const TOPICS_MS = 100

export type ProviderEvents = { deps: ProviderEventDeps; close(): Promise<void> }

/** What the routes /webhooks/ses and /webhooks/resend need. */
export function composeProviderEvents(
  config: Config,
  db: Database,
  onReported: () => void,
  log: Logger,
): ProviderEvents {
  const refusals = bufferedCounter('provider_events_refused', db.pool, log)
  const inbox = new Batcher<IncomingEvent, boolean>({
    ...INBOX_BATCH,
    flush: batch => writeBatchOrSingly(batch, some => storeProviderEvents(db.short, some)),
    weigh: ({ payload }) => 1 + Math.floor(payload.length / WEIGHT_CHARS),
  })
  return {
    deps: {
      inbox,
      onReported,
      onRefused: (provider, reason) => refusals.count(`${provider} ${reason}`),
      sns: snsParts(config, db),
      resendSecrets: config.RESEND_WEBHOOK_SECRET ?? [],
    },
    close: () => refusals.close(),
  }
}

function snsParts(config: Config, db: Database): ProviderEventDeps['sns'] {
  const { SNS_CERT_DIR: directory, AWS_ENDPOINT_URL_SNS: endpoint } = config
  const stored = cachedQuery(TOPICS_MS, () => listTopics(db.pool))
  return {
    async rules() {
      const topicArns = [...(config.SNS_TOPIC_ARNS ?? []), ...(await stored())]
      return { topicArns, regions: config.SNS_REGIONS ?? topicArns.flatMap(arn => regionOfArn(arn) ?? []) }
    },
    nowMs: () => db.clock.nowMs(),
    certificates: directory
      ? certificateSource(pinnedCertificates(directory), { pinned: true })
      : certificateSource(fetchedCertificates(), { pinned: false }),
    // Imported when used: a subscription is confirmed once.
    async confirm(subscription) {
      silenceAwsSdkWarning()
      const { confirmSubscription } = await import('../../providers/ses/sns.ts')
      await confirmSubscription(subscription, endpoint)
    },
    rawPassword: config.SNS_RAW_DELIVERY_PASSWORD ?? null,
  }
}
