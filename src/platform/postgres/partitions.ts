import type { Queryable } from './query.ts'

/** Today and the days ahead. Idempotent and cheap when they exist. */
export async function ensurePartitions(db: Queryable, daysAhead = 3): Promise<void> {
  await db.query(
    `select ensure_email_partitions(day::date)
     from generate_series((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date + $1::int, '1 day') as day`,
    [daysAhead],
  )
}
