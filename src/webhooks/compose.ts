import type { Logger } from 'pino'
import { keyRing } from '../platform/encryption.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { ReadyVacuum } from '../platform/postgres/vacuum.ts'
import type { WakeableSleep } from '../platform/sleep.ts'
import { NO_TRACING, type Tracing } from '../platform/telemetry/tracing.ts'
import { userAgent } from '../platform/version.ts'
import type { Config } from '../settings/config.ts'
import type { ClaimedDelivery, EventFacts } from './claim.ts'
import { type NotifyDeps, notifyCompany, secretReader } from './deliver.ts'
import { WebhookDispatcher } from './dispatcher.ts'
import { makePoster, publicResolver, systemResolver } from './request.ts'

/** Other processes take over the endpoints of one that died after this long. */
const HOLD_SECONDS = 15

/** What delivers webhooks in this process. */
export function composeWebhooks(
  config: Config,
  db: Database,
  ready: WakeableSleep,
  log: Logger,
  tracing: Tracing = NO_TRACING,
) {
  const allowPrivate = config.WEBHOOK_ALLOW_PRIVATE
  const poster = makePoster({ resolve: allowPrivate ? systemResolver : publicResolver(), allowPrivate })
  const deps: NotifyDeps = {
    readSecret: secretReader(keyRing(config.encryptionKeys)),
    post: poster.post,
    userAgent: userAgent(),
    random: Math.random,
    now: () => db.clock.now(),
  }
  const dispatcher = new WebhookDispatcher({
    db: db.webhooks,
    ready,
    holdSeconds: Math.min(HOLD_SECONDS, config.LEASE_SECONDS),
    vacuum: new ReadyVacuum(db.pool, 'webhook_ready', ['webhook_state']),
    loadsFactsOfRetries: tracing.isOn,
    notify: (delivery, facts) => tracedNotify(delivery, facts, deps, tracing),
    log,
  })
  return {
    start: () => dispatcher.start(),
    wakeIfActive: () => dispatcher.wakeIfActive(),
    async stop() {
      await dispatcher.stop()
      poster.close()
    },
  }
}

/** The receiver gets the span of the delivery as its parent. */
function tracedNotify(delivery: ClaimedDelivery, facts: EventFacts | null, deps: NotifyDeps, tracing: Tracing) {
  const notify = (own: string | null) => notifyCompany(delivery, facts && { ...facts, traceparent: own }, deps)
  return tracing.traced('webhook', facts?.traceparent, notify, ({ posted, decision }) => ({
    companyId: delivery.companyId,
    outboxId: delivery.outboxId,
    webhookId: delivery.endpointId,
    deliveryId: delivery.deliveryId,
    type: delivery.type,
    attempt: delivery.attempts + 1,
    status: posted.status,
    errorCode: posted.error,
    outcome: decision.kind,
  }))
}
