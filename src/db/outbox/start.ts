import { list, type Queryable, run, uuids, WAITING_AND_DUE } from '../pool.ts'
import { distinct, indexInBatch, ofBatch, WRITTEN, type Written, writeInBatches } from './batch-arrays.ts'

/** Seed 000's, in its order; the view email_events names them, too. */
export const VALIDATIONS = ['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'] as const

export type AttemptStart = {
  outboxId: string
  leaseId: string
  attemptId: string
  provider: string
  attempt: number
  /** Attempts as they were read: another worker's attempt in between makes this start void. */
  before: number
}

/**
 * RECEIVED, VALIDATED and SENT_ATTEMPT, committed before the first byte goes out, in the e-mail's own row: with received_at, the view
 * email_events tells them from there. The attempt is counted here; what never gets here is counted when its lease is found expired.
 * Answers who may go on: the lease must still stand, which its lock holds until this commit, and the e-mail must still be waiting
 * and due.
 */
export async function startAttempts(db: Queryable, starts: AttemptStart[]): Promise<boolean[]> {
  return writeInBatches(starts, async (some, [ids, lowest, highest]) => {
    const { kinds, numbers } = distinct(some, isSameKind)
    const facts = [
      uuids(ids),
      lowest,
      highest,
      uuids(some.map(start => start.attemptId)),
      list(kinds.map(start => start.leaseId)),
      kinds.map(start => start.provider),
      list(kinds.map(start => start.attempt)),
      list(kinds.map(start => start.before)),
    ]
    const [row] =
      kinds.length === 1
        ? await run<Written>(db, 'start-alike', START_ALIKE, facts)
        : await run<Written>(db, 'start-attempts', START, [...facts, list(numbers)])
    return row!
  })
}

/** What those that start together nearly always have in common. */
const isSameKind = (one: AttemptStart, other: AttemptStart) =>
  one.leaseId === other.leaseId &&
  one.provider === other.provider &&
  one.attempt === other.attempt &&
  one.before === other.before

/** kind: which of the kinds an e-mail is. */
const startStatement = (kind: string) => `
with held as materialized (
  select lease_id, taken_at from leases where lease_id = any($5::uuid[]) for key share
), started as (
  update email_outbox o set status = 'PROCESSING', lease_id = ($5::uuid[])[${kind}], attempts = ($7::int[])[${kind}],
    attempt_id = ($4::uuid[])[${indexInBatch('o')}], provider = ($6::text[])[${kind}],
    received_at = (select taken_at from held where lease_id = ($5::uuid[])[${kind}]), started_at = now(), next_attempt_at = null
  where ${ofBatch('o')} and ($5::uuid[])[${kind}] = any(array(select lease_id from held)) and o.attempts = ($8::int[])[${kind}]
    and ${WAITING_AND_DUE}
  returning o.outbox_id
)
${WRITTEN('started')}`

const START = startStatement(`($9::int[])[${indexInBatch('o')}]`)
/** Five of six: finding the place of each e-mail for every fact was a tenth of the statement. */
const START_ALIKE = startStatement('1')
