import type { Logger } from 'pino'
import { addCounts } from '../db/counters.ts'
import type { Queryable } from '../db/query.ts'
import { BufferedCounter } from '../runtime/counter.ts'
import { periodically } from '../runtime/periodic-task.ts'

const FLUSH_MS = 1_000

export type BufferedCounts = { count(label: string, by?: number): void; close(): Promise<void> }

/**
 * Counts in memory by label, and writes once a second, so that neither an e-mail that is accepted nor somebody who is refused again and
 * again causes a write each time. A crash loses at most one second of counts; a failed write is added to the next one.
 */
export function bufferedCounts(
  name: string,
  write: (counts: [label: string, count: number][]) => Promise<void>,
  log: Logger,
): BufferedCounts {
  const counter = new BufferedCounter(write)
  const notWritten = (error: unknown) => log.debug({ err: error }, `Could not write the counts of ${name}; retrying`)
  const stopFlushing = periodically(FLUSH_MS, () => counter.flush(), notWritten)
  return {
    count: (label, by) => counter.count(label, by),
    async close() {
      await stopFlushing()
      await counter.flush().catch(notWritten)
    },
  }
}

/** A counter of `/metrics` by label. */
export const bufferedCounter = (name: string, db: Queryable, log: Logger): BufferedCounts =>
  bufferedCounts(
    name,
    counts =>
      addCounts(
        db,
        counts.map(([label, value]) => ({ name, label, value })),
      ),
    log,
  )
