import { type Queryable, sql } from '../platform/postgres/query.ts'
import { gauge, labelled, type SystemMetric } from './metric.ts'

const [HOUR, DAY] = [3_600, 86_400]

/** The upper bounds of dlq_age_seconds: an hour, six, a day, three, a week (when content is purged), thirty days. */
export const DEAD_LETTER_AGES = [HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY] as const

export const DEAD_LETTER_METRICS: SystemMetric[] = [
  gauge('dlq_size', 'Dead letters', ({ deadLetters }) => deadLetters.size),
  {
    name: 'dlq_age_seconds',
    type: 'histogram',
    help: 'Ages of the dead letters that there are now',
    labels: [],
    samples: ({ deadLetters: { size, youngerThan, ageSumSeconds } }) => [
      ...DEAD_LETTER_AGES.map((age, index) => ({
        labels: { le: String(age) },
        value: youngerThan[index] ?? 0,
        suffix: '_bucket' as const,
      })),
      { labels: { le: '+Inf' }, value: size, suffix: '_bucket' },
      { value: ageSumSeconds, suffix: '_sum' },
      { value: size, suffix: '_count' },
    ],
  },
  labelled('gauge', 'dlq_last_hour', ['company_id'], 'Dead letters of the last hour, by company', ({ deadLetters }) =>
    deadLetters.lastHour.map(({ companyId, entries }) => [{ company_id: companyId }, entries]),
  ),
]

export type DeadLetterAges = { size: number; youngerThan: number[]; ageSumSeconds: number }

/** `agesSeconds`: the upper bounds that are counted, rising. */
export async function readDeadLetterAges(db: Queryable, agesSeconds: readonly number[]): Promise<DeadLetterAges> {
  const [row] = await sql<DeadLetterAges>(db, 'read-dead-letter-ages')`
    with ages as materialized (
       select width_bucket(extract(epoch from now() - moved_at)::float8, ${agesSeconds}::float8[]) as bucket, count(*) as entries,
         sum(extract(epoch from now() - moved_at))::float8 as seconds from dead_letters group by 1
     )
     select coalesce(sum(entries), 0)::float8 as size, greatest(0, coalesce(sum(seconds), 0))::float8 as "ageSumSeconds",
       array(select coalesce((select sum(entries) from ages where bucket < nth), 0)::float8
         from generate_subscripts(${agesSeconds}::float8[], 1) as nth order by nth) as "youngerThan"
     from ages`
  return row!
}

export type RecentDeadLetters = { companyId: string; entries: number }

/** Of the last hour, the companies with the most first. */
export async function listRecentDeadLetters(db: Queryable, most: number): Promise<RecentDeadLetters[]> {
  return sql<RecentDeadLetters>(db, 'list-recent-dead-letters')`
    select company_id, count(*)::float8 as entries from dead_letters where moved_at > now() - interval '1 hour'
     group by 1 order by 2 desc, 1 limit ${most}`
}
