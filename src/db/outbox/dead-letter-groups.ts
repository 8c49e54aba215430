import { iso, type Queryable, runUnprepared } from '../query.ts'

export type DeadLetterGroup = {
  code: string | null
  companyId: string
  companyName: string
  entries: number
  firstSeen: string
  lastSeen: string
  /** Of the newest one. */
  lastReason: string
  providerCode: string | null
}

export type DeadLetterGroupFilter = { companyId: string | null; since: string | null; until: string | null }

/** Reads the index dead_letters_group alone, and one entry for each group that is shown. The largest groups first. */
export async function listDeadLetterGroups(
  db: Queryable,
  { companyId, since, until }: DeadLetterGroupFilter,
  limit: number,
): Promise<DeadLetterGroup[]> {
  return runUnprepared<DeadLetterGroup>(
    db,
    `with groups as materialized (
       select last_failure_code as code, company_id, count(*)::int as entries, min(moved_at) as first_seen, max(moved_at) as last_seen
       from dead_letters d
       where ($1::uuid is null or company_id = $1) and moved_at >= coalesce($2::timestamptz, '-infinity')
         and moved_at <= coalesce($3::timestamptz, 'infinity')
       group by 1, 2 order by entries desc, last_seen desc, code limit $4)
     select g.code, g.company_id as "companyId", coalesce(c.name, g.company_id::text) as "companyName", g.entries,
       ${iso('g.first_seen')} as "firstSeen", ${iso('g.last_seen')} as "lastSeen",
       newest.last_failure_reason as "lastReason", newest.provider_code as "providerCode"
     from groups g left join companies c on c.company_id = g.company_id
     cross join lateral (
       select d.last_failure_reason, d.provider_code from dead_letters d
       where d.last_failure_code is not distinct from g.code and d.company_id = g.company_id and d.moved_at = g.last_seen limit 1) newest
     order by g.entries desc, g.last_seen desc, g.code`,
    [companyId, since, until, limit],
  )
}
