import type { Logger } from 'pino'
import { periodically } from '../periodic-task.ts'
import { type Queryable, sql } from './query.ts'

export async function countOne(db: Queryable, name: string, label: string): Promise<void> {
  await sql(db, 'count-one')`
    insert into counters as c (name, label, value) values (${name}, ${label}, 1)
     on conflict (name, label) do update set value = c.value + 1`
}

/** Rows are locked in one order (`order by`), so that two processes cannot deadlock. */
export async function addCounts(db: Queryable, counts: Counter[]): Promise<void> {
  if (counts.length === 0) return
  await sql(db, 'add-counts')`
    insert into counters as c (name, label, value)
     select name, label, sum(value) from json_to_recordset(${JSON.stringify(counts)}::json) as x(name text, label text, value bigint)
     group by name, label order by name, label
     on conflict (name, label) do update set value = c.value + excluded.value`
}

export type Counter = { name: string; label: string; value: number }

/** Their labels begin with the id of a company, and so there are as many as companies. */
const BY_COMPANY = ['tenant_jobs_processed', 'dlq_by_company', 'email_send_requests']
const UUID_LENGTH = 36

/** Companies that /metrics shows one by one. A thousand series of each figure would be too many for Prometheus, and for a person. */
export const MOST_COMPANIES = 200

/** Of the counters by company, those of the companies with the highest counts, and all others together as `other`. */
export async function listCounters(db: Queryable): Promise<Counter[]> {
  return sql<Counter>(db, 'list-counters')`
    select name, label, value::float8 as value from counters where not name = any(${BY_COMPANY})
     union all
     select name, case when place <= ${MOST_COMPANIES} then company else 'other' end || rest, sum(value)::float8 from (
       select name, company, rest, value, dense_rank() over (partition by name order by of_company desc, company) as place from (
         select name, left(label, ${UUID_LENGTH}) as company, substr(label, ${UUID_LENGTH} + 1) as rest, value,
           sum(value) over (partition by name, left(label, ${UUID_LENGTH})) as of_company
         from counters where name = any(${BY_COMPANY})) sums) ranked
     group by 1, 2 order by 1, 2`
}

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

/**
 * Counts in memory; the owner flushes it from time to time. Counting in the database would make all settlements of a company wait
 * for one row, and would let anybody who is refused cause a write. A process that is killed loses some seconds of counts.
 */
export class BufferedCounter {
  readonly #write: (counts: [key: string, count: number][]) => Promise<void>
  #counts = new Map<string, number>()

  constructor(write: (counts: [key: string, count: number][]) => Promise<void>) {
    this.#write = write
  }

  count(key: string, by = 1): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + by)
  }

  /** Counts that cannot be written go with the next flush. */
  async flush(): Promise<void> {
    const counts = this.#counts
    if (counts.size === 0) return
    this.#counts = new Map()
    try {
      await this.#write([...counts])
    } catch (error) {
      for (const [key, count] of counts) this.count(key, count)
      throw error
    }
  }
}
