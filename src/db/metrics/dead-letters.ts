import { type Queryable, run } from '../query.ts'

export type DeadLetterAges = { size: number; youngerThan: number[]; ageSumSeconds: number }

/** `agesSeconds`: the upper bounds that are counted, rising. */
export async function readDeadLetterAges(db: Queryable, agesSeconds: readonly number[]): Promise<DeadLetterAges> {
  const [row] = await run<DeadLetterAges>(
    db,
    'read-dead-letter-ages',
    `with ages as materialized (
       select width_bucket(extract(epoch from now() - moved_at)::float8, $1::float8[]) as bucket, count(*) as entries,
         sum(extract(epoch from now() - moved_at))::float8 as seconds from dead_letters group by 1
     )
     select coalesce(sum(entries), 0)::float8 as size, greatest(0, coalesce(sum(seconds), 0))::float8 as "ageSumSeconds",
       array(select coalesce((select sum(entries) from ages where bucket < nth), 0)::float8
         from generate_subscripts($1::float8[], 1) as nth order by nth) as "youngerThan"
     from ages`,
    [agesSeconds],
  )
  return row!
}

export type RecentDeadLetters = { companyId: string; entries: number }

/** Of the last hour, the companies with the most first. */
export async function listRecentDeadLetters(db: Queryable, most: number): Promise<RecentDeadLetters[]> {
  return run<RecentDeadLetters>(
    db,
    'list-recent-dead-letters',
    `select company_id as "companyId", count(*)::float8 as entries from dead_letters where moved_at > now() - interval '1 hour'
     group by 1 order by 2 desc, 1 limit $1`,
    [most],
  )
}
