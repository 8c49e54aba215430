import { findSettled, type Settlement, settleAttempts } from '../../outbox/settle.ts'
import type { Queryable } from '../../platform/postgres/query.ts'
import { retryWhileUnavailable, writeBatchOrSingly } from '../../platform/postgres/retries.ts'

/**
 * Writes a batch of settlements and returns which were written; false: the guard did not hold. When the connection is lost, the batch
 * is written again. What the first write has committed no longer holds its guard, so it is looked for in the event log.
 */
export async function commitSettlements(
  db: Queryable,
  settlements: Settlement[],
  retryForMs: number,
): Promise<(boolean | Error)[]> {
  let writes = 0
  const write = (some: Settlement[]) => {
    writes++
    return settleAttempts(db, some)
  }
  return retryWhileUnavailable(async () => {
    const answers = await writeBatchOrSingly(settlements, write)
    return writes === 1 ? answers : addCommittedBefore(db, settlements, answers)
  }, retryForMs)
}

/** After the write: if the lost statement is still running, that one waited for its locks, and the search sees its commit. */
async function addCommittedBefore(
  db: Queryable,
  settlements: Settlement[],
  answers: (boolean | Error)[],
): Promise<(boolean | Error)[]> {
  const refused = settlements.filter((_, index) => answers[index] === false)
  const found = await findSettled(db, refused)
  return settlements.map((one, index) => found.has(one) || answers[index]!)
}
