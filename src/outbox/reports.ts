import { idRange, iso, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { enqueueWebhooks } from '../webhooks/enqueue.ts'
import { originalData } from './dead-letters.ts'
import { RECIPIENT_RECORD } from './logged-emails.ts'
import type { EmailBefore, FeedbackDecision } from './report-rules.ts'

type FeedbackEmail = EmailBefore & {
  companyId: string
  requestId: string
  externalId: string | null
  recipientRecord: { cpfCnpjHash: string | null; email: string | null } | null
  attempts: number
  maxAttempts: number
  traceparent: string | null
  test: boolean
  sentAt: string | null
  /** Sent since the company's figures began: it counts for its reputation. */
  counts: boolean
  /** Attempts that the provider has refused, of an e-mail that was replayed since. */
  refusedAttempts: string[]
  /** A recipient was erased: nothing personal is written any more. */
  erased: boolean
  /** Hard bounces and complaints that it has had: `BOUNCE sha256:…`. */
  countedBefore: string[]
}

const rangeOf = (outboxIds: string[]) => idRange(outboxIds.map(outboxId => ({ outboxId })))

/** Locked emails; the ids that somebody else has locked; and those that are nowhere. */
export type Locked = { emails: Map<string, FeedbackEmail>; busy: Set<string> }

/**
 * The e-mails' rows are locked first, as settling does, and none is waited for: what somebody is just writing is looked at again
 * a moment later. Read by a statement of its own, which sees what was written beside the e-mail before it was locked.
 */
export async function lockEmails(tx: Queryable, outboxIds: string[]): Promise<Locked> {
  if (outboxIds.length === 0) return { emails: new Map(), busy: new Set() }
  const locked = await run<{ outboxId: string }>(
    tx,
    'lock-emails-for-feedback',
    `select outbox_id from email_outbox where outbox_id = any($1) and outbox_id between $2 and $3
     order by outbox_id for update skip locked`,
    [outboxIds, ...rangeOf(outboxIds)],
  )
  const mine = locked.map(row => row.outboxId)
  const rows = await run<FeedbackEmail>(
    tx,
    'read-emails-for-feedback',
    `select o.outbox_id as "outboxId", o.company_id as "companyId", o.request_id as "requestId", o.external_id as "externalId",
       o.attempts, o.max_attempts as "maxAttempts", o.traceparent, ${RECIPIENT_RECORD} as "recipientRecord", o.test, o.status, ${iso('o.sent_at')} as "sentAt", o.attempt_id as "attemptId", o.erased_at is not null as erased,
       not o.test and coalesce(o.sent_at, now()) >= coalesce(c.reputation_since, 'infinity') as counts,
       o.status = 'UNKNOWN' or (o.status in ('PENDING', 'RETRY_SCHEDULED', 'PROCESSING') and o.started_at is not null and exists (
         select from email_events e where e.outbox_id = o.outbox_id and e.outbox_id between $2 and $3 and e.type = 'UNKNOWN'
           and e.metadata ->> 'attemptId' = o.attempt_id::text)) as "wasUnknown",
       case when o.status in ('PENDING', 'RETRY_SCHEDULED', 'PROCESSING', 'UNKNOWN') then array(
         select e.metadata ->> 'attemptId' from email_events e where e.outbox_id = o.outbox_id and e.outbox_id between $2 and $3 and e.type = 'REJECTED'
           and e.metadata ? 'attemptId') else '{}' end as "refusedAttempts",
       array(select e.type || ' ' || (e.metadata ->> 'recipientHash') from email_events e where e.outbox_id = o.outbox_id
         and e.outbox_id between $2 and $3 and e.metadata ? 'recipientHash' and ((e.type = 'COMPLAINT' and e.metadata ->> 'feedbackType' is distinct from 'not-spam')
           or (e.type = 'BOUNCE' and e.metadata ->> 'bounceType' = 'Permanent'))) as "countedBefore",
       (select coalesce(json_agg(json_build_object('ordinal', r.ordinal, 'kind', r.kind, 'address', lower(r.address), 'status', r.status,
         'suppressed', r.suppressed) order by r.ordinal), '[]')
         from email_recipients r where r.outbox_id = o.outbox_id and r.outbox_id between $2 and $3) as recipients
     from email_outbox o left join companies c using (company_id) where o.outbox_id = any($1) and o.outbox_id between $2 and $3`,
    [mine, ...rangeOf(outboxIds)],
  )
  const emails = new Map(rows.map(row => [row.outboxId, row]))
  const missing = outboxIds.filter(id => !emails.has(id))
  return { emails, busy: missing.length > 0 ? await existing(tx, missing) : new Set() }
}

async function existing(tx: Queryable, outboxIds: string[]): Promise<Set<string>> {
  const rows = await run<{ outboxId: string }>(
    tx,
    'find-busy-emails',
    `select outbox_id from email_outbox where outbox_id = any($1) and outbox_id between $2 and $3`,
    [outboxIds, ...rangeOf(outboxIds)],
  )
  return new Set(rows.map(row => row.outboxId))
}

/** How far back a report without tags is matched by its message id. */
const SEARCH_DAYS = 45

/** Which e-mails became these messages. */
export async function findByMessage(tx: Queryable, messageIds: string[]): Promise<Map<string, string>> {
  if (messageIds.length === 0) return new Map()
  const rows = await sql<{ messageId: string; outboxId: string }>(tx, 'find-by-message')`
    select metadata ->> 'messageId' as message_id, outbox_id from email_events
     where type = 'SENT' and metadata ->> 'messageId' = any(${messageIds}) and outbox_id >= uuid_v7_floor(now() - ${SEARCH_DAYS} * interval '1 day')`
  return new Map(rows.map(row => [row.messageId, row.outboxId]))
}

export type DecidedEmail = { email: FeedbackEmail; decision: FeedbackDecision }

/**
 * Writes states and times, and ends unknown sends and dead letters that an event has resolved. The rows are locked by this
 * transaction. Answers which events were new.
 */
export async function putFeedback(tx: Queryable, decided: DecidedEmail[]): Promise<Set<string>> {
  if (decided.length === 0) return new Set()
  await putRecipients(tx, decided)
  await putEmails(tx, decided)
  const fresh = await putEvents(tx, decided)
  await putRejected(tx, decided)
  await removeUnknownAndDeadLetter(tx, decided)
  return fresh
}

async function putRecipients(tx: Queryable, decided: DecidedEmail[]): Promise<void> {
  const rows = decided.flatMap(({ email, decision }) =>
    decision.recipients.map(({ ordinal, status }) => ({ o: email.outboxId, n: ordinal, s: status })),
  )
  if (rows.length === 0) return
  await run(
    tx,
    'put-feedback-recipients',
    `update email_recipients r set status = i.s from json_to_recordset($1::json) as i(o uuid, n smallint, s text)
     where r.outbox_id = i.o and r.ordinal = i.n and r.outbox_id between $2 and $3`,
    [JSON.stringify(rows), ...rangeOf(rows.map(row => row.o))],
  )
}

async function putEmails(tx: Queryable, decided: DecidedEmail[]): Promise<void> {
  const rows = decided.map(({ email, decision }) => ({
    o: email.outboxId,
    moved: decision.moved,
    s: decision.status,
    m: decision.messageId,
    sent: decision.sentAt,
    delivered: decision.deliveredAt,
    bounced: decision.bouncedAt,
    bounce: decision.bounceType,
    complained: decision.complainedAt,
    code: decision.rejected?.code,
    reason: email.erased ? decision.rejected?.code : decision.rejected?.reason,
    at: decision.rejected?.at,
  }))
  await run(
    tx,
    'put-feedback-emails',
    `update email_outbox o set status = i.s,
       lease_id = case when i.moved then null else o.lease_id end,
       started_at = case when i.moved then null else o.started_at end,
       next_attempt_at = case when i.moved then null else o.next_attempt_at end,
       message_id = coalesce(o.message_id, i.m), sent_at = coalesce(o.sent_at, least(i.sent, now())),
       delivered_at = least(o.delivered_at, i.delivered), bounced_at = least(o.bounced_at, i.bounced),
       bounce_type = case when o.bounce_type = 'Permanent' or (o.bounce_type = 'Transient' and i.bounce is distinct from 'Permanent')
         then o.bounce_type else coalesce(i.bounce, o.bounce_type) end,
       complained_at = least(o.complained_at, i.complained),
       failed_at = case when not i.moved then o.failed_at when i.s = 'REJECTED' then least(i.at, now()) end,
       error_code = case when i.moved and i.s = 'REJECTED' then i.code else o.error_code end,
       provider_code = case when i.moved and i.s = 'REJECTED' then null else o.provider_code end,
       error_category = case when i.moved and i.s = 'REJECTED' then 'PERMANENT_ERROR' else o.error_category end,
       failure_reason = case when i.moved and i.s = 'REJECTED' then i.reason else o.failure_reason end
     from json_to_recordset($1::json) as i(o uuid, moved boolean, s text, m text, sent timestamptz, delivered timestamptz,
       bounced timestamptz, bounce text, complained timestamptz, code text, reason text, at timestamptz)
     -- What was reported before is not written again.
     where o.outbox_id = i.o and o.outbox_id between $2 and $3 and (i.moved or o.sent_at is null or least(o.delivered_at, i.delivered) is distinct from o.delivered_at
       or least(o.bounced_at, i.bounced) is distinct from o.bounced_at or i.bounce is distinct from o.bounce_type
       or least(o.complained_at, i.complained) is distinct from o.complained_at)`,
    [JSON.stringify(rows), ...rangeOf(rows.map(row => row.o))],
  )
}

/** What companies may ask to hear of. */
const WEBHOOK_OF: Partial<Record<string, string>> = {
  SENT: 'email.sent',
  DELIVERED: 'email.delivered',
  BOUNCE: 'email.bounced',
  COMPLAINT: 'email.complained',
}

/** That it failed, once, and only when this is the cause. */
function webhookOf(type: string, { moved, status }: FeedbackDecision): string | undefined {
  return type === 'REJECTED' && moved && status === 'REJECTED' ? 'email.failed' : WEBHOOK_OF[type]
}

/** An event that is there already is the same fact, reported again; SENT is one fact, whoever reports it. */
async function putEvents(tx: Queryable, decided: DecidedEmail[]): Promise<Set<string>> {
  const rows = decided.flatMap(({ email, decision }) =>
    decision.events.map(({ id, type, metadata }, place) => ({
      o: email.outboxId,
      c: email.companyId,
      test: email.test,
      e: id,
      t: type,
      w: webhookOf(type, decision),
      x: metadata,
      erased: email.erased || undefined,
      n: place,
    })),
  )
  if (rows.length === 0) return new Set()
  const written = await run<{ eventId: string }>(
    tx,
    'put-feedback-events',
    `with input as materialized (
       select * from json_to_recordset($1::json) as i(o uuid, c uuid, test boolean, e uuid, t text, w text, x jsonb, erased boolean, n int)
     ), written as (
       -- A microsecond apart: events are read in the order of their times.
       insert into email_events (outbox_id, event_id, company_id, type, created_at, metadata)
       select o, e, c, t, now() + n * interval '1 microsecond', case when erased then without_personal_data(x) else x end from input
       where t <> 'SENT' or not exists (
         select from email_events known where known.outbox_id = o and known.outbox_id between $2 and $3 and known.type = 'SENT') order by o, n
       on conflict do nothing returning outbox_id, event_id
     ), ${enqueueWebhooks(`select i.c as company_id, i.test, i.o as outbox_id, i.e as event_id, i.w as type
       from input i join written w on w.outbox_id = i.o and w.event_id = i.e where i.w is not null`)}
     select event_id from written`,
    [JSON.stringify(rows), ...rangeOf(rows.map(row => row.o))],
  )
  return new Set(written.map(row => row.eventId))
}

/** A provider that rejects a message after it accepted it: a dead letter, as when it refuses at once. */
async function putRejected(tx: Queryable, decided: DecidedEmail[]): Promise<void> {
  const ids = decided
    .filter(({ decision }) => decision.moved && decision.status === 'REJECTED')
    .map(({ email }) => email.outboxId)
  if (ids.length === 0) return
  await sql(tx, 'put-feedback-rejected')`
    with dead as (
       insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, last_failure_at,
         retry_history, original_data, enqueued_at)
       select o.outbox_id, o.company_id, greatest(1, o.attempts), o.failure_reason, o.error_code, o.failed_at,
         jsonb_build_array(jsonb_build_object('attempt', greatest(1, o.attempts), 'timestamp', o.failed_at, 'error', o.error_code,
           'message', o.failure_reason)),
         ${originalData('o')}, o.created_at
       from email_outbox o where o.outbox_id = any(${ids})
       on conflict (outbox_id) do nothing
       returning outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code
     )
     insert into email_events (outbox_id, company_id, type, created_at, metadata)
     select outbox_id, company_id, 'DLQ_MOVED', now() + interval '1 millisecond',
       jsonb_build_object('attempts', failed_attempts, 'lastError', last_failure_reason, 'lastErrorCode', last_failure_code)
     from dead`
}

/** Evidence resolves an unknown send, and removes a dead letter. */
async function removeUnknownAndDeadLetter(tx: Queryable, decided: DecidedEmail[]): Promise<void> {
  const known = decided.filter(({ decision }) => decision.moved).map(({ email }) => email.outboxId)
  if (known.length === 0) return
  const notDead = decided
    .filter(({ decision }) => decision.moved && decision.status !== 'REJECTED')
    .map(({ email }) => email.outboxId)
  await sql(tx, 'remove-unknown-and-dead-letter')`
    with removed as (delete from dead_letters where outbox_id = any(${notDead}))
     delete from unknown_sends where outbox_id = any(${known})`
}
