import type { EmailEventType, EmailStatus } from '../contracts/states.ts'
import { type Queryable, run } from './pool.ts'

export type Claimed = {
  outboxId: string
  companyId: string
  attempts: number
  /** Every attempt it had ended with its worker. */
  exhausted: boolean
  /** SENT_ATTEMPT of this attempt was committed before its worker died: the same attempt goes on. */
  resumedAttemptId: string | null
  expired: boolean
}

export async function claimFairBatch(
  db: Queryable,
  options: { leaseId: string; size: number; perTurn: number; holder: string; leaseSeconds: number },
): Promise<Claimed[]> {
  const { leaseId, size, perTurn, holder, leaseSeconds } = options
  return run<Claimed>(
    db,
    'claim-fair-batch',
    `select outbox_id as "outboxId", company_id as "companyId", attempts, exhausted, resumed_attempt_id as "resumedAttemptId", expired
     from claim_fair_batch($1, $2, $3, $4, $5)`,
    [leaseId, size, perTurn, holder, leaseSeconds],
  )
}

export type AttemptStart = {
  outboxId: string
  leaseId: string
  attemptId: string
  provider: string
  attempt: number
  validations: string[]
}

/** VALIDATED and SENT_ATTEMPT, committed before the first byte goes out. Answers who still holds the lease. */
export async function startAttempts(db: Queryable, starts: AttemptStart[]): Promise<boolean[]> {
  const rows = await run<{ outbox_id: string }>(
    db,
    'start-attempts',
    `with input as materialized (
       select * from json_to_recordset($1::json) as x(
         "outboxId" uuid, "leaseId" uuid, "attemptId" uuid, provider text, attempt int, validations jsonb)
     ), started as (
       update email_outbox o set attempt_id = i."attemptId", provider = i.provider, started_at = now()
       from input i
       where o.outbox_id = i."outboxId" and o.lease_id = i."leaseId" and o.outbox_id between $2 and $3
       returning o.outbox_id, i.attempt, i.provider, i."attemptId", i.validations
     ), put_validated as (
       insert into email_events (outbox_id, event_id, type, metadata)
       select outbox_id, uuid_v7_now(1), 'VALIDATED', jsonb_build_object('attempt', attempt, 'validations', validations) from started
     ), put_attempt as (
       insert into email_events (outbox_id, event_id, type, metadata)
       select outbox_id, uuid_v7_now(2), 'SENT_ATTEMPT',
         jsonb_build_object('attempt', attempt, 'provider', provider, 'attemptId', "attemptId") from started
     )
     select outbox_id from started`,
    [JSON.stringify(starts), ...idRange(starts)],
  )
  const held = new Set(rows.map(row => row.outbox_id))
  return starts.map(start => held.has(start.outboxId))
}

export type Settlement = {
  outboxId: string
  leaseId: string
  status: EmailStatus
  events: { type: EmailEventType; metadata: object }[]
  messageId?: string
  durationMs?: number
  error?: { code: string; category: string; message: string }
  /** RETRY_SCHEDULED: when. */
  retryDelayMs?: number
  /** Why it is a dead letter. */
  dead?: { failedAttempts: number; reason: string; code: string | null }
}

/** The end of an attempt: state, events, and where the e-mail goes next, in one commit, under its lease. */
const SETTLE = `
with input as materialized (
  select * from json_to_recordset($1::json) as x(
    "outboxId" uuid, "leaseId" uuid, status text, events json, "messageId" text, "durationMs" int, error json,
    "retryDelayMs" double precision, dead json)
), settled as (
  update email_outbox o set status = i.status, lease_id = null, started_at = null,
    message_id = coalesce(i."messageId", o.message_id), duration_ms = coalesce(i."durationMs", o.duration_ms),
    sent_at = case when i.status = 'SENT' then now() else o.sent_at end,
    failed_at = case when i.status in ('REJECTED', 'FAILED', 'DLQ', 'EXPIRED') then now() end,
    error_code = i.error ->> 'code', error_category = i.error ->> 'category', failure_reason = i.error ->> 'message',
    next_attempt_at = now() + i."retryDelayMs" * interval '1 millisecond'
  from input i
  where o.outbox_id = i."outboxId" and o.lease_id = i."leaseId" and o.outbox_id between $2 and $3
  returning o.outbox_id, o.company_id, o.priority, o.next_attempt_at, o.status, o.created_at, o.request_id, o.external_id,
    o.subject, o.template_type, o.tags, i.events, i.dead
), put_recipients as (
  update email_recipients r set status = s.status from settled s
  where r.outbox_id = s.outbox_id and not r.suppressed and s.status in ('SENT', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED')
    and r.outbox_id between $2 and $3
), put_events as (
  insert into email_events (outbox_id, event_id, type, metadata)
  select s.outbox_id, uuid_v7_now(e.place::int), e.event ->> 'type', (e.event -> 'metadata')::jsonb
  from settled s cross join lateral json_array_elements(s.events) with ordinality as e(event, place)
), put_scheduled as (
  insert into email_scheduled (due_at, outbox_id, company_id, priority)
  select next_attempt_at, outbox_id, company_id, priority from settled where status = 'RETRY_SCHEDULED'
), put_dead as (
  insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, last_failure_at,
    retry_history, original_data, enqueued_at)
  select s.outbox_id, s.company_id, (s.dead ->> 'failedAttempts')::smallint, s.dead ->> 'reason', s.dead ->> 'code', now(),
    coalesce((select jsonb_agg(jsonb_build_object('attempt', v.metadata -> 'attempt', 'timestamp', v.created_at,
        'error', v.metadata -> 'errorCode', 'message', v.metadata -> 'errorMessage') order by v.event_id)
      from email_events v where v.outbox_id = s.outbox_id and v.type = 'RETRY_SCHEDULED'), '[]')
      || jsonb_build_array(jsonb_build_object('attempt', s.dead -> 'failedAttempts', 'timestamp', now(), 'error', s.dead -> 'code',
        'message', s.dead -> 'reason')),
    jsonb_build_object('outboxId', s.outbox_id, 'companyId', s.company_id, 'requestId', s.request_id, 'externalId', s.external_id,
      'subject', s.subject, 'templateType', s.template_type, 'tags', s.tags), s.created_at
  from settled s where s.dead is not null
  on conflict (outbox_id) do update set failed_attempts = excluded.failed_attempts, moved_at = now(),
    last_failure_reason = excluded.last_failure_reason, last_failure_code = excluded.last_failure_code,
    last_failure_at = excluded.last_failure_at, retry_history = excluded.retry_history
)
select outbox_id from settled`

export async function settleAttempts(db: Queryable, settlements: Settlement[]): Promise<boolean[]> {
  const rows = await run<{ outbox_id: string }>(db, 'settle-attempts', SETTLE, [
    JSON.stringify(settlements, withoutNul),
    ...idRange(settlements),
  ])
  const held = new Set(rows.map(row => row.outbox_id))
  return settlements.map(settlement => held.has(settlement.outboxId))
}

/** A provider's message may hold what no text of Postgres can. */
const withoutNul = (_key: string, value: unknown) =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '') : value

/** Lowest and highest id: lets the executor drop all other partitions before it starts. */
function idRange(items: { outboxId: string }[]): [string, string] {
  let [low, high] = [items[0]!.outboxId, items[0]!.outboxId]
  for (const { outboxId } of items) {
    if (outboxId < low) low = outboxId
    if (outboxId > high) high = outboxId
  }
  return [low, high]
}
