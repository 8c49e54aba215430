import { settleAttempts } from '../db/outbox/settle.ts'
import { type AttemptStart, startAttempts } from '../db/outbox/start.ts'
import { findStarts } from '../db/outbox/uncertain-starts.ts'
import { DatabaseUnavailable, type Queryable, retryWhileUnavailable, writeBatchOrSingly } from '../db/pool.ts'

/**
 * Commits SENT_ATTEMPT for a batch and answers who may call the provider. When the connection is lost, the commit may have
 * happened or not. This process knows that it has called nobody, so it waits for the database and finds out: what was not
 * committed is started now, what was committed goes on, and what counts as unknown by now, because the lease ran out
 * meanwhile, returns to ready without spending the attempt.
 */
export async function commitStarts(
  db: Queryable,
  starts: AttemptStart[],
  patienceMs: number | (() => number),
): Promise<(boolean | Error)[]> {
  try {
    return await write(db, starts)
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
  }
  return retryWhileUnavailable(() => startOrFind(db, starts), patienceMs)
}

const write = (db: Queryable, starts: AttemptStart[]) => writeBatchOrSingly(starts, some => startAttempts(db, some))

/** Starting comes first: where the lost statement is still running, it waits for that one's locks, so the search sees its commit. */
async function startOrFind(db: Queryable, starts: AttemptStart[]): Promise<(boolean | Error)[]> {
  const answers = await write(db, starts)
  const refused = starts.filter((_, place) => answers[place] === false)
  const found = await findStarts(db, refused)
  const foundOf = new Map(refused.map((one, place) => [one, found[place]]))
  await returnUncalled(
    db,
    refused.filter(one => foundOf.get(one) === 'unknown' && !isResumed(one)),
  )
  return starts.map((one, place) => (foundOf.get(one) === 'started' ? true : answers[place]!))
}

/** The attempt has called the provider before, and was to ask it again: whether it took the message is still unknown. */
const isResumed = (start: AttemptStart) => start.attempt === start.before

async function returnUncalled(db: Queryable, starts: AttemptStart[]): Promise<void> {
  if (starts.length === 0) return
  await settleAttempts(
    db,
    starts.map(({ outboxId, attemptId, attempt, before }) => ({
      outboxId,
      guard: { unknownAttemptId: attemptId },
      status: 'PENDING',
      attempts: before,
      events: [{ type: 'RESOLVED', metadata: { by: 'not-called', attemptId, attempt } }],
      count: ['unknown_resolved', 'not-called'],
    })),
  )
}
