import { type Queryable, run, sql } from '../platform/postgres/query.ts'
import { ALL_LEASES_LOCKED, elementFor, ofBatch, unlocked, writeBatch } from './batch-arrays.ts'
import { WAITING_AND_DUE } from './sql.ts'

/** What is checked before an e-mail is sent, in this order. */
export const VALIDATIONS = ['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'] as const

export type AttemptStart = {
  outboxId: string
  leaseId: string
  attemptId: string
  provider: string
  attempt: number
  /** Attempts as they were read: another worker's attempt in between makes this start void. */
  attemptsBefore: number
  /** Ordinals of the recipients whom the message leaves out, because they have been suppressed since the e-mail was accepted. */
  suppressedOrdinals: number[]
}

/**
 * RECEIVED, VALIDATED and SENT_ATTEMPT, committed before the first byte goes out. The attempt is counted here; what never gets here
 * is counted when its lease is found expired. Answers who may go on: the lease must still stand, which its lock holds until this
 * commit, and the e-mail must still be waiting and due. `locked`: whether an e-mail that somebody else is changing is passed over,
 * which is answered with false, or waited for. Recipients that are left out are marked with it: if the process dies now, the call
 * of this attempt is repeated with the same message.
 */
export async function startAttempts(
  db: Queryable,
  starts: AttemptStart[],
  locked: 'skip' | 'wait' = 'skip',
): Promise<boolean[]> {
  return writeBatch(starts, async (sorted, ids) => {
    const suppressed = sorted.flatMap(({ outboxId, suppressedOrdinals }) =>
      suppressedOrdinals.map(ordinal => ({ outboxId, ordinal })),
    )
    const [name, statement] = statementFor(locked, suppressed.length > 0)
    const rows = await run<{ outboxId: string }>(db, name, statement, [
      ...ids,
      sorted.map(start => start.attemptId),
      sorted.map(start => start.leaseId),
      sorted.map(start => start.provider),
      sorted.map(start => start.attempt),
      sorted.map(start => start.attemptsBefore),
      ...(suppressed.length > 0 ? [suppressed.map(one => one.outboxId), suppressed.map(one => one.ordinal)] : []),
    ])
    return new Set(rows.map(row => row.outboxId))
  })
}

/**
 * $4 attempt ids, $5 leases, $6 providers, $7 numbers of the attempts, $8 attempts spent before. With `leavesOut`, not in the order of
 * the batch: $9 the e-mails and $10 the ordinals of the recipients that are left out.
 */
const startStatement = (locked: 'skip' | 'wait', leavesOut: boolean) => `
with held as materialized (
  select lease_id, taken_at from leases where lease_id = any($5::uuid[]) for key share
), ${locked === 'skip' ? `${unlocked(ALL_LEASES_LOCKED)}, ` : ''}started as (
  update email_outbox o set status = 'PROCESSING', lease_id = ${elementFor('o', '$5::uuid[]')}, attempts = ${elementFor('o', '$7::int[]')},
    attempt_id = ${elementFor('o', '$4::uuid[]')}, provider = ${elementFor('o', '$6::text[]')}, started_at = now(), next_attempt_at = null
  where ${ofBatch('o')} and ${elementFor('o', '$5::uuid[]')} = any(array(select lease_id from held)) and o.attempts = ${elementFor('o', '$8::int[]')}
    and ${WAITING_AND_DUE}${locked === 'skip' ? ' and o.outbox_id = any(array(select outbox_id from unlocked))' : ''}
  returning o.outbox_id, o.company_id, o.request_id, o.lease_id, o.attempts, o.attempt_id, o.provider
), put_events as (
  insert into email_events (outbox_id, company_id, type, created_at, metadata)
  select s.outbox_id, s.company_id, event.type, event.at, jsonb_build_object('attempt', s.attempts) || event.metadata
  from started s cross join lateral (values
    ('RECEIVED', (select taken_at from held where lease_id = s.lease_id), jsonb_build_object('requestId', s.request_id)),
    ('VALIDATED', now(), '${JSON.stringify({ validations: VALIDATIONS })}'::jsonb),
    -- A microsecond later: events are read in the order of their times.
    ('SENT_ATTEMPT', now() + interval '1 microsecond', jsonb_build_object('provider', s.provider, 'attemptId', s.attempt_id))
  ) as event(type, at, metadata)
)${leavesOut ? `, ${LEAVE_OUT}` : ''}
select outbox_id from started`

const LEAVE_OUT = `left_out as (
  update email_recipients r set suppressed = true, status = 'REJECTED'
  where r.outbox_id = any($9::uuid[]) and r.outbox_id between $2 and $3 and r.outbox_id = any(array(select outbox_id from started))
    and (r.outbox_id, r.ordinal) in (select * from unnest($9::uuid[], $10::smallint[]))
)`

/** Leaving somebody out is rare, and a statement that could do it costs every batch the preparation of one more update. */
const STATEMENTS = {
  skip: [startStatement('skip', false), startStatement('skip', true)],
  wait: [startStatement('wait', false), startStatement('wait', true)],
} as const

function statementFor(locked: 'skip' | 'wait', leavesOut: boolean): [name: string, statement: string] {
  const name = `start-attempts${locked === 'wait' ? '-waiting' : ''}${leavesOut ? '-leaving-out' : ''}`
  return [name, STATEMENTS[locked][leavesOut ? 1 : 0]]
}

/** started: SENT_ATTEMPT of this attempt stands under its lease. unknown: it was taken for that of a lost worker. */
export type FoundStart = 'started' | 'unknown' | null

/** What became of starts whose commit was not confirmed, by their attempt ids; null: not committed, or somebody else's by now. */
export async function findStarts(db: Queryable, starts: AttemptStart[]): Promise<FoundStart[]> {
  if (starts.length === 0) return []
  const rows = await sql<{ attemptId: string; found: FoundStart }>(db, 'find-starts')`
    select o.attempt_id, case o.status when 'PROCESSING' then 'started' when 'UNKNOWN' then 'unknown' end as found
     from unnest(${starts.map(one => one.outboxId)}::uuid[], ${starts.map(one => one.attemptId)}::uuid[], ${starts.map(one => one.leaseId)}::uuid[]) as s(outbox_id, attempt_id, lease_id)
     join email_outbox o on o.outbox_id = s.outbox_id and o.attempt_id = s.attempt_id
     where o.lease_id = s.lease_id or (o.status = 'UNKNOWN' and o.lease_id is null)`
  const found = new Map(rows.map(row => [row.attemptId, row.found]))
  return starts.map(one => found.get(one.attemptId) ?? null)
}
