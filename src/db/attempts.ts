import { idRange, type Queryable, run, uuids, WAITING_AND_DUE } from './pool.ts'

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
  const leaseIds = starts.map(start => start.leaseId)
  const [row] = await run<{ missing: number[] | null }>(db, 'start-attempts', START, [
    ...idRange(starts),
    uuids([...new Set(leaseIds)]),
    uuids(starts.map(start => start.outboxId)),
    uuids(leaseIds),
    uuids(starts.map(start => start.attemptId)),
    starts.map(start => start.provider),
    starts.map(start => start.attempt),
    starts.map(start => start.before),
  ])
  // By their places: an e-mail may be in two hands of one process, and one of them starts.
  const missing = row!.missing
  return starts.map((_, index) => !missing?.includes(index + 1))
}

/** The lease is looked up for each, not joined: of a join one row is expected, and e-mails would be looked up among all ids for each. */
const START = `
with held as materialized (
  select lease_id, taken_at from leases where lease_id = any($3) for key share
), input as materialized (
  select x.*, (select taken_at from held where lease_id = x.l) as t
  from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::int[], $9::int[]) with ordinality as x(o, l, a, p, n, b, place)
), started as (
  update email_outbox o set status = 'PROCESSING', lease_id = i.l, attempts = i.n, attempt_id = i.a, provider = i.p,
    received_at = i.t, started_at = now(), next_attempt_at = null
  from input i
  where o.outbox_id = i.o and o.outbox_id = any(array(select o from input)) and o.outbox_id between $1 and $2 and i.t is not null
    and o.attempts = i.b and ${WAITING_AND_DUE}
  returning i.place
)
select case when count(*) < cardinality($4::uuid[]) then (
  select json_agg(place) from input where place not in (select place from started)) end as missing from started`
