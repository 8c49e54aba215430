import { SUPPRESSION_REASONS, type SuppressionReason } from '../../contracts/suppression/rules.ts'
import type { SuppressionStats } from '../../contracts/suppression/view.ts'
import { type Queryable, run } from '../query.ts'
import { countLastDay } from '../statistics.ts'
import { isActive, TODAY } from './list.ts'

export type ActiveCounts = Record<SuppressionReason, number>

/** Scans a whole index: cache the result (runtime/cached-query.ts). */
export async function countActive(db: Queryable): Promise<ActiveCounts> {
  const rows = await run<{ reason: SuppressionReason; count: number }>(
    db,
    'count-active-suppressions',
    `select reason, count(*)::float8 as count from suppression_list s where ${isActive('s')} group by reason`,
    [],
  )
  const counts = Object.fromEntries(SUPPRESSION_REASONS.map(reason => [reason, 0])) as ActiveCounts
  for (const { reason, count } of rows) counts[reason] = count
  return counts
}

export type SuppressionTotals = { reason: SuppressionReason; added: number; removed: number; expired: number }

/** All-time totals. An entry that got a more severe reason counts as added under the new reason. */
export async function readTotals(db: Queryable): Promise<SuppressionTotals[]> {
  return run<SuppressionTotals>(
    db,
    'read-suppression-totals',
    `select reason, sum(added + raised)::float8 as added, sum(removed)::float8 as removed, sum(expired)::float8 as expired
     from suppression_daily group by reason order by reason`,
    [],
  )
}

export async function readStats(db: Queryable, counts: () => Promise<ActiveCounts>): Promise<SuppressionStats> {
  const [active, { requests, blocked }, growth] = await Promise.all([counts(), countLastDay(db), readGrowth(db)])
  const total = Object.values(active).reduce((sum, count) => sum + count, 0)
  const hitRate = requests === 0 ? 0 : Math.round((blocked / requests) * 10_000) / 100
  return { active: { total, ...active }, last24Hours: { requests, blocked, hitRate }, growth }
}

/** The last 30 days, including days without a change. */
async function readGrowth(db: Queryable): Promise<SuppressionStats['growth']> {
  return run(
    db,
    'read-suppression-growth',
    `select to_char(day, 'YYYY-MM-DD') as day, coalesce(sum(added), 0)::float8 as added, coalesce(sum(removed), 0)::float8 as removed,
       coalesce(sum(expired), 0)::float8 as expired, coalesce(sum(added - removed - expired), 0)::float8 as net
     from (select ${TODAY} - back as day from generate_series(0, 29) as back) days left join suppression_daily using (day)
     group by day order by day`,
    [],
  )
}
