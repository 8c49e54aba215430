import type { Logger } from 'pino'
import { trimCaptured } from '../db/capture-inbox.ts'
import { purgeOldPayloads } from '../db/dead-letters-purge.ts'
import { expirePausedEmails } from '../db/expiry.ts'
import { deleteExpiredKeys } from '../db/idempotency-keys.ts'
import { returnExpiredLeases } from '../db/leases.ts'
import { ensurePartitions } from '../db/partitions.ts'
import type { Queryable } from '../db/pool.ts'

type Chore = { name: string; everyMs: number; run: (db: Queryable) => Promise<unknown> }

const CHORES: Chore[] = [
  { name: 'return-expired-leases', everyMs: 5_000, run: db => returnExpiredLeases(db, false) },
  { name: 'expire-paused-emails', everyMs: 60_000, run: db => expirePausedEmails(db) },
  { name: 'delete-expired-idempotency-keys', everyMs: 60_000, run: deleteExpiredKeys },
  { name: 'purge-old-payloads', everyMs: 3_600_000, run: db => purgeOldPayloads(db) },
  { name: 'ensure-partitions', everyMs: 3_600_000, run: db => ensurePartitions(db) },
  { name: 'trim-captured', everyMs: 60_000, run: trimCaptured },
]

/** What keeps the line clean while it works. Each chore is safe to run in several processes at once. */
export function startHousekeeping(db: Queryable, log: Logger): () => void {
  const timers = CHORES.map(({ name, everyMs, run }) =>
    setInterval(() => {
      run(db).catch(error => log.warn({ err: error, chore: name }, 'Housekeeping failed; it is tried again'))
    }, everyMs),
  )
  return () => timers.forEach(timer => void clearInterval(timer))
}
