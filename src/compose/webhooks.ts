import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { keyRing } from '../contracts/encryption.ts'
import type { Database } from '../db/pool.ts'
import { ReadyVacuum } from '../db/vacuum.ts'
import { secretReader } from '../pipeline/notify.ts'
import { publicResolver, systemResolver } from '../webhooks/address-check.ts'
import { WebhookDispatcher } from '../webhooks/dispatcher.ts'
import { makePoster } from '../webhooks/request.ts'

/** Others take over from a process that died after this long: a company's webhooks wait less than its e-mails may. */
const HOLD_SECONDS = 15

/** What delivers webhooks in this process. */
export function composeWebhooks(config: Config, db: Database, log: Logger) {
  const allowPrivate = config.WEBHOOK_ALLOW_PRIVATE
  const poster = makePoster({ resolve: allowPrivate ? systemResolver : publicResolver(), allowPrivate })
  const dispatcher = new WebhookDispatcher({
    db: db.dispatcher,
    holdSeconds: Math.min(HOLD_SECONDS, config.LEASE_SECONDS),
    vacuum: new ReadyVacuum(db.pool, 'webhook_ready', ['webhook_state']),
    readSecret: secretReader(keyRing(config.encryptionKeys)),
    post: poster.post,
    random: Math.random,
    now: () => db.clock.now(),
    log,
  })
  return {
    start: () => dispatcher.start(),
    wake: () => dispatcher.wake(),
    nudge: () => dispatcher.nudge(),
    async stop() {
      await dispatcher.stop()
      poster.close()
    },
  }
}
