import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { keyRing } from '../contracts/encryption.ts'
import type { Database } from '../db/pool.ts'
import { ReadyVacuum } from '../db/vacuum.ts'
import { type NotifyDeps, notifyCompany, secretReader } from '../pipeline/notify.ts'
import type { WakeableSleep } from '../runtime/wakeable-sleep.ts'
import { publicResolver, systemResolver } from '../webhooks/address-check.ts'
import { WebhookDispatcher } from '../webhooks/dispatcher.ts'
import { makePoster } from '../webhooks/request.ts'

/** Other processes take over the endpoints of one that died after this long. */
const HOLD_SECONDS = 15

/** What delivers webhooks in this process. */
export function composeWebhooks(config: Config, db: Database, ready: WakeableSleep, log: Logger) {
  const allowPrivate = config.WEBHOOK_ALLOW_PRIVATE
  const poster = makePoster({ resolve: allowPrivate ? systemResolver : publicResolver(), allowPrivate })
  const deps: NotifyDeps = {
    readSecret: secretReader(keyRing(config.encryptionKeys)),
    post: poster.post,
    random: Math.random,
    now: () => db.clock.now(),
  }
  const dispatcher = new WebhookDispatcher({
    db: db.webhooks,
    ready,
    holdSeconds: Math.min(HOLD_SECONDS, config.LEASE_SECONDS),
    vacuum: new ReadyVacuum(db.pool, 'webhook_ready', ['webhook_state']),
    notify: (delivery, facts) => notifyCompany(delivery, facts, deps),
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
