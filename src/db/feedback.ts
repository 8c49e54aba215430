import type { EmailEventType, EmailStatus } from '../contracts/states.ts'
import { type Queryable, run } from './pool.ts'

export type Feedback = {
  outboxId: string
  messageId: string
  status: EmailStatus
  /** Statuses that this one outranks; any other stays as it is, and the event is written all the same. */
  outranks: EmailStatus[]
  /** Statuses in which it was not known to have left: what became of any recipient shows that it did. */
  unsent: EmailStatus[]
  type: EmailEventType
  recipient: string
  metadata: Record<string, unknown>
}

/**
 * What became of one recipient; the e-mail's own status is that of its `to`. The e-mail's row is locked first, as
 * settling does. Evidence ends the doubt about an unknown send, also while the provider is being asked about it, and takes a
 * dead letter out of its queue.
 */
export async function putFeedback(db: Queryable, feedback: Feedback): Promise<void> {
  await run(
    db,
    'put-feedback',
    `with email as materialized (
       select outbox_id, status, attempt_id, started_at from email_outbox where outbox_id = $1 for update
     ), told as (
       update email_recipients r set status = $2 from email
       where r.outbox_id = $1 and lower(r.address) = $5 and r.status = any($3) returning r.kind
     ), moved as (
       update email_outbox o set status = case when told.to then $2 else 'SENT' end, lease_id = null, started_at = null, next_attempt_at = null, failed_at = null,
         message_id = coalesce(o.message_id, $7), sent_at = coalesce(o.sent_at, now()),
         delivered_at = case when told.to and $2 = 'DELIVERED' then now() else o.delivered_at end,
         bounced_at = case when told.to and $2 = 'BOUNCED' then now() else o.bounced_at end,
         bounce_type = case when told.to and $2 = 'BOUNCED' then $6::jsonb ->> 'bounceType' else o.bounce_type end,
         complained_at = case when told.to and $2 = 'COMPLAINED' then now() else o.complained_at end
       from email, (select bool_or(kind = 'to') as to from told having count(*) > 0) told
       where o.outbox_id = $1 and email.status = any(case when told.to then $3 else $8::text[] end)
       returning email.status as before, email.attempt_id, email.status = 'UNKNOWN' or (email.started_at is not null and exists (
         select from email_events e where e.outbox_id = $1 and e.type = 'UNKNOWN' and e.metadata ->> 'attemptId' = email.attempt_id::text
       )) as doubted
     ), resolved as (
       insert into email_events (outbox_id, event_id, type, metadata)
       select $1, uuid_v7_now(1), 'RESOLVED', jsonb_build_object('by', 'provider-event', 'from', before, 'event', $4::text, 'attemptId', attempt_id)
       from moved where doubted or before in ('FAILED', 'DLQ', 'EXPIRED') returning 1
     ), counted as (
       insert into counters as c (name, label, value) select 'unknown_resolved', 'provider-event', 1 from moved where doubted
       on conflict (name, label) do update set value = c.value + 1
     )
     insert into email_events (outbox_id, event_id, type, metadata) select $1, uuid_v7_now(2), $4, $6 from email`,
    [
      feedback.outboxId,
      feedback.status,
      feedback.outranks,
      feedback.type,
      feedback.recipient,
      JSON.stringify(feedback.metadata),
      feedback.messageId,
      feedback.unsent,
    ],
  )
  await forgetDoubtAndDeath(db, feedback.outboxId)
}

/**
 * After the report, in a statement of its own: a report that waited for a settlement cannot see what that one wrote beside
 * the e-mail.
 */
async function forgetDoubtAndDeath(db: Queryable, outboxId: string): Promise<void> {
  await run(
    db,
    'forget-doubt-and-death',
    `with ended as materialized (
       select outbox_id from email_outbox
       where outbox_id = $1 and status in ('SENT', 'DELIVERED', 'BOUNCED', 'COMPLAINED')
     ), undead as (
       delete from dead_letters where outbox_id in (select outbox_id from ended)
     )
     delete from unknown_sends where outbox_id in (select outbox_id from ended)`,
    [outboxId],
  )
}

/** The provider's event overtook its answer: the state stands, what only the answer knows is added. */
export async function addLateAnswer(
  db: Queryable,
  late: { outboxId: string; attemptId: string; messageId: string; eventId: string; metadata: object },
): Promise<boolean> {
  const rows = await run(
    db,
    'add-late-answer',
    `with told as (
       update email_outbox set message_id = coalesce(message_id, $3), sent_at = coalesce(sent_at, now())
       where outbox_id = $1 and attempt_id = $2 and status in ('SENT', 'DELIVERED', 'BOUNCED', 'COMPLAINED')
       returning outbox_id
     )
     insert into email_events (outbox_id, event_id, type, metadata) select outbox_id, $4, 'SENT', $5 from told
     where not exists (select from email_events e where e.outbox_id = $1 and e.type = 'SENT')
     returning outbox_id`,
    [late.outboxId, late.attemptId, late.messageId, late.eventId, JSON.stringify(late.metadata)],
  )
  return rows.length > 0
}
