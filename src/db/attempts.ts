import { idRange, type Queryable, run } from './pool.ts'

export type AttemptStart = {
  outboxId: string
  leaseId: string
  attemptId: string
  provider: string
  attempt: number
  /** Attempts as they were read: another worker's attempt in between makes this start void. */
  before: number
  validations: readonly string[]
  /** RECEIVED, VALIDATED, SENT_ATTEMPT: made here, in this order. */
  eventIds: [string, string, string]
}

/**
 * RECEIVED, VALIDATED and SENT_ATTEMPT, committed before the first byte goes out. The attempt is counted here; what never
 * gets here is counted when its lease is found expired. Answers who may go on: the lease must still stand, which its lock
 * holds until this commit, and the e-mail must still be waiting and due.
 */
export async function startAttempts(db: Queryable, starts: AttemptStart[]): Promise<boolean[]> {
  const rows = await run<{ outbox_id: string }>(
    db,
    'start-attempts',
    `with input as materialized (
       select * from json_to_recordset($1::json) as x(
         "outboxId" uuid, "leaseId" uuid, "attemptId" uuid, provider text, attempt int, before int, validations jsonb,
         "eventIds" uuid[])
     ), held as materialized (
       select lease_id, taken_at from leases where lease_id = any($4) for key share
     ), started as (
       update email_outbox o set status = 'PROCESSING', lease_id = i."leaseId", attempts = i.attempt, attempt_id = i."attemptId",
         provider = i.provider, started_at = now(), next_attempt_at = null
       from input i join held h on h.lease_id = i."leaseId"
       where o.outbox_id = i."outboxId" and o.outbox_id between $2 and $3 and o.attempts = i.before
         and o.status in ('PENDING', 'RETRY_SCHEDULED') and (o.next_attempt_at is null or o.next_attempt_at <= now())
       returning o.outbox_id, o.request_id, h.taken_at, i.attempt, i.provider, i."attemptId", i.validations, i."eventIds"
     ), put_events as (
       insert into email_events (outbox_id, event_id, type, created_at, metadata)
       select s.outbox_id, s."eventIds"[e.place], e.type, case e.place when 1 then s.taken_at else now() end, case e.place
         when 1 then jsonb_build_object('attempt', s.attempt, 'requestId', s.request_id)
         when 2 then jsonb_build_object('attempt', s.attempt, 'validations', s.validations)
         else jsonb_build_object('attempt', s.attempt, 'provider', s.provider, 'attemptId', s."attemptId") end
       from started s cross join (values (1, 'RECEIVED'), (2, 'VALIDATED'), (3, 'SENT_ATTEMPT')) as e(place, type)
     )
     select outbox_id from started`,
    [JSON.stringify(starts), ...idRange(starts), [...new Set(starts.map(start => start.leaseId))]],
  )
  const held = new Set(rows.map(row => row.outbox_id))
  return starts.map(start => held.has(start.outboxId))
}
