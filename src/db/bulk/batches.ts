import type { BulkAction, BulkActionKind, BulkCounts } from '../../contracts/bulk-actions.ts'
import { sumOutcomes } from '../../contracts/bulk-actions.ts'
import { maskSensitive } from '../../contracts/masking.ts'
import type { DeadLetterCursor } from '../outbox/dead-letters.ts'
import { type Queryable, run } from '../query.ts'
import { result } from './bulk-actions.ts'

/** Where the next batch begins. */
export type BulkPosition = {
  /** The last dead letter of the walk over a filter. */
  after?: DeadLetterCursor
  /** The walk has ended; only items are left. */
  walked?: boolean
  /** How often in a row everything that was left was held by somebody else. */
  waits?: number
}

export type OpenBulkAction = {
  kind: BulkActionKind
  selection: BulkAction['selection']
  requestedBy: string
  reason: string
  position: BulkPosition
}

export async function listOpenBulkActions(db: Queryable, limit = 100): Promise<string[]> {
  const rows = await run<{ actionId: string }>(
    db,
    'list-open-bulk-actions',
    `select action_id as "actionId" from bulk_actions where finished_at is null order by created_at limit $1`,
    [limit],
  )
  return rows.map(row => row.actionId)
}

/** Locked until the transaction ends. Null: it has ended, or another process is at it. */
export async function lockBulkAction(tx: Queryable, actionId: string): Promise<OpenBulkAction | null> {
  const [row] = await run<OpenBulkAction>(
    tx,
    'lock-bulk-action',
    `select kind, selection, requested_by as "requestedBy", reason, position from bulk_actions
     where action_id = $1 and finished_at is null for update skip locked`,
    [actionId],
  )
  return row ?? null
}

/** Adds the counts of one batch, in the transaction that did it. */
export async function recordBatch(
  tx: Queryable,
  actionId: string,
  { counts, position }: { counts: BulkCounts; position: BulkPosition },
): Promise<void> {
  const { done, failed } = sumOutcomes(counts)
  await run(
    tx,
    'record-bulk-batch',
    `update bulk_actions a set state = 'running', started_at = coalesce(started_at, now()), updated_at = now(), errors = 0, last_error = null,
       position = $2, done = done + $4, failed = failed + $5, total = greatest(total, done + failed + $4 + $5),
       counts = a.counts || (select coalesce(jsonb_object_agg(key, coalesce((a.counts ->> key)::int, 0) + value::int), '{}')
         from jsonb_each_text($3::jsonb))
     where action_id = $1`,
    [actionId, JSON.stringify(position), JSON.stringify(counts), done, failed],
  )
}

/** What was counted at the beginning and never met had been replayed, purged or delivered by then. */
export async function endBulkAction(tx: Queryable, actionId: string): Promise<void> {
  await run(
    tx,
    'end-bulk-action',
    `with ended as (
       update bulk_actions set state = 'done', started_at = coalesce(started_at, now()), finished_at = now(), updated_at = now(),
         failed = total - done,
         counts = case when total > done + failed
           then counts || jsonb_build_object('notFound', coalesce((counts ->> 'notFound')::int, 0) + total - done - failed)
           else counts end
       where action_id = $1 returning *
     )
     insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
     select 'bulk_action', action_id::text, company_id, 'FINISHED', requested_by, ${result('ended')} from ended`,
    [actionId],
  )
}

/** The batch was rolled back and is tried again; after so many errors in a row the action is given up. */
export async function recordBatchError(
  db: Queryable,
  actionId: string,
  error: string,
  maxErrors: number,
): Promise<void> {
  await run(
    db,
    'record-bulk-error',
    `with noted as (
       update bulk_actions set errors = errors + 1, last_error = $2, updated_at = now(),
         state = case when errors + 1 >= $3 then 'failed' else state end,
         finished_at = case when errors + 1 >= $3 then now() end
       where action_id = $1 and finished_at is null returning *
     ), emptied as (
       delete from bulk_action_items i using noted where i.action_id = noted.action_id and noted.state = 'failed'
     )
     insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
     select 'bulk_action', action_id::text, company_id, 'FAILED', requested_by,
       ${result('noted')} || jsonb_build_object('error', last_error)
     from noted where state = 'failed'`,
    [actionId, maskSensitive(error).slice(0, 500), maxErrors],
  )
}

/** After those that are there. */
export async function addItems(tx: Queryable, actionId: string, items: unknown[]): Promise<void> {
  if (items.length === 0) return
  await run(
    tx,
    'add-bulk-items',
    `insert into bulk_action_items (action_id, ordinal, item)
     select $1, coalesce((select max(ordinal) from bulk_action_items where action_id = $1), 0) + x.ordinality, x.value
     from jsonb_array_elements($2::jsonb) with ordinality as x`,
    [actionId, JSON.stringify(items)],
  )
}

export type BulkItem<Item> = { ordinal: number; item: Item }

export async function listItems<Item>(tx: Queryable, actionId: string, limit: number): Promise<BulkItem<Item>[]> {
  return run<BulkItem<Item>>(
    tx,
    'list-bulk-items',
    `select ordinal, item from bulk_action_items where action_id = $1 order by ordinal limit $2`,
    [actionId, limit],
  )
}

export async function deleteItems(tx: Queryable, actionId: string, ordinals: number[]): Promise<void> {
  await run(tx, 'delete-bulk-items', `delete from bulk_action_items where action_id = $1 and ordinal = any($2)`, [
    actionId,
    ordinals,
  ])
}
