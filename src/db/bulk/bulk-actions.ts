import type { BulkAction, BulkActionKind, BulkCounts } from '../../contracts/bulk-actions.ts'
import { maskSensitive } from '../../contracts/masking.ts'
import { iso, type Queryable, run, runUnprepared } from '../query.ts'

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
  await run(
    tx,
    'put-bulk-action',
    `with put as (
       insert into bulk_actions (action_id, kind, selection, company_id, requested_by, reason, total, failed, counts, problems)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning *
     )
     insert into audit_log (subject_type, subject_id, company_id, action, reason, performed_by, after)
     select 'bulk_action', action_id::text, company_id, 'STARTED', reason, requested_by,
       jsonb_build_object('kind', kind, 'selection', selection, 'total', total)
     from put`,
    [
      action.actionId,
      action.kind,
      JSON.stringify(action.selection),
      action.companyId,
      action.requestedBy,
      maskSensitive(action.reason),
      action.total,
      action.failed,
      JSON.stringify(action.counts),
      JSON.stringify(action.problems),
    ],
  )
}

const VIEW = `action_id as "actionId", kind, selection, requested_by as "requestedBy", reason, state, total, done, failed, counts, problems,
  last_error as "lastError", ${iso('created_at')} as "createdAt", ${iso('started_at')} as "startedAt",
  ${iso('updated_at')} as "updatedAt", ${iso('finished_at')} as "finishedAt"`

export async function findBulkAction(db: Queryable, actionId: string): Promise<BulkAction | null> {
  const [row] = await run<BulkAction>(db, 'find-bulk-action', `select ${VIEW} from bulk_actions where action_id = $1`, [
    actionId,
  ])
  return row ?? null
}

/** The newest actions, as many as a view shows: older ones have ended long ago. */
const NEWEST = 50

/** When the last one ended. */
export async function readLastBulkEnd(db: Queryable): Promise<string | null> {
  const [row] = await run<{ at: string | null }>(
    db,
    'read-last-bulk-end',
    `select max(finished_at)::text as at from (
       select finished_at from bulk_actions order by created_at desc, action_id desc limit $1) newest`,
    [NEWEST],
  )
  return row!.at
}

export type BulkActionFilter = { kind: BulkActionKind | null; open: boolean }

/** Newest first. */
export async function listBulkActions(db: Queryable, filter: BulkActionFilter, limit: number): Promise<BulkAction[]> {
  return runUnprepared<BulkAction>(
    db,
    `select ${VIEW} from bulk_actions where ($1::text is null or kind = $1) ${filter.open ? 'and finished_at is null' : ''}
     order by created_at desc, action_id desc limit $2`,
    [filter.kind, limit],
  )
}

/**
 * Takes the lock that each batch takes, so no batch is under way when this returns. Null: there is no such action, or it has ended.
 */
export async function stopBulkAction(db: Queryable, actionId: string, stoppedBy: string): Promise<BulkAction | null> {
  const [stopped] = await run<BulkAction>(
    db,
    'stop-bulk-action',
    `with stopped as (
       update bulk_actions set state = 'stopped', finished_at = now(), updated_at = now()
       where action_id = $1 and finished_at is null returning *
     ), emptied as (
       delete from bulk_action_items i using stopped where i.action_id = stopped.action_id
     ), audited as (
       insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
       select 'bulk_action', action_id::text, company_id, 'STOPPED', $2, ${result('stopped')} from stopped
     )
     select ${VIEW} from stopped`,
    [actionId, stoppedBy],
  )
  return stopped ?? null
}

/** For the audit: what was done. */
export const result = (action: string) => `jsonb_build_object('kind', ${action}.kind, 'total', ${action}.total,
  'done', ${action}.done, 'failed', ${action}.failed, 'counts', ${action}.counts)`
