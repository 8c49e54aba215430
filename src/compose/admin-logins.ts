import type { Logger } from 'pino'
import { addCounts } from '../db/counters.ts'
import type { Queryable } from '../db/query.ts'
import { BufferedCounter } from '../runtime/counter.ts'
import { periodically } from '../runtime/periodic-task.ts'

const FLUSH_COUNTS_MS = 2_000

/** Refused logins of administrators, for `/metrics`. Buffered, so that guessing passwords does not cause a write per guess. */
export function countLogins(db: Queryable, log: Logger) {
  const refused = new BufferedCounter(counts =>
    addCounts(
      db,
      counts.map(([label, value]) => ({ name: 'admin_logins_refused', label, value })),
    ),
  )
  const notWritten = (error: unknown) =>
    log.debug({ err: error }, 'Could not write the counts of refused logins; retrying')
  const stopFlushing = periodically(FLUSH_COUNTS_MS, () => refused.flush(), notWritten)
  return {
    refused: (reason: string) => refused.count(reason),
    async close() {
      await stopFlushing()
      await refused.flush().catch(notWritten)
    },
  }
}
