import type pg from 'pg'
import type { Logger } from 'pino'
import { DatabaseUnavailable, isPassingConflict } from '../platform/postgres/errors.ts'
import { inTransaction, type Queryable } from '../platform/postgres/query.ts'
import { deadLetterBatch } from './dead-letters.ts'
import { importBatch } from './import.ts'
import {
  type Batch,
  endBulkAction,
  listOpenBulkActions,
  lockBulkAction,
  type OpenBulkAction,
  recordBatch,
  recordBatchError,
} from './stored.ts'
import type { BulkActionKind } from './view.ts'

/** So long a call works, so that a process can stop in between. */
const WORK_MS = 1_000
const MAX_ERRORS = 5

const BATCH_OF: Record<BulkActionKind, (tx: Queryable, actionId: string, action: OpenBulkAction) => Promise<Batch>> = {
  'replay-dead-letters': deadLetterBatch,
  'purge-dead-letters': deadLetterBatch,
  'import-suppressions': importBatch,
}

/**
 * For housekeeping: one batch of each open action in turn, until the time is over or nothing is left to do now. Each batch is one commit
 * together with its progress, so it may be killed at any moment and called again, also in several processes at once.
 */
export async function carryOutBulkActions(
  pool: pg.Pool,
  onReplayed: () => void,
  log: Pick<Logger, 'error'>,
  workMs = WORK_MS,
): Promise<void> {
  const deadlineMs = performance.now() + workMs
  let open = await listOpenBulkActions(pool)
  while (open.length > 0) {
    const unfinished: string[] = []
    for (const actionId of open) {
      if (await carryOutBatch(pool, actionId, onReplayed, log)) unfinished.push(actionId)
      if (performance.now() >= deadlineMs) return
    }
    open = unfinished
  }
}

/** Answers whether there is more to do now. */
async function carryOutBatch(pool: pg.Pool, actionId: string, onReplayed: () => void, log: Pick<Logger, 'error'>) {
  try {
    const batch = await inTransaction(pool, tx => nextBatch(tx, actionId))
    if (batch?.counts.replayed) onReplayed()
    return batch?.next === 'more'
  } catch (error) {
    // Lost infrastructure and conflicts pass by themselves: the next call tries again.
    if (error instanceof DatabaseUnavailable) throw error
    if (isPassingConflict(error)) return false
    log.error({ err: error, actionId }, 'A batch of a bulk action failed; trying again')
    await recordBatchError(pool, actionId, (error as Error).message, MAX_ERRORS)
    return false
  }
}

async function nextBatch(tx: Queryable, actionId: string): Promise<Batch | null> {
  const action = await lockBulkAction(tx, actionId)
  if (!action) return null
  const batch = await BATCH_OF[action.kind](tx, actionId, action)
  await recordBatch(tx, actionId, batch)
  if (batch.next === 'end') await endBulkAction(tx, actionId)
  return batch
}
