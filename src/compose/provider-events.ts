import type { Logger } from 'pino'
import { type Config, silenceAwsSdkWarning } from '../config.ts'
import { type IncomingEvent, storeProviderEvents } from '../db/feedback/provider-events.ts'
import { listTopics } from '../db/feedback/sns-topics.ts'
import type { Database } from '../db/pool.ts'
import { writeBatchOrSingly } from '../db/retries.ts'
import type { ProviderEventDeps } from '../http/provider-events.ts'
import { regionOfArn } from '../http/sns.ts'
import { certificateSource, fetchedCertificates, pinnedCertificates } from '../http/sns-certificates.ts'
import { Batcher } from '../runtime/batcher.ts'
import { cachedQuery } from '../runtime/cached-query.ts'
import { bufferedCounter } from './buffered-counts.ts'

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
      const { confirmSubscription } = await import('../providers/sns.ts')
      await confirmSubscription(subscription, endpoint)
    },
    rawPassword: config.SNS_RAW_DELIVERY_PASSWORD ?? null,
  }
}
