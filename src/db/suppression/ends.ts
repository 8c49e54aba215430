import { maskDeep, maskSensitive } from '../../contracts/masking.ts'
import { mayRemoveSuppression, SUPPRESSION_REASONS } from '../../contracts/suppression/rules.ts'
import { iso, type Queryable, run } from '../query.ts'
import { END, isActive, TODAY } from './list.ts'

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
  const [row] = await run<{ listed: number; kept: boolean; at: string }>(
    db,
    'remove-suppression',
    `with target as materialized (
       select s.id, s.company_id, s.email_hash, s.reason, s.added_at, s.expires_at from suppression_list s
       where s.email_hash = $1 and (s.company_id = any($2::uuid[]) or ($3 and s.company_id is null)) and ${isActive('s')}
       order by s.company_id for update
     ), deleted as (
       delete from suppression_list s using target t
       where s.id = t.id and not exists (select from target where reason = any($4)) returning t.*
     ), audited as (
       insert into suppression_audit_log (company_id, email_hash, action, reason, performed_by, metadata)
       select company_id, email_hash, 'REMOVED', reason, $5, $7::jsonb || jsonb_build_object('justification', $6::text,
         'addedAt', ${iso('added_at')}, 'expiresAt', ${iso('expires_at')})
       from deleted
     ), counted as (
       insert into suppression_daily as d (day, reason, removed)
       select ${TODAY}, reason, count(*) from deleted group by reason order by reason
       on conflict (day, reason) do update set removed = d.removed + excluded.removed
     )
     select count(*)::int as listed, coalesce(bool_or(reason = any($4)), false) as kept, ${iso('now()')} as at from target`,
    [
      removal.emailHash,
      removal.lists.filter(list => list !== null),
      removal.lists.includes(null),
      IRREMOVABLE,
      removal.performedBy,
      maskSensitive(removal.justification),
      JSON.stringify(maskDeep(removal.metadata ?? {})),
    ],
  )
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
  const [row] = await run<{ count: number; last: string }>(
    db,
    'expire-suppressions',
    `with batch as materialized (
       select s.id from suppression_list s where ${END} >= $2::timestamptz and ${END} <= now()
       order by ${END}, s.id limit $1 for update skip locked
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
     select count(*)::int as count, coalesce(max(expires_at), '-infinity')::text as last from deleted`,
    [limit, from],
  )
  return row!
}
