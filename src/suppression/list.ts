import { fragment, iso, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { maskDeep, maskSensitive } from '../platform/text/masking.ts'
import { uuidv7 } from '../platform/text/uuid.ts'
import { mayRemoveSuppression, SUPPRESSION_REASONS, type SuppressionReason, WORTH_PROLONGING_MS } from './rules.ts'

export type SuppressionEntry = {
  /** Null: the global list. */
  companyId: string | null
  emailHash: string
  reason: SuppressionReason
  /** From now; 0 means never. */
  expiresInDays: number
  /** Instead of expiresInDays. */
  expiresAt?: string
  /** Masked before it is stored: texts of providers may contain addresses. */
  metadata: Record<string, unknown>
  performedBy: string
  justification?: string
}

/** added: it was not listed, or had expired. raised: a more severe reason or a later end. */
export type SuppressionOutcome = { emailHash: string; outcome: 'added' | 'raised' | 'unchanged' }

export const isActive = (entry: string) => fragment`(${entry}.expires_at is null or ${entry}.expires_at > now())`

/** Whether an entry, found by its hash, blocks this company. Used both when an e-mail is accepted and before it is sent. */
export const blocks = (entry: string, company: string) =>
  `(${entry}.company_id is null or ${entry}.company_id = ${company}) and ${isActive(entry)}`
export const severity = (reason: string) =>
  fragment`array_position(array[${SUPPRESSION_REASONS.map(one => `'${one}'`).join(', ')}], ${reason})`
/** The end of `suppression_list s`, with the same expression as its index. */
export const END = fragment`coalesce(s.expires_at, 'infinity'::timestamptz)`
export const TODAY = fragment`(now() at time zone 'UTC')::date`
const endOf = (entry: string) => `coalesce(${entry}.expires_at, 'infinity')`

/**
 * Writes list, audit log and daily figures in one statement. Severity and end only rise (rules.ts), compared
 * with the row after it is locked. An entry keeps its id until it expires, so the id shows whether it was added or existed.
 * Rows are locked in the order of their hashes and the daily figures after them, so that two processes cannot deadlock, provided
 * that a transaction calls this once, as its last statement.
 */
const ADD = `
with input as materialized (
  select x.i, x.id, x.company, x.hash, x.reason, x.actor, x.justification, x.metadata,
    case when x.at is not null then x.at when x.days = 0 then 'infinity' else now() + x.days * interval '24 hours' end as until
  from json_to_recordset($1::json) as x(i int, id uuid, company uuid, hash text, reason text, days int, at timestamptz,
    actor text, justification text, metadata jsonb)
), wanted as materialized (
  select distinct on (hash, company) *, max(until) over (partition by hash, company) as ends
  from input where until > now() order by hash, company, ${severity('reason')} desc, i
), known as materialized (
  select w.i, s.reason, s.expires_at, coalesce(s.expires_at <= now(), false) as expired from wanted w cross join lateral (
    select l.reason, l.expires_at from suppression_list l
    where l.email_hash = w.hash and l.company_id is not distinct from w.company for update) s
), put as (
  insert into suppression_list as s (id, company_id, email_hash, reason, expires_at, metadata)
  select w.id, w.company, w.hash, w.reason, nullif(w.ends, 'infinity'), w.metadata from wanted w
  -- Forces "known" to be evaluated first: existing rows are locked and read before anything is written.
  where (select count(*) from known) >= 0 order by w.hash, w.company
  on conflict (email_hash, company_id) do update set
    id = case when s.expires_at <= now() then excluded.id else s.id end,
    added_at = case when s.expires_at <= now() then now() else s.added_at end,
    reason = case when s.expires_at <= now() or ${severity('excluded.reason')} > ${severity('s.reason')} then excluded.reason else s.reason end,
    expires_at = nullif(case when s.expires_at <= now() then ${endOf('excluded')} else greatest(${endOf('excluded')}, ${endOf('s')}) end, 'infinity'),
    metadata = case when s.expires_at <= now() then excluded.metadata else s.metadata || excluded.metadata end,
    updated_at = now()
  where s.expires_at <= now() or ${severity('excluded.reason')} > ${severity('s.reason')}
    or ${endOf('excluded')} > ${endOf('s')} + $2 * interval '1 millisecond'
  returning s.id, s.company_id, s.email_hash, s.reason, s.expires_at
), changed as materialized (
  select w.*, p.reason as now_reason, p.expires_at as now_expires_at, p.id = w.id as added, k.reason as old_reason,
    k.expires_at as old_expires_at, coalesce(k.expired, false) as was_expired
  from put p join wanted w on w.hash = p.email_hash and w.company is not distinct from p.company_id left join known k on k.i = w.i
), audited as (
  insert into suppression_audit_log (company_id, email_hash, action, reason, performed_by, metadata)
  select company, hash, 'EXPIRED', old_reason, 'system', jsonb_build_object('expiresAt', ${iso('old_expires_at')})
  from changed where was_expired
  union all
  select company, hash, 'ADDED', reason, actor, metadata || jsonb_strip_nulls(jsonb_build_object(
    'justification', justification, 'expiresAt', ${iso('now_expires_at')},
    'previousReason', case when not added then old_reason end, 'previousExpiresAt', case when not added then ${iso('old_expires_at')} end))
  from changed
), counted as (
  insert into suppression_daily as d (day, reason, added, raised, expired)
  select ${TODAY}, reason, sum(added), sum(raised), sum(expired) from (
    select now_reason as reason, added::int, (not added and now_reason is distinct from old_reason)::int as raised, 0 as expired from changed
    union all
    select old_reason, 0, 0, 1 from changed where was_expired) happened
  group by reason order by reason
  on conflict (day, reason) do update
    set added = d.added + excluded.added, raised = d.raised + excluded.raised, expired = d.expired + excluded.expired
)
select i, added from changed`

/** For up to a few thousand entries. If an address is listed twice, the more severe reason and the later end count. */
export async function addSuppressions(db: Queryable, entries: SuppressionEntry[]): Promise<SuppressionOutcome[]> {
  if (entries.length === 0) return []
  const rows = await run<{ i: number; added: boolean }>(db, 'add-suppressions', ADD, [
    JSON.stringify(entries.map(entryRow)),
    WORTH_PROLONGING_MS,
  ])
  const outcomes = entries.map(({ emailHash }): SuppressionOutcome => ({ emailHash, outcome: 'unchanged' }))
  for (const { i, added } of rows) outcomes[i]!.outcome = added ? 'added' : 'raised'
  return outcomes
}

function entryRow(entry: SuppressionEntry, i: number): object {
  return {
    i,
    id: uuidv7(),
    company: entry.companyId,
    hash: entry.emailHash,
    reason: entry.reason,
    days: entry.expiresInDays,
    at: entry.expiresAt,
    actor: entry.performedBy,
    justification: entry.justification && maskSensitive(entry.justification),
    metadata: maskDeep(entry.metadata),
  }
}

export type SuppressionRemoval = {
  emailHash: string
  /** The lists to remove it from; null is the global one. */
  lists: (string | null)[]
  performedBy: string
  justification: string
  metadata?: Record<string, unknown>
}

export type RemovalOutcome = { kind: 'removed'; removedAt: string } | { kind: 'not-listed' } | { kind: 'complaint' }

const IRREMOVABLE = SUPPRESSION_REASONS.filter(reason => !mayRemoveSuppression(reason))

/** From all of these lists or from none: a complaint on one of them keeps the address on all. Decided after the rows are locked. */
export async function removeSuppression(db: Queryable, removal: SuppressionRemoval): Promise<RemovalOutcome> {
  const [row] = await sql<{ listed: number; kept: boolean; at: string }>(db, 'remove-suppression')`
    with target as materialized (
       select s.id, s.company_id, s.email_hash, s.reason, s.added_at, s.expires_at from suppression_list s
       where s.email_hash = ${removal.emailHash} and (s.company_id = any(${removal.lists.filter(list => list !== null)}::uuid[]) or (${removal.lists.includes(null)} and s.company_id is null)) and ${isActive('s')}
       order by s.company_id for update
     ), deleted as (
       delete from suppression_list s using target t
       where s.id = t.id and not exists (select from target where reason = any(${IRREMOVABLE})) returning t.*
     ), audited as (
       insert into suppression_audit_log (company_id, email_hash, action, reason, performed_by, metadata)
       select company_id, email_hash, 'REMOVED', reason, ${removal.performedBy}, ${JSON.stringify(maskDeep(removal.metadata ?? {}))}::jsonb || jsonb_build_object('justification', ${maskSensitive(removal.justification)}::text,
         'addedAt', ${iso('added_at')}, 'expiresAt', ${iso('expires_at')})
       from deleted
     ), counted as (
       insert into suppression_daily as d (day, reason, removed)
       select ${TODAY}, reason, count(*) from deleted group by reason order by reason
       on conflict (day, reason) do update set removed = d.removed + excluded.removed
     )
     select count(*)::int as listed, coalesce(bool_or(reason = any(${IRREMOVABLE})), false) as kept, ${iso('now()')} as at from target`
  if (row!.kept) return { kind: 'complaint' }
  return row!.listed === 0 ? { kind: 'not-listed' } : { kind: 'removed', removedAt: row!.at }
}

/** Deletes expired entries, which already block nothing. In batches, so that no transaction is long. */
export async function expireSuppressions(db: Queryable, batchSize = 5_000): Promise<number> {
  let expired = 0
  let from = '-infinity'
  for (;;) {
    const batch = await expireBatch(db, from, batchSize)
    expired += batch.count
    if (batch.count < batchSize) return expired
    from = batch.last
  }
}

/**
 * Skips rows that another process has locked; `for update` checks the end again, so an entry that was prolonged meanwhile stays.
 * A batch starts where the previous one ended (`from`), so that it does not read the dead index entries of that one.
 */
async function expireBatch(db: Queryable, from: string, limit: number): Promise<{ count: number; last: string }> {
  const [row] = await sql<{ count: number; last: string }>(db, 'expire-suppressions')`
    with batch as materialized (
       select s.id from suppression_list s where ${END} >= ${from}::timestamptz and ${END} <= now()
       order by ${END}, s.id limit ${limit} for update skip locked
     ), deleted as (
       delete from suppression_list s using batch where s.id = batch.id
       returning s.company_id, s.email_hash, s.reason, s.added_at, s.expires_at
     ), audited as (
       insert into suppression_audit_log (company_id, email_hash, action, reason, performed_by, metadata)
       select company_id, email_hash, 'EXPIRED', reason, 'system', jsonb_build_object(
         'addedAt', ${iso('added_at')}, 'expiresAt', ${iso('expires_at')})
       from deleted
     ), counted as (
       insert into suppression_daily as d (day, reason, expired)
       select ${TODAY}, reason, count(*) from deleted group by reason order by reason
       on conflict (day, reason) do update set expired = d.expired + excluded.expired
     )
     select count(*)::int as count, coalesce(max(expires_at), '-infinity')::text as last from deleted`
  return row!
}
