import { kpisOf, type Outcomes, type Stats } from '../../contracts/kpis.ts'
import { iso, type Queryable, run } from '../query.ts'

/** A call counts up to five minutes of events; after a long stop, the next call of housekeeping goes on. */
const MAX_CALLS = 100

/** Counts the events of the log into company_statistics, up to a minute ago. Any process may call it; one at a time does the work. */
export async function rollUpStatistics(db: Queryable): Promise<void> {
  for (let calls = 0; calls < MAX_CALLS; calls++) {
    const [row] = await run<{ counted: boolean }>(
      db,
      'roll-up-statistics',
      'select roll_up_statistics() as counted',
      [],
    )
    if (!row!.counted) return
  }
}

/** Null: a week ago, now, every company. */
export type StatsRange = { since: string | null; until: string | null; companyId: string | null }

type StatsRow = Outcomes & Pick<Stats, 'since' | 'until' | 'countedUntil'>

/** Over the whole hours from that of `since` to that before `until`. */
export async function readStats(db: Queryable, { since, until, companyId }: StatsRange): Promise<Stats> {
  const [row] = await run<StatsRow>(
    db,
    'read-stats',
    `with range as materialized (
       select date_trunc('hour', coalesce($1::timestamptz, now() - interval '7 days')) as low, coalesce($2::timestamptz, now()) as high
     )
     select ${iso('low')} as since, ${iso('high')} as until,
       (select ${iso('counted_until')} from statistics_cursor) as "countedUntil", sums.*
     from range cross join lateral (
       select coalesce(sum(accepted), 0)::float8 as accepted, coalesce(sum(finally_delivered), 0)::float8 as delivered,
         coalesce(sum(finally_failed), 0)::float8 as failed, coalesce(sum(recovered), 0)::float8 as recovered,
         coalesce(sum(not_recovered), 0)::float8 as "notRecovered", coalesce(sum(delivery_seconds), 0) as "deliverySeconds"
       from company_statistics s where s.hour >= low and s.hour < high and ($3::uuid is null or s.company_id = $3)) sums`,
    [since, until, companyId],
  )
  const { since: low, until: high, countedUntil, deliverySeconds, ...emails } = row!
  return { since: low, until: high, countedUntil, companyId, emails, kpis: kpisOf({ ...emails, deliverySeconds }) }
}
