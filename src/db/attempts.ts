import { distinct, inPlaces, ofBatch, PLACE, WRITTEN, type Written } from './places.ts'
import { list, type Queryable, run, uuids, WAITING_AND_DUE } from './pool.ts'

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
  return inPlaces(starts, async (some, [ids, lowest, highest]) => {
    const { kinds, numbers } = distinct(some, isSameKind)
    const [row] = await run<Written>(db, 'start-attempts', START, [
      uuids(ids),
      lowest,
      highest,
      uuids(some.map(start => start.attemptId)),
      list(numbers),
      list(kinds.map(start => start.leaseId)),
      kinds.map(start => start.provider),
      list(kinds.map(start => start.attempt)),
      list(kinds.map(start => start.before)),
    ])
    return row!
  })
}

/** What those that start together nearly always have in common. */
const isSameKind = (one: AttemptStart, other: AttemptStart) =>
  one.leaseId === other.leaseId &&
  one.provider === other.provider &&
  one.attempt === other.attempt &&
  one.before === other.before

const KIND = `($5::int[])[${PLACE}]`

const START = `
with held as materialized (
  select lease_id, taken_at from leases where lease_id = any($6::uuid[]) for key share
), started as (
  update email_outbox o set status = 'PROCESSING', lease_id = ($6::uuid[])[${KIND}], attempts = ($8::int[])[${KIND}],
    attempt_id = ($4::uuid[])[${PLACE}], provider = ($7::text[])[${KIND}],
    received_at = (select taken_at from held where lease_id = ($6::uuid[])[${KIND}]), started_at = now(), next_attempt_at = null
  where ${ofBatch('o')} and ($6::uuid[])[${KIND}] = any(array(select lease_id from held)) and o.attempts = ($9::int[])[${KIND}]
    and ${WAITING_AND_DUE}
  returning ${PLACE} as place
)
${WRITTEN('started')}`
