import { type Queryable, run } from '../query.ts'

export type QueueFigures = {
  ready: number
  scheduled: number
  workers: number
  unknown: number
  oldestUnknownSeconds: number | null
}

const upTo100000 = (table: string) => `(select count(*) from (select from ${table} limit 100000) t)::int`

/** Counts up to 100 000, so that the query stays cheap with a large backlog. */
export async function readQueueFigures(db: Queryable): Promise<QueueFigures> {
  const [row] = await run<QueueFigures>(
    db,
    'read-queue-figures',
    `select ${upTo100000('email_ready')} as ready, ${upTo100000('email_scheduled')} as scheduled,
       (select count(*) from workers where seen_at > now() - interval '15 seconds')::int as workers,
       (select count(*) from unknown_sends)::int as unknown,
       (select extract(epoch from now() - min(since))::float8 from unknown_sends) as "oldestUnknownSeconds"`,
    [],
  )
  return row!
}
