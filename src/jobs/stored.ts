import type { DeadLetterCursor } from '../outbox/dead-letters.ts'
import { fragment, iso, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { type BulkAction, type BulkActionKind, type BulkCounts, sumOutcomes } from './view.ts'

export type NewBulkAction = {
  actionId: string
  kind: BulkActionKind
  selection: BulkAction['selection']
  companyId: string | null
  requestedBy: string
  reason: string
  total: number
  /** Known before it begins: the refused lines of an import. */
  failed: number
  counts: BulkCounts
  problems: BulkAction['problems']
}

/** The action and its audit entry are one statement. Its items are written in the same transaction. */
export async function putBulkAction(tx: Queryable, action: NewBulkAction): Promise<void> {
  await sql(tx, 'put-bulk-action')`
    with put as (
       insert into bulk_actions (action_id, kind, selection, company_id, requested_by, reason, total, failed, counts, problems)
       values (${action.actionId}, ${action.kind}, ${JSON.stringify(action.selection)}, ${action.companyId}, ${action.requestedBy}, ${maskSensitive(action.reason)}, ${action.total}, ${action.failed}, ${JSON.stringify(action.counts)}, ${JSON.stringify(action.problems)}) returning *
     )
     insert into audit_log (subject_type, subject_id, company_id, action, reason, performed_by, after)
     select 'bulk_action', action_id::text, company_id, 'STARTED', reason, requested_by,
       jsonb_build_object('kind', kind, 'selection', selection, 'total', total)
     from put`
}

const VIEW = fragment`action_id, kind, selection, requested_by, reason, state, total, done, failed, counts, problems,
  last_error, ${iso('created_at')} as "createdAt", ${iso('started_at')} as "startedAt",
  ${iso('updated_at')} as "updatedAt", ${iso('finished_at')} as "finishedAt"`

export async function findBulkAction(db: Queryable, actionId: string): Promise<BulkAction | null> {
  const [row] = await sql<BulkAction>(db, 'find-bulk-action')`
    select ${VIEW} from bulk_actions where action_id = ${actionId}`
  return row ?? null
}

/** The newest actions, as many as a view shows: older ones have ended long ago. */
const NEWEST = 50

/** When the last one ended. */
export async function readLastBulkEnd(db: Queryable): Promise<string | null> {
  const [row] = await sql<{ at: string | null }>(db, 'read-last-bulk-end')`
    select max(finished_at)::text as at from (
       select finished_at from bulk_actions order by created_at desc, action_id desc limit ${literal(NEWEST)}) newest`
  return row!.at
}

export type BulkActionFilter = { kind: BulkActionKind | null; open: boolean }

/** Newest first. */
export async function listBulkActions(db: Queryable, filter: BulkActionFilter, limit: number): Promise<BulkAction[]> {
  return sql<BulkAction>(db)`
    select ${VIEW} from bulk_actions where (${filter.kind}::text is null or kind = ${filter.kind}::text) ${filter.open ? fragment`and finished_at is null` : fragment``}
     order by created_at desc, action_id desc limit ${limit}`
}

/**
 * Takes the lock that each batch takes, so no batch is under way when this returns. Null: there is no such action, or it has ended.
 */
export async function stopBulkAction(db: Queryable, actionId: string, stoppedBy: string): Promise<BulkAction | null> {
  const [stopped] = await sql<BulkAction>(db, 'stop-bulk-action')`
    with stopped as (
       update bulk_actions set state = 'stopped', finished_at = now(), updated_at = now()
       where action_id = ${actionId} and finished_at is null returning *
     ), emptied as (
       delete from bulk_action_items i using stopped where i.action_id = stopped.action_id
     ), audited as (
       insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
       select 'bulk_action', action_id::text, company_id, 'STOPPED', ${stoppedBy}, ${result('stopped')} from stopped
     )
     select ${VIEW} from stopped`
  return stopped ?? null
}

/** For the audit: what was done. */
export const result = (action: string) => fragment`jsonb_build_object('kind', ${action}.kind, 'total', ${action}.total,
  'done', ${action}.done, 'failed', ${action}.failed, 'counts', ${action}.counts)`

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
  const rows = await sql<{ actionId: string }>(db, 'list-open-bulk-actions')`
    select action_id from bulk_actions where finished_at is null order by created_at limit ${limit}`
  return rows.map(row => row.actionId)
}

/** Locked until the transaction ends. Null: it has ended, or another process is at it. */
export async function lockBulkAction(tx: Queryable, actionId: string): Promise<OpenBulkAction | null> {
  const [row] = await sql<OpenBulkAction>(tx, 'lock-bulk-action')`
    select kind, selection, requested_by, reason, position from bulk_actions
     where action_id = ${actionId} and finished_at is null for update skip locked`
  return row ?? null
}

/** Adds the counts of one batch, in the transaction that did it. */
export async function recordBatch(
  tx: Queryable,
  actionId: string,
  { counts, position }: { counts: BulkCounts; position: BulkPosition },
): Promise<void> {
  const { done, failed } = sumOutcomes(counts)
  await sql(tx, 'record-bulk-batch')`
    update bulk_actions a set state = 'running', started_at = coalesce(started_at, now()), updated_at = now(), errors = 0, last_error = null,
       position = ${JSON.stringify(position)}, done = done + ${done}, failed = failed + ${failed}, total = greatest(total, done + failed + ${done} + ${failed}),
       counts = a.counts || (select coalesce(jsonb_object_agg(key, coalesce((a.counts ->> key)::int, 0) + value::int), '{}')
         from jsonb_each_text(${JSON.stringify(counts)}::jsonb))
     where action_id = ${actionId}`
}

/** What was counted at the beginning and never met had been replayed, purged or delivered by then. */
export async function endBulkAction(tx: Queryable, actionId: string): Promise<void> {
  await sql(tx, 'end-bulk-action')`
    with ended as (
       update bulk_actions set state = 'done', started_at = coalesce(started_at, now()), finished_at = now(), updated_at = now(),
         failed = total - done,
         counts = case when total > done + failed
           then counts || jsonb_build_object('notFound', coalesce((counts ->> 'notFound')::int, 0) + total - done - failed)
           else counts end
       where action_id = ${actionId} returning *
     )
     insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
     select 'bulk_action', action_id::text, company_id, 'FINISHED', requested_by, ${result('ended')} from ended`
}

/** The batch was rolled back and is tried again; after so many errors in a row the action is given up. */
export async function recordBatchError(
  db: Queryable,
  actionId: string,
  error: string,
  maxErrors: number,
): Promise<void> {
  await sql(db, 'record-bulk-error')`
    with noted as (
       update bulk_actions set errors = errors + 1, last_error = ${maskSensitive(error).slice(0, 500)}, updated_at = now(),
         state = case when errors + 1 >= ${maxErrors} then 'failed' else state end,
         finished_at = case when errors + 1 >= ${maxErrors} then now() end
       where action_id = ${actionId} and finished_at is null returning *
     ), emptied as (
       delete from bulk_action_items i using noted where i.action_id = noted.action_id and noted.state = 'failed'
     )
     insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
     select 'bulk_action', action_id::text, company_id, 'FAILED', requested_by,
       ${result('noted')} || jsonb_build_object('error', last_error)
     from noted where state = 'failed'`
}

/** After those that are there. */
export async function addItems(tx: Queryable, actionId: string, items: unknown[]): Promise<void> {
  if (items.length === 0) return
  await sql(tx, 'add-bulk-items')`
    insert into bulk_action_items (action_id, ordinal, item)
     select ${actionId}, coalesce((select max(ordinal) from bulk_action_items where action_id = ${actionId}), 0) + x.ordinality, x.value
     from jsonb_array_elements(${JSON.stringify(items)}::jsonb) with ordinality as x`
}

export type BulkItem<Item> = { ordinal: number; item: Item }

export async function listItems<Item>(tx: Queryable, actionId: string, limit: number): Promise<BulkItem<Item>[]> {
  return sql<BulkItem<Item>>(tx, 'list-bulk-items')`
    select ordinal, item from bulk_action_items where action_id = ${actionId} order by ordinal limit ${limit}`
}

export async function deleteItems(tx: Queryable, actionId: string, ordinals: number[]): Promise<void> {
  await sql(tx, 'delete-bulk-items')`
    delete from bulk_action_items where action_id = ${actionId} and ordinal = any(${ordinals})`
}

/** One commit each, so that nobody waits long for a lock and a crash loses little. */
export const BATCH_SIZE = 200

/** later: everything that is left is held by somebody else at this moment. */
export type Batch = { counts: BulkCounts; position: BulkPosition; next: 'more' | 'later' | 'end' }
