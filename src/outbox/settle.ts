import { idRange, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { enqueueWebhooks } from '../webhooks/enqueue.ts'
import { ALL_LEASES_LOCKED, elementFor, ofBatch, writeBatch } from './batch-arrays.ts'
import { originalData } from './dead-letters.ts'
import { LOCK_EXISTING_READY_ROW, WAITING_AND_DUE } from './sql.ts'
import type { EmailEventType, EmailStatus } from './states.ts'

type SettlementGuard =
  | { kind: 'started'; leaseId: string }
  | { kind: 'claimed'; leaseId: string }
  | { kind: 'unknown'; attemptId: string }

export type Settlement = {
  outboxId: string
  /**
   * What must still be so: the attempt was started under this lease; or the e-mail waits, claimed under this lease; or the outcome
   * of this attempt is unknown. Otherwise nothing is written: somebody else decides about it.
   */
  guard: SettlementGuard
  status: EmailStatus
  attempts: number
  /** The events to append, in this order. */
  events: { type: EmailEventType; metadata: object }[]
  messageId?: string
  durationMs?: number
  error?: { code: string; category: string; message: string; originalCode?: string | null }
  /** For RETRY_SCHEDULED: the time until the next attempt. */
  retryDelayMs?: number
  /** Replaces the number of attempts that the e-mail may use. */
  maxAttempts?: number
  /** PENDING: true keeps started_at, so that this attempt goes on at a provider that recognises it; see HAS_UNRESOLVED_ATTEMPT. */
  sameAttempt?: boolean
  /** For a dead letter: why it is one. */
  dead?: { failedAttempts: number; reason: string; code: string; providerCode?: string | null }
  /** For UNKNOWN: why the outcome is unknown, and how long to wait for evidence. */
  unknown?: { reason: string; graceSeconds: number }
  /** A counter that the same statement raises: `[name, label]`. */
  count?: [string, string]
}

type GuardKind = SettlementGuard['kind']

/**
 * The end of an attempt: state, events, and where the e-mail goes next. Everything about one e-mail is in one
 * commit, which others share; a batch takes up to four statements. Returns for each whether its guard held.
 */
export async function settleAttempts(db: Queryable, settlements: Settlement[]): Promise<boolean[]> {
  const sent = settlements.filter(isSentWithoutMore)
  if (sent.length === settlements.length) return settleSent(db, sent)
  const settled = new Set<Settlement>()
  const addSettled = (group: Settlement[], results: boolean[]) => {
    for (const [index, settlement] of group.entries()) if (results[index]) settled.add(settlement)
  }
  if (sent.length > 0) addSettled(sent, await settleSent(db, sent))
  for (const kind of GUARD_KINDS) {
    const group = settlements.filter(one => !isSentWithoutMore(one) && one.guard.kind === kind)
    if (group.length > 0) addSettled(group, await settleOthers(db, kind, group))
  }
  return settlements.map(settlement => settled.has(settlement))
}

/** Nearly every settlement is of this kind, so it has a short statement of its own. */
async function settleSent(db: Queryable, settlements: Settlement[]): Promise<boolean[]> {
  return writeBatch(settlements, async (sorted, ids) => {
    const rows = await run<{ outboxId: string }>(db, 'settle-sent', SETTLE_SENT, [
      ...ids,
      sorted.map(one => keyOf(one.guard)),
      sorted.map(one => one.messageId!.replaceAll('\0', '')),
      sorted.map(one => one.durationMs!),
      sorted.map(one => storable(JSON.stringify(one.events[0]!.metadata))),
    ])
    return new Set(rows.map(row => row.outboxId))
  })
}

async function settleOthers(db: Queryable, kind: GuardKind, settlements: Settlement[]): Promise<boolean[]> {
  const input = [...idRange(settlements), storable(JSON.stringify(settlements.map(toRow)))]
  const rows = await run<{ outboxId: string; guard: string }>(db, `settle-${kind}`, SETTLE[kind], input)
  const keys = new Set(rows.map(row => row.outboxId + row.guard))
  return settlements.map(({ outboxId, guard }) => keys.has(outboxId + keyOf(guard)))
}

const keyOf = (guard: SettlementGuard) => (guard.kind === 'unknown' ? guard.attemptId : guard.leaseId)

/** Sent under its lease, and nothing is to be written besides. */
const isSentWithoutMore = ({ status, guard, events, durationMs }: Settlement) =>
  status === 'SENT' && guard.kind === 'started' && events.length === 1 && durationMs !== undefined

function toRow({ guard, count, ...rest }: Settlement) {
  return { ...rest, guard: keyOf(guard), ...(count && { counter: count[0], label: count[1] }) }
}

/** A provider's text may hold what a text of Postgres cannot: NUL, and unpaired surrogates (of a text that was cut inside a character). */
export const storable = (json: string) =>
  /\\u(0000|d)/.test(json)
    ? json.replaceAll(/(?<!\\)((?:\\\\)*)\\u(0000|d[89a-f]..)/g, (_, before: string, code: string) =>
        code === '0000' ? before : `${before}\ufffd`,
      )
    : json

/** $4 leases, $5 message ids, $6 durations in milliseconds, $7 metadata of the SENT event. */
const SETTLE_SENT = `
with settled as (
  update email_outbox o set status = 'SENT', lease_id = null, message_id = ${elementFor('o', '$5::text[]')}, duration_ms = ${elementFor('o', '$6::int[]')},
    sent_at = now(), started_at = null, failed_at = null, error_code = null, provider_code = null, error_category = null, failure_reason = null
  where ${ofBatch('o')} and o.lease_id = ${elementFor('o', '$4::uuid[]')}
  returning o.outbox_id, o.company_id, o.test
), put_recipients as (
  update email_recipients r set status = 'SENT'
  where ${ofBatch('r')} and not r.suppressed and r.outbox_id = any(array(select outbox_id from settled))
), put_events as (
  insert into email_events (outbox_id, company_id, type, metadata)
  select s.outbox_id, s.company_id, 'SENT', ${elementFor('s', '$7::jsonb[]')} from settled s
  returning outbox_id, company_id, event_id
), ${enqueueWebhooks(`select e.company_id, s.test, e.outbox_id, e.event_id, 'email.sent' as type
  from put_events e join settled s on s.outbox_id = e.outbox_id`)}
select outbox_id from settled`

const GUARDS: Record<GuardKind, string> = {
  started: 'o.lease_id = i.guard',
  claimed: `${WAITING_AND_DUE}
    and i.guard in (select lease_id from held) and o.outbox_id in (select outbox_id from unlocked)`,
  unknown: `o.status = 'UNKNOWN' and o.attempt_id = i.guard`,
}

/** Each end is one webhook, for the event that is its cause; a suppressed recipient is another one, for those who asked for it. */
const WEBHOOKS = `select s.company_id, s.test, s.outbox_id, v.event_id, ends.type
  from put_events v join settled s on s.outbox_id = v.outbox_id
  join (values ('SENT', 'SENT', 'email.sent'), ('REJECTED', 'REJECTED', 'email.failed'), ('FAILED', 'FAILED', 'email.failed'),
    ('DLQ', 'DLQ_MOVED', 'email.failed'), ('EXPIRED', 'EXPIRED', 'email.expired'), ('REJECTED', 'REJECTED', 'email.suppressed')
  ) as ends(status, event, type) on ends.status = s.status and ends.event = v.type
  where ends.type <> 'email.suppressed' or s.error_code = 'RECIPIENT_SUPPRESSED'`

const settleStatement = (guard: GuardKind) => `
with input as materialized (
  select * from json_to_recordset($3::json) as x(
    "outboxId" uuid, guard uuid, status text, attempts smallint, events json, "messageId" text,
    "durationMs" int, error json, "retryDelayMs" double precision, "maxAttempts" smallint, "sameAttempt" boolean, dead json, unknown json,
    counter text, label text)
), ${
  guard === 'claimed'
    ? `held as materialized (select lease_id from leases where lease_id in (select guard from input) for key share),
unlocked as materialized (
  -- A company's own SQL transaction may keep a waiting e-mail locked for long: the others do not wait for it.
  select o.outbox_id from email_outbox o
  where o.outbox_id = any(array(select "outboxId" from input)) and o.outbox_id between $1 and $2
    and ${ALL_LEASES_LOCKED} for update skip locked
), `
    : ''
} settled as (
  update email_outbox o set status = i.status, lease_id = null, attempts = i.attempts,
    -- On a waiting e-mail, started_at means that this attempt goes on (HAS_UNRESOLVED_ATTEMPT).
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
  returning o.*, i.guard, i.events, i.dead, i.unknown, i.counter, i.label
), put_recipients as (
  update email_recipients r set status = s.status
  from settled s
  where r.outbox_id = s.outbox_id and not r.suppressed and r.outbox_id between $1 and $2
    and s.status in ('SENT', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED')
), put_events as (
  -- A microsecond apart: events are read in the order of their times.
  insert into email_events (outbox_id, company_id, type, created_at, metadata)
  select s.outbox_id, s.company_id, e.event ->> 'type', now() + (e.nth - 1) * interval '1 microsecond', (e.event -> 'metadata')::jsonb
  from settled s cross join lateral json_array_elements(s.events) with ordinality as e(event, nth)
  returning outbox_id, event_id, type
), ${enqueueWebhooks(WEBHOOKS)}, put_ready as (
  insert into email_ready (company_id, priority, outbox_id)
  select company_id, priority, outbox_id from settled where status = 'PENDING' ${LOCK_EXISTING_READY_ROW}
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
      from email_events v where v.outbox_id = s.outbox_id and v.type = 'RETRY_SCHEDULED'
        and not v.metadata ?| array['throttled', 'unconnected'] and v.created_at >= coalesce((
        select max(p.created_at) from email_events p where p.outbox_id = s.outbox_id and p.type = 'REPLAYED'), '-infinity')), '[]')
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

const GUARD_KINDS = ['started', 'claimed', 'unknown'] as const satisfies GuardKind[]

const SETTLE: Record<GuardKind, string> = {
  started: settleStatement('started'),
  claimed: settleStatement('claimed'),
  unknown: settleStatement('unknown'),
}

/**
 * Those settlements whose last event is in the log, with the same metadata: its attempt number, duration and message id make it the
 * event of this settlement. The state of the e-mail would be no evidence, since it may have gone on. A settlement without an event
 * is not looked for: nothing follows from it.
 */
export async function findSettled(db: Queryable, settlements: Settlement[]): Promise<Set<Settlement>> {
  const withEvent = settlements.flatMap(one => {
    const event = one.events.at(-1)
    return event ? [{ settlement: one, event }] : []
  })
  if (withEvent.length === 0) return new Set()
  const rows = await sql<{ nth: number }>(db, 'find-settled')`
    select s.nth::int from unnest(${withEvent.map(one => one.settlement.outboxId)}::uuid[], ${withEvent.map(one => one.event.type)}::text[], ${withEvent.map(one => storable(JSON.stringify(one.event.metadata)))}::jsonb[]) with ordinality as s(outbox_id, type, metadata, nth)
     where exists (
       select from email_events e where e.outbox_id = s.outbox_id and e.type = s.type and e.metadata = s.metadata)`
  return new Set(rows.map(row => withEvent[row.nth - 1]!.settlement))
}
