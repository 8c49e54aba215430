import { settleAttempts } from '../../outbox/settle.ts'
import { type AttemptStart, findStarts, startAttempts } from '../../outbox/start.ts'
import { DatabaseUnavailable } from '../../platform/postgres/errors.ts'
import type { Queryable } from '../../platform/postgres/query.ts'
import { retryWhileUnavailable, writeBatchOrSingly } from '../../platform/postgres/retries.ts'

/**
 * Commits SENT_ATTEMPT for a batch and returns which attempts may call the provider. When the connection is lost, the commit may
 * have happened or not. This process has called nobody, so it waits for the database and looks: what was not committed is started
 * now, what was committed goes on, and what is an unknown send by now, because the lease expired, returns to ready without
 * counting the attempt.
 */
export async function commitStarts(
  db: Queryable,
  starts: AttemptStart[],
  retryForMs: number,
): Promise<(boolean | Error)[]> {
  try {
    return await write(db, starts, 'skip')
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
  }
  return retryWhileUnavailable(() => startOrFind(db, starts), retryForMs)
}

const write = (db: Queryable, starts: AttemptStart[], locked: 'skip' | 'wait') =>
  writeBatchOrSingly(starts, some => startAttempts(db, some, locked))

/** Starting comes first: if the lost statement is still running, this one waits for its locks, and the search sees its commit. */
async function startOrFind(db: Queryable, starts: AttemptStart[]): Promise<(boolean | Error)[]> {
  const answers = await write(db, starts, 'wait')
  const refused = starts.filter((_, index) => answers[index] === false)
  const found = await findStarts(db, refused)
  const foundOf = new Map(refused.map((one, index) => [one, found[index]]))
  await returnUncalled(
    db,
    refused.filter(one => foundOf.get(one) === 'unknown' && !isUnresolved(one)),
  )
  return starts.map((one, index) => (foundOf.get(one) === 'started' ? true : answers[index]!))
}

/** An unresolved attempt called the provider before: whether the provider took the message is still unknown. */
const isUnresolved = (start: AttemptStart) => start.attempt === start.attemptsBefore

async function returnUncalled(db: Queryable, starts: AttemptStart[]): Promise<void> {
  if (starts.length === 0) return
  await settleAttempts(
    db,
    starts.map(({ outboxId, attemptId, attempt, attemptsBefore }) => ({
      outboxId,
      guard: { kind: 'unknown', attemptId },
      status: 'PENDING',
      attempts: attemptsBefore,
      events: [{ type: 'RESOLVED', metadata: { by: 'not-called', attemptId, attempt } }],
      count: ['unknown_resolved', 'not-called'],
    })),
  )
}
