import type { ErasedCounts } from '../../contracts/person.ts'
import { FINAL_STATUSES } from '../../contracts/states.ts'
import { type Queryable, run } from '../query.ts'
import type { PersonEmail } from './find.ts'

/** Nothing is sent any more. SENT is among them: an event that follows is stored without personal data. */
const ENDED = [...FINAL_STATUSES, 'SENT'] as const
const list = (statuses: readonly string[]) => statuses.map(status => `'${status}'`).join(', ')

export type EmailToErase = PersonEmail & {
  /** erase: it has ended. cancel: it waits for this person alone. take-off: it waits for other recipients, too. */
  next: 'erase' | 'cancel' | 'take-off'
}

/** Locked until the transaction ends. What is being sent, or what somebody else holds, is left for the next call. */
export async function takeEmailsToErase(tx: Queryable, erasureId: string, limit: number): Promise<EmailToErase[]> {
  return run<EmailToErase>(
    tx,
    'take-emails-to-erase',
    `select e.outbox_id as "outboxId", e.ordinals, case when o.status in (${list(ENDED)}) then 'erase'
       when exists (select from email_recipients r where r.outbox_id = e.outbox_id and r.kind = 'to' and not r.suppressed
         and r.ordinal <> all(e.ordinals)) then 'take-off' else 'cancel' end as next
     from person_erasure_emails e join email_outbox o on o.outbox_id = e.outbox_id
     where e.erasure_id = $1 and (o.status in (${list(ENDED)})
       or (o.status in ('PENDING', 'RETRY_SCHEDULED') and o.started_at is null and not e.taken_off))
     order by e.outbox_id limit $2 for update of o skip locked`,
    [erasureId, limit],
  )
}

/**
 * Locks the webhook deliveries of these e-mails until the transaction ends, and returns the e-mails of those that somebody else holds:
 * the outcome that is being written there may keep a body with the address, which this transaction could not see.
 */
export async function lockDeliveries(tx: Queryable, outboxIds: string[]): Promise<Set<string>> {
  if (outboxIds.length === 0) return new Set()
  const rows = await run<{ outboxId: string }>(
    tx,
    'lock-deliveries-of-emails',
    `with locked as materialized (
       select d.endpoint_id, d.delivery_id from webhook_deliveries d where d.outbox_id = any($1::uuid[]) for update skip locked)
     select distinct d.outbox_id as "outboxId" from webhook_deliveries d
     where d.outbox_id = any($1::uuid[]) and (d.endpoint_id, d.delivery_id) not in (select endpoint_id, delivery_id from locked)`,
    [outboxIds],
  )
  return new Set(rows.map(row => row.outboxId))
}

/** As many as RETENTION_IDEMPOTENCY_DAYS may be. */
const MAX_IDEMPOTENCY_DAYS = 30

/** How long evidence about an unknown send is still waited for. */
const EVIDENCE = `interval '2 minutes'`

/** Unknown sends must not be sent again to this person: they expire now, and are given up when no evidence comes. */
export async function expireUnknownSends(tx: Queryable, erasureId: string): Promise<void> {
  await run(
    tx,
    'expire-unknown-sends-of-person',
    `with expired as (
       update email_outbox o set expires_at = now() from person_erasure_emails e
       where e.erasure_id = $1 and o.outbox_id = e.outbox_id and o.status = 'UNKNOWN' and o.expires_at > now() returning o.outbox_id)
     update unknown_sends u set resolve_at = least(u.resolve_at, now() + ${EVIDENCE}) from expired where u.outbox_id = expired.outbox_id`,
    [erasureId],
  )
}

/** The e-mails still go to their other recipients. Their content is erased when they have ended. */
export async function takeOff(tx: Queryable, erasureId: string, emails: PersonEmail[]): Promise<Partial<ErasedCounts>> {
  if (emails.length === 0) return {}
  const [row] = await run<{ recipients: number }>(
    tx,
    'take-off-emails',
    `with input as materialized (
       select * from json_to_recordset($2::json) as x("outboxId" uuid, ordinals smallint[])
     ), erased as (
       update email_recipients r set address = null, display_name = null, address_key = null, suppressed = true, status = 'REJECTED'
       from input i where r.outbox_id = i."outboxId" and r.ordinal = any(i.ordinals) and r.address is not null returning 1
     ), marked as (
       update person_erasure_emails e set taken_off = true from input i where e.erasure_id = $1 and e.outbox_id = i."outboxId"
     )
     select count(*)::int as recipients from erased`,
    [erasureId, JSON.stringify(emails)],
  )
  return row!
}

/**
 * Everything that e-mails which have ended hold about a person. Other recipients keep their addresses; the content is shared, so it
 * goes. An idempotency key was written by the statement that accepted the e-mail, so its expiry is whole days after created_at.
 */
const ERASE = `
with input as materialized (
  select * from json_to_recordset($2::json) as x("outboxId" uuid, ordinals smallint[])
), ids as materialized (
  select array_agg("outboxId") as all from input
), emails as (
  update email_outbox o set subject = null, external_id = null, recipient_id = null, user_id = null, tags = '{}', erased_at = now(),
    failure_reason = case when o.failure_reason is not null then coalesce(o.error_code, 'ERASED') end
  where o.outbox_id = any((select ids.all from ids)::uuid[]) returning o.outbox_id, o.company_id, o.created_at
), recipients as (
  update email_recipients r set address = null, display_name = null, address_key = null
  from input i where r.outbox_id = i."outboxId" and r.ordinal = any(i.ordinals) and r.address is not null returning 1
), contents as (
  delete from email_content c where c.outbox_id = any((select ids.all from ids)::uuid[]) returning 1
), attachments as (
  delete from email_attachments f where f.outbox_id = any((select ids.all from ids)::uuid[]) returning 1
), events as (
  update email_events v set metadata = without_personal_data(v.metadata)
  where v.outbox_id = any((select ids.all from ids)::uuid[]) and v.metadata <> without_personal_data(v.metadata) returning 1
), captured as (
  delete from capture_inbox c where c.outbox_id = any((select ids.all from ids)::uuid[]) returning 1
), webhooks as (
  update webhook_deliveries d set body = null, data = null, last_answer = null
  where d.outbox_id = any((select ids.all from ids)::uuid[]) and num_nonnulls(d.body, d.data, d.last_answer) > 0 returning 1
), dead as (
  update dead_letters d set original_data = null, last_failure_reason = coalesce(d.last_failure_code, 'ERASED'),
    retry_history = coalesce((select jsonb_agg(one - 'message') from jsonb_array_elements(d.retry_history) as one), '[]')
  where d.outbox_id = any((select ids.all from ids)::uuid[]) returning 1
), answers as (
  -- The key stays, so that a repeated request is still answered and not sent again.
  -- Which members were refused, and by which code, stays: only the messages may quote what was sent.
  update idempotency_keys k set answer = k.answer || jsonb_build_object(
    'results', (select jsonb_agg(one || '{"suppressed": []}') from jsonb_array_elements(k.answer -> 'results') as one),
    'refusedBefore', (select coalesce(jsonb_agg(one || '{"message": "(erased)"}'), '[]') from jsonb_array_elements(k.answer -> 'refusedBefore') as one))
  where (k.company_id, k.key) in (
    select found.company_id, found.key from emails e join idempotency_keys found on found.company_id = e.company_id
      and found.expires_at = any(array(select e.created_at + n * interval '24 hours' from generate_series(1, ${MAX_IDEMPOTENCY_DAYS}) as n))
      and found.answer -> 'results' @> jsonb_build_array(jsonb_build_object('outboxId', e.outbox_id))) returning 1
), listed as (
  delete from person_erasure_emails e where e.erasure_id = $1 and e.outbox_id = any((select ids.all from ids)::uuid[])
)
select (select count(*) from emails)::int as emails, (select count(*) from recipients)::int as recipients,
  (select count(*) from contents)::int as contents, (select count(*) from attachments)::int as attachments,
  (select count(*) from events)::int as events, (select count(*) from captured)::int as captured,
  (select count(*) from webhooks)::int as "webhookDeliveries", (select count(*) from dead)::int as "deadLetters",
  (select count(*) from answers)::int as "idempotencyAnswers"`

export async function eraseEmails(
  tx: Queryable,
  erasureId: string,
  emails: PersonEmail[],
): Promise<Partial<ErasedCounts>> {
  if (emails.length === 0) return {}
  const [row] = await run<Partial<ErasedCounts>>(tx, 'erase-emails', ERASE, [erasureId, JSON.stringify(emails)])
  return row!
}

/** An event that is younger is likely to be processed now, which deletes its content. */
const YOUNG = `interval '1 minute'`

/** Stored provider events that quote one of the addresses and found no e-mail. `waiting`: young ones, to be looked at again. */
export async function eraseProviderEvents(
  tx: Queryable,
  addresses: string[],
): Promise<{ erased: number; waiting: number }> {
  const [row] = await run<{ erased: number; waiting: number }>(
    tx,
    'erase-provider-events',
    `with quoting as materialized (
       select e.event_id, e.state = 'waiting' and e.received_at > now() - ${YOUNG} as young from provider_events e
       where e.state in ('unmatched', 'unreadable', 'waiting') and e.payload is not null
         and exists (select from unnest($1::text[]) as address where position(address in lower(e.payload)) > 0)
     ), erased as (
       update provider_events e set payload = null, note = 'erased', state = case when e.state = 'waiting' then 'ignored' else e.state end
       from quoting q where e.event_id = q.event_id and not q.young returning 1
     )
     select (select count(*) from erased)::int as erased, (select count(*) from quoting where young)::int as waiting`,
    [addresses],
  )
  return row!
}
