import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { keyRing } from './contracts/encryption.ts'
import type { Database } from './db/pool.ts'
import { ReadyVacuum } from './db/vacuum.ts'
import { secretReader } from './pipeline/notify-company.ts'
import { publicResolver, systemResolver } from './pipeline/webhook-address.ts'
import { Courier } from './pipeline/webhook-courier.ts'
import { makePoster } from './pipeline/webhook-post.ts'

/** Others take over from a process that died after this long: a company's webhooks wait less than its e-mails may. */
const HOLD_SECONDS = 15

/** What delivers webhooks in this process. */
export function makeCourier(config: Config, db: Database, log: Logger) {
  const allowPrivate = config.WEBHOOK_ALLOW_PRIVATE
  const poster = makePoster({ resolve: allowPrivate ? systemResolver : publicResolver(), allowPrivate })
  const courier = new Courier({
    db: db.courier,
    holdSeconds: Math.min(HOLD_SECONDS, config.LEASE_SECONDS),
    vacuum: new ReadyVacuum(db.pool, 'webhook_ready', ['webhook_state']),
    readSecret: secretReader(keyRing(config.encryptionKeys)),
    post: poster.post,
    random: Math.random,
    now: () => db.clock.now(),
    log,
  })
  return {
    start: () => courier.start(),
    wake: () => courier.wake(),
    nudge: () => courier.nudge(),
    async stop() {
      await courier.stop()
      poster.close()
    },
  }
}
