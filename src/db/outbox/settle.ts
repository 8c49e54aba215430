import type { EmailEventType, EmailStatus } from '../../contracts/states.ts'
import { uuidv7 } from '../../contracts/uuid.ts'
import { idRange, list, type Queryable, READY_AGAIN, run, texts, uuids, WAITING_AND_DUE } from '../pool.ts'
import { tellCompanies } from '../webhooks/enqueue.ts'
import { distinct, indexInBatch, ofBatch, WRITTEN, type Written, writeInBatches } from './batch-arrays.ts'
import { originalData } from './dead-letters.ts'

export type Settlement = {
  outboxId: string
  /**
   * What must still be so: the attempt runs under this lease; or the e-mail waits, in hand under this lease; or the outcome
   * of this attempt is unknown. Otherwise nothing is written: somebody else decides about it.
   */
  guard: { leaseId: string } | { leaseId: string; waiting: true } | { unknownAttemptId: string }
  status: EmailStatus
  attempts: number
  /** Told in this order. */
  events: { type: EmailEventType; metadata: object }[]
  messageId?: string
  durationMs?: number
  error?: { code: string; category: string; message: string; originalCode?: string | null }
  /** RETRY_SCHEDULED: when. */
  retryDelayMs?: number
  /** From now on it has so many attempts. */
  maxAttempts?: number
  /** PENDING: the same attempt goes on (a provider that recognises it), or the next one is a new one. */
  sameAttempt?: boolean
  /** Why it is a dead letter. */
  dead?: { failedAttempts: number; reason: string; code: string; providerCode?: string | null }
  /** UNKNOWN: why, and how long to wait for evidence. */
  unknown?: { reason: string; graceSeconds: number }
  /** Recipients (ordinals) that were suppressed meanwhile and left out. */
  leftOut?: number[]
  /** Counted with it: `[name, label]`. */
  count?: [string, string]
}

type Guard = 'lease' | 'waiting' | 'unknown'

/** The end of an attempt: state, events, and where the e-mail goes next, in one commit. Answers which were still ours. */
export async function settleAttempts(db: Queryable, settlements: Settlement[]): Promise<boolean[]> {
  const sent = settlements.filter(isPlainlySent)
  if (sent.length === settlements.length) return settleSent(db, sent)
  const settled = new Set<Settlement>()
  const note = (some: Settlement[], were: boolean[]) => {
    for (const [place, one] of some.entries()) if (were[place]) settled.add(one)
  }
  if (sent.length > 0) note(sent, await settleSent(db, sent))
  for (const guard of GUARD_NAMES) {
    const some = settlements.filter(one => !isPlainlySent(one) && guardOf(one) === guard)
    if (some.length > 0) note(some, await settleOthers(db, guard, some))
  }
  return settlements.map(one => settled.has(one))
}

async function settleSent(db: Queryable, settlements: Settlement[]): Promise<boolean[]> {
  return writeInBatches(settlements, async (some, [ids, lowest, highest]) => {
    const { kinds, numbers } = distinct(some, (one, other) => keyOf(one.guard) === keyOf(other.guard))
    const facts = [
      uuids(ids),
      lowest,
      highest,
      list(kinds.map(one => keyOf(one.guard))),
      texts(some.map(one => withoutNul(one.messageId!))),
      list(some.map(one => one.durationMs!)),
    ]
    const [row] =
      kinds.length === 1
        ? await run<Written>(db, 'settle-sent-alike', SETTLE_SENT_ALIKE, facts)
        : await run<Written>(db, 'settle-sent', SETTLE_SENT, [...facts, list(numbers)])
    return row!
  })
}

const withoutNul = (text: string) => (text.includes('\0') ? text.replaceAll('\0', '') : text)

async function settleOthers(db: Queryable, guard: Guard, some: Settlement[]): Promise<boolean[]> {
  const input = [...idRange(some), storable(JSON.stringify(some.map(toRow)))]
  const rows = await run<{ outbox_id: string; guard: string }>(db, `settle-${guard}`, SETTLE[guard], input)
  const keys = new Set(rows.map(row => row.outbox_id + row.guard))
  return some.map(one => keys.has(one.outboxId + keyOf(one.guard)))
}

const keyOf = (guard: Settlement['guard']) => ('unknownAttemptId' in guard ? guard.unknownAttemptId : guard.leaseId)

function guardOf({ guard }: Settlement): Guard {
  if ('unknownAttemptId' in guard) return 'unknown'
  return 'waiting' in guard ? 'waiting' : 'lease'
}

const isPlainlySent = (one: Settlement) =>
  one.status === 'SENT' &&
  guardOf(one) === 'lease' &&
  !one.leftOut &&
  one.events.length === 1 &&
  one.durationMs !== undefined

function toRow({ guard, events: told, count, ...rest }: Settlement) {
  // Of one commit, they are told in the order of their ids.
  const events = told.map(event => ({ id: uuidv7(), ...event }))
  const [event] = events
  return {
    ...rest,
    guard: keyOf(guard),
    ...(events.length === 1 && event ? { eventId: event.id, type: event.type, metadata: event.metadata } : { events }),
    ...(count && { counter: count[0], label: count[1] }),
  }
}

/** A provider's words may hold what no text of Postgres can: NUL, and halves of a character (a message cut in its middle). */
const storable = (json: string) =>
  /\\u(0000|d)/.test(json)
    ? json.replaceAll(/(?<!\\)((?:\\\\)*)\\u(0000|d[89a-f]..)/g, (_, before: string, code: string) =>
        code === '0000' ? before : `${before}\ufffd`,
      )
    : json

/** Whoever listens is told by an event that is in the log. Whether there is any endpoint at all is asked once per statement. */
const HAS_LISTENER = `(exists (select from webhook_endpoints where disabled_at is null) and exists (
      select from webhook_endpoints w where w.company_id = o.company_id and w.test = o.test and w.disabled_at is null and 'email.sent' = any(w.event_types)))`

/**
 * Nearly every settlement: plan nodes for what did not happen would cost a third of the statement. The facts of the start stay in
 * the e-mail's row, which tells them from now on, and that it was sent, and that its recipients were: with `tells_sent`, the view
 * email_events makes SENT of it, and nothing else is written.
 */
const settleSentStatement = (kind: string) => `
with settled as (
  update email_outbox o set status = 'SENT', lease_id = null, message_id = ($5::text[])[${indexInBatch('o')}], duration_ms = ($6::int[])[${indexInBatch('o')}],
    sent_at = now(), tells_sent = not ${HAS_LISTENER}, failed_at = null, error_code = null, provider_code = null, error_category = null, failure_reason = null
  where ${ofBatch('o')} and o.lease_id = ($4::uuid[])[${kind}]
  returning o.outbox_id, o.company_id, o.test, o.attempts, o.attempt_id, o.tells_sent
), heard as (
  select s.outbox_id, s.company_id, s.test, s.attempts, ${indexInBatch('s')} as place, start_event_id(now(), s.attempt_id, 4) as event_id
  from settled s where not s.tells_sent
), put_events as (
  insert into email_event_log (outbox_id, event_id, type, metadata)
  select outbox_id, event_id, 'SENT', jsonb_build_object('messageId', ($5::text[])[place], 'attempt', attempts, 'durationMs', ($6::int[])[place])
  from heard
), ${tellCompanies(`select company_id, test, outbox_id, event_id, 'email.sent' as type from heard`)}
${WRITTEN('settled')}`

const SETTLE_SENT = settleSentStatement(`($7::int[])[${indexInBatch('o')}]`)
const SETTLE_SENT_ALIKE = settleSentStatement('1')

const GUARDS: Record<Guard, string> = {
  lease: 'o.lease_id = i.guard',
  waiting: `${WAITING_AND_DUE}
    and i.guard in (select lease_id from held)`,
  unknown: `o.status = 'UNKNOWN' and o.attempt_id = i.guard`,
}

/** Each end is told once, by the event that is its cause (decision 8); a suppressed recipient also to those who asked for that. */
const TOLD_ENDS = `select s.company_id, s.test, s.outbox_id, v.event_id, told.type
  from put_events v join settled s on s.outbox_id = v.outbox_id
  join (values ('SENT', 'SENT', 'email.sent'), ('REJECTED', 'REJECTED', 'email.failed'), ('FAILED', 'FAILED', 'email.failed'),
    ('DLQ', 'DLQ_MOVED', 'email.failed'), ('EXPIRED', 'EXPIRED', 'email.expired'), ('REJECTED', 'REJECTED', 'email.suppressed')
  ) as told(status, event, type) on told.status = s.status and told.event = v.type
  where told.type <> 'email.suppressed' or s.error_code = 'RECIPIENT_SUPPRESSED'`

/** The start, which its row tells no longer. Read in the same statement, the row is as it was before. */
const STARTED = `union all
  select b.outbox_id, start_event_id(b.started_at, b.attempt_id, 0), 'STARTED', b.started_at, jsonb_build_object('attempt', b.attempts,
    'requestId', b.request_id, 'provider', b.provider, 'attemptId', b.attempt_id, 'receivedAt', b.received_at)
  from settled s cross join lateral (
    select b.outbox_id, b.attempts, b.request_id, b.provider, b.attempt_id, b.received_at, b.started_at from email_outbox b
    where b.outbox_id = s.outbox_id and b.outbox_id between $1 and $2 and b.received_at is not null offset 0) b`

const settleStatement = (guard: Guard) => `
with input as materialized (
  select * from json_to_recordset($3::json) as x(
    "outboxId" uuid, guard uuid, status text, attempts smallint, events json, "eventId" uuid, type text, metadata json, "messageId" text,
    "durationMs" int, error json, "retryDelayMs" double precision, "maxAttempts" smallint, "sameAttempt" boolean, dead json, unknown json, "leftOut" smallint[],
    counter text, label text)
), ${
  guard === 'waiting'
    ? 'held as materialized (select lease_id from leases where lease_id in (select guard from input) for key share), '
    : ''
} settled as (
  update email_outbox o set status = i.status, lease_id = null, attempts = i.attempts, received_at = null,
    started_at = case when i."sameAttempt" or i.status = 'UNKNOWN' then o.started_at end,
    message_id = coalesce(i."messageId", o.message_id), duration_ms = coalesce(i."durationMs", o.duration_ms),
    sent_at = case when i.status = 'SENT' then now() else o.sent_at end,
    failed_at = case when i.status in ('REJECTED', 'FAILED', 'DLQ', 'EXPIRED') then now() end,
    error_code = i.error ->> 'code', provider_code = i.error ->> 'originalCode', error_category = i.error ->> 'category', failure_reason = i.error ->> 'message',
    max_attempts = coalesce(i."maxAttempts", o.max_attempts),
    -- At its expiry at the latest, so that it ends then and not an hour later.
    next_attempt_at = least(now() + i."retryDelayMs" * interval '1 millisecond',
      case when i."retryDelayMs" is not null then greatest(o.expires_at, now()) end)
  from input i where o.outbox_id = i."outboxId" and o.outbox_id = any(array(select "outboxId" from input)) and o.outbox_id between $1 and $2
    and ${GUARDS[guard]}
  returning o.*, i.guard, i.events, i."eventId", i.type, i.metadata, i.dead, i.unknown, i."leftOut", i.counter, i.label
), put_recipients as (
  update email_recipient_list r set suppressed = coalesce(r.ordinal = any(s."leftOut"), false), status = case
      when r.ordinal = any(s."leftOut") then 'REJECTED'
      when s.status in ('SENT', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED') then s.status else r.status end
  from settled s
  where r.outbox_id = s.outbox_id and not r.suppressed and r.outbox_id between $1 and $2
    and (s.status in ('SENT', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED') or s."leftOut" is not null)
), put_events as (
  insert into email_event_log (outbox_id, event_id, type, created_at, metadata)
  select s.outbox_id, coalesce(s."eventId", (e.event ->> 'id')::uuid), coalesce(s.type, e.event ->> 'type'), now(),
    coalesce(s.metadata, e.event -> 'metadata')::jsonb
  from settled s cross join lateral json_array_elements(coalesce(s.events, '[null]')) as e(event)
  ${guard === 'lease' ? STARTED : ''}
  returning outbox_id, event_id, type
), ${tellCompanies(TOLD_ENDS)}, put_ready as (
  insert into email_ready (company_id, priority, outbox_id)
  select company_id, priority, outbox_id from settled where status = 'PENDING' ${READY_AGAIN}
), put_scheduled as (
  insert into email_scheduled (due_at, outbox_id, company_id, priority)
  select next_attempt_at, outbox_id, company_id, priority from settled where status = 'RETRY_SCHEDULED'
), put_unknown as (
  insert into unknown_sends (outbox_id, attempt_id, provider, reason, resolve_at)
  select outbox_id, attempt_id, provider, unknown ->> 'reason', now() + (unknown ->> 'graceSeconds')::float8 * interval '1 second'
  from settled where unknown is not null
  on conflict (outbox_id) do update set attempt_id = excluded.attempt_id, provider = excluded.provider, reason = excluded.reason,
    since = now(), resolve_at = excluded.resolve_at
), ${
  guard === 'unknown'
    ? `known as (delete from unknown_sends u using settled s where u.outbox_id = s.outbox_id and s.unknown is null), `
    : ''
} put_counters as (
  insert into counters as c (name, label, value) select counter, label, count(*) from settled where counter is not null
  group by counter, label order by counter, label
  on conflict (name, label) do update set value = c.value + excluded.value
), put_dead as (
  insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, provider_code, last_failure_at,
    retry_history, original_data, enqueued_at)
  select s.outbox_id, s.company_id, (s.dead ->> 'failedAttempts')::smallint, s.dead ->> 'reason', s.dead ->> 'code', s.dead ->> 'providerCode', now(),
    coalesce((select jsonb_agg(jsonb_build_object('attempt', v.metadata -> 'attempt', 'timestamp', v.created_at,
        'error', v.metadata -> 'errorCode', 'providerCode', v.metadata -> 'originalCode', 'message', v.metadata -> 'errorMessage') order by v.created_at, v.event_id)
      from email_event_log v where v.outbox_id = s.outbox_id and v.type = 'RETRY_SCHEDULED'
        and not v.metadata ?| array['throttled', 'unconnected'] and v.created_at >= coalesce((
        select max(p.created_at) from email_event_log p where p.outbox_id = s.outbox_id and p.type = 'REPLAYED'), '-infinity')), '[]')
      || jsonb_build_array(jsonb_build_object('attempt', s.dead -> 'failedAttempts', 'timestamp', now(), 'error', s.dead -> 'code',
        'providerCode', s.dead -> 'providerCode', 'message', s.dead -> 'reason')),
    ${originalData('s')}, s.created_at
  from settled s where s.dead is not null
  on conflict (outbox_id) do update set failed_attempts = excluded.failed_attempts, moved_at = now(),
    last_failure_reason = excluded.last_failure_reason, last_failure_code = excluded.last_failure_code, provider_code = excluded.provider_code,
    last_failure_at = excluded.last_failure_at, retry_history = excluded.retry_history,
    original_data = excluded.original_data, enqueued_at = excluded.enqueued_at
)
select outbox_id, guard from settled`

const GUARD_NAMES = ['lease', 'waiting', 'unknown'] as const satisfies Guard[]

const SETTLE: Record<Guard, string> = {
  lease: settleStatement('lease'),
  waiting: settleStatement('waiting'),
  unknown: settleStatement('unknown'),
}
