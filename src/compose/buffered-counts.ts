import type { Logger } from 'pino'
import { addCounts } from '../db/counters.ts'
import type { Queryable } from '../db/query.ts'
import { BufferedCounter } from '../runtime/counter.ts'
import { periodically } from '../runtime/periodic-task.ts'

const FLUSH_COUNTS_MS = 2_000

/** A counter of `/metrics` by label. Buffered, so that somebody who is refused again and again does not cause a write each time. */
export function bufferedCounts(name: string, db: Queryable, log: Logger) {
  const counter = new BufferedCounter(counts =>
    addCounts(
      db,
      counts.map(([label, value]) => ({ name, label, value })),
    ),
  )
  const notWritten = (error: unknown) => log.debug({ err: error }, `Could not write the counts of ${name}; retrying`)
  const stopFlushing = periodically(FLUSH_COUNTS_MS, () => counter.flush(), notWritten)
  return {
    count: (label: string) => counter.count(label),
    async close() {
      await stopFlushing()
      await counter.flush().catch(notWritten)
    },
  }
}
