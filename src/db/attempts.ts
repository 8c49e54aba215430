import { uuidv7 } from '../contracts/uuid.ts'
import { idRange, type Queryable, run, WAITING_AND_DUE } from './pool.ts'

/** Seed 000's, in its order. */
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
 * RECEIVED, VALIDATED and SENT_ATTEMPT, committed before the first byte goes out. The attempt is counted here; what never
 * gets here is counted when its lease is found expired. Answers who may go on: the lease must still stand, which its lock
 * holds until this commit, and the e-mail must still be waiting and due.
 */
export async function startAttempts(db: Queryable, starts: AttemptStart[]): Promise<boolean[]> {
  const input = starts.map(toRow)
  const rows = await run<{ e1: string }>(db, 'start-attempts', START, [
    JSON.stringify(input),
    ...idRange(starts),
    [...new Set(starts.map(start => start.leaseId))],
    JSON.stringify(VALIDATIONS),
  ])
  // By an id of this very start: an e-mail may be in two hands of one process, and one of them starts.
  const held = new Set(rows.map(row => row.e1))
  return input.map(({ e1 }) => held.has(e1))
}

/** Short names, and ids made here: a third of what the statement cost was reading its input and making ids. */
function toRow({ outboxId, leaseId, attemptId, provider, attempt, before }: AttemptStart) {
  return {
    o: outboxId,
    l: leaseId,
    a: attemptId,
    p: provider,
    n: attempt,
    b: before,
    e1: uuidv7(),
    e2: uuidv7(),
    e3: uuidv7(),
  }
}

const START = `
with input as materialized (
  select * from json_to_recordset($1::json) as x(o uuid, l uuid, a uuid, p text, n int, b int, e1 uuid, e2 uuid, e3 uuid)
), held as materialized (
  select lease_id, taken_at from leases where lease_id = any($4) for key share
), started as (
  update email_outbox o set status = 'PROCESSING', lease_id = i.l, attempts = i.n, attempt_id = i.a, provider = i.p,
    started_at = now(), next_attempt_at = null
  from input i join held h on h.lease_id = i.l
  where o.outbox_id = i.o and o.outbox_id between $2 and $3 and o.attempts = i.b
    and ${WAITING_AND_DUE}
  returning o.outbox_id, o.request_id, h.taken_at, i.n, i.p, i.a, i.e1, i.e2, i.e3
), put_events as (
  insert into email_events (outbox_id, event_id, type, created_at, metadata)
  select s.outbox_id, e.id, e.type, e.at, e.metadata from started s cross join lateral (values
    (s.e1, 'RECEIVED', s.taken_at, jsonb_build_object('attempt', s.n, 'requestId', s.request_id)),
    (s.e2, 'VALIDATED', now(), jsonb_build_object('attempt', s.n, 'validations', $5::jsonb)),
    (s.e3, 'SENT_ATTEMPT', now(), jsonb_build_object('attempt', s.n, 'provider', s.p, 'attemptId', s.a))) as e(id, type, at, metadata)
)
select e1 from started`
