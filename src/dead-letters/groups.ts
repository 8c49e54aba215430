import {
  DEAD_WITH_EMAIL,
  type DeadLetter,
  type DeadLetterFilter,
  filterValues,
  HAS_CONTENT,
  IS_DEAD,
  MATCHES,
  MEANT_FOR_REPLAY,
  readEntries,
} from '../outbox/dead-letters.ts'
import { type CheckedReplay, HAS_PAYLOAD, MAY_BE_REPLAYED } from '../outbox/dead-letters-replay.ts'
import { iso, type Queryable, sql } from '../platform/postgres/query.ts'

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
  return sql<DeadLetterGroup>(db)`
    with groups as materialized (
       select last_failure_code as code, company_id, count(*)::int as entries, min(moved_at) as first_seen, max(moved_at) as last_seen
       from dead_letters d
       where (${companyId}::uuid is null or company_id = ${companyId}::uuid) and moved_at >= coalesce(${since}::timestamptz, '-infinity')
         and moved_at <= coalesce(${until}::timestamptz, 'infinity')
       group by 1, 2 order by entries desc, last_seen desc, code limit ${limit})
     select g.code, g.company_id, coalesce(c.name, g.company_id::text) as "companyName", g.entries,
       ${iso('g.first_seen')} as "firstSeen", ${iso('g.last_seen')} as "lastSeen",
       newest.last_failure_reason as "lastReason", newest.provider_code
     from groups g left join companies c on c.company_id = g.company_id
     cross join lateral (
       select d.last_failure_reason, d.provider_code from dead_letters d
       where d.last_failure_code is not distinct from g.code and d.company_id = g.company_id and d.moved_at = g.last_seen limit 1) newest
     order by g.entries desc, g.last_seen desc, g.code`
}

/** Those that a replay or a purge would take first: the oldest. */
export async function firstDeadLetters(
  db: Queryable,
  filter: DeadLetterFilter,
  { use, limit }: { use: 'replay' | 'purge'; limit: number },
): Promise<DeadLetter[]> {
  const taken =
    use === 'purge' ? '' : `and ${MEANT_FOR_REPLAY} and d.original_data is not null and ${IS_DEAD} and ${HAS_CONTENT}`
  return readEntries(
    db,
    `first-dead-letters-to-${use}`,
    `${DEAD_WITH_EMAIL} where ${MATCHES} ${taken} order by d.moved_at, d.outbox_id limit $6`,
    [...filterValues(filter), limit],
  )
}

/** What a replay of these would say of each, without changing or locking anything. */
export async function checkByIds(db: Queryable, outboxIds: string[]): Promise<CheckedReplay[]> {
  return sql<CheckedReplay>(db, 'check-replay-by-ids')`
    select asked.outbox_id, case when ${MAY_BE_REPLAYED} is not true then 'not-found'
         when not ${HAS_PAYLOAD} then 'payload-purged' else 'replayed' end as outcome, o.status
     from unnest(${outboxIds}::uuid[]) as asked(outbox_id)
     left join email_outbox o on o.outbox_id = any(${outboxIds}::uuid[]) and o.outbox_id = asked.outbox_id
     left join dead_letters d on d.outbox_id = asked.outbox_id`
}
