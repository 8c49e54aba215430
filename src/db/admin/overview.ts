import { type CountedBucket, OVERVIEW_RANGES, type OverviewRange, rangeBegin } from '../../contracts/admin/overview.ts'
import { iso, type Queryable, run } from '../query.ts'

/** The figures of events that are not counted yet are read from the log, unless there are more of them than this. */
const MAX_UNCOUNTED_EVENTS = 5_000

export type CountedSeries = { nowMs: number; countedUntil: string; rows: CountedBucket[] }

type SourceRow = { atMs: number | null } & Omit<CountedBucket, 'atMs'>

/** From the hourly or the minute statistics, and what came after them. companyId null: of every company. */
export async function readSeries(
  db: Queryable,
  range: OverviewRange,
  companyId: string | null,
): Promise<CountedSeries> {
  const [clock] = await run<{ nowMs: number; countedUntil: string }>(
    db,
    'read-clock-and-counted-until',
    `select (extract(epoch from now()) * 1000)::float8 as "nowMs", ${iso('counted_until')} as "countedUntil" from statistics_cursor`,
    [],
  )
  const { nowMs, countedUntil } = clock!
  const { from } = OVERVIEW_RANGES[range]
  const begin = new Date(rangeBegin(range, nowMs)).toISOString()
  const [rows, uncounted] = await Promise.all([
    run<SourceRow>(db, `read-series-${from}`, COUNTED_ROWS[from], [begin, companyId]),
    readUncounted(db, countedUntil, companyId),
  ])
  if (!uncounted) return { nowMs, countedUntil, rows: rows.map(withTime) }
  return { nowMs, countedUntil: new Date(nowMs).toISOString(), rows: [...rows, ...uncounted].map(withTime) }
}

const withTime = (row: SourceRow): CountedBucket => ({ ...row, atMs: row.atMs! })

const countedRows = (table: string, time: string) =>
  `select (extract(epoch from ${time}) * 1000)::float8 as "atMs", sum(accepted)::float8 as accepted, sum(sent)::float8 as sent,
     sum(delivered)::float8 as delivered, sum(bounced)::float8 as bounced, sum(complained)::float8 as complained,
     sum(failed + rejected + expired)::float8 as failed
   from ${table} where ${time} >= $1::timestamptz and ($2::uuid is null or company_id = $2) group by ${time}`

const COUNTED_ROWS = {
  hours: countedRows('company_statistics', 'hour'),
  minutes: countedRows('minute_statistics', 'minute'),
}

/** By the minute. null: there are too many, and they are counted within a minute. */
async function readUncounted(db: Queryable, since: string, companyId: string | null): Promise<SourceRow[] | null> {
  const rows = await run<SourceRow & { read: number }>(
    db,
    'read-uncounted-events',
    `with uncounted as materialized (
       select e.outbox_id, e.company_id, e.type, e.created_at from email_events e where e.created_at >= $1::timestamptz
         and e.type in ('QUEUED', 'SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT', 'REJECTED', 'FAILED', 'EXPIRED') limit $3 + 1
     ), live as (
       select e.* from uncounted e where ($2::uuid is null or e.company_id = $2)
         and (select not o.test from email_outbox o where o.outbox_id = e.outbox_id)
     )
     select (extract(epoch from date_trunc('minute', created_at)) * 1000)::float8 as "atMs",
       (count(*) filter (where type = 'QUEUED'))::float8 as accepted, (count(*) filter (where type = 'SENT'))::float8 as sent,
       (count(*) filter (where type = 'DELIVERED'))::float8 as delivered, (count(*) filter (where type = 'BOUNCE'))::float8 as bounced,
       (count(*) filter (where type = 'COMPLAINT'))::float8 as complained,
       (count(*) filter (where type in ('REJECTED', 'FAILED', 'EXPIRED')))::float8 as failed, (select count(*) from uncounted)::float8 as read
     from live group by 1`,
    [since, companyId, MAX_UNCOUNTED_EVENTS],
  )
  return (rows[0]?.read ?? 0) > MAX_UNCOUNTED_EVENTS ? null : rows.map(({ read: _, ...row }) => row)
}
