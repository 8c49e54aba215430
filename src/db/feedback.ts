import type { EmailEventType, EmailStatus } from '../contracts/states.ts'
import { type Queryable, run } from './pool.ts'

export type Feedback = {
  outboxId: string
  status: EmailStatus
  /** Statuses that this one outranks; any other stays as it is, and the event is written all the same. */
  outranks: EmailStatus[]
  type: EmailEventType
  recipient: string
  metadata: Record<string, unknown>
}

/** What became of one recipient; the e-mail's own status is that of its `to`. */
export async function putFeedback(db: Queryable, feedback: Feedback): Promise<void> {
  await run(
    db,
    'put-feedback',
    `with told as (
       update email_recipients set status = $2
       where outbox_id = $1 and lower(address) = $5 and status = any($3) returning kind
     ), moved as (
       update email_outbox set status = $2, lease_id = null, started_at = null, next_attempt_at = null,
         delivered_at = case when $2 = 'DELIVERED' then now() else delivered_at end,
         bounced_at = case when $2 = 'BOUNCED' then now() else bounced_at end,
         bounce_type = case when $2 = 'BOUNCED' then $6::jsonb ->> 'bounceType' else bounce_type end,
         complained_at = case when $2 = 'COMPLAINED' then now() else complained_at end
       where outbox_id = $1 and status = any($3) and exists (select from told where kind = 'to')
     )
     insert into email_events (outbox_id, event_id, type, metadata) values ($1, uuid_v7_now(), $4, $6)`,
    [
      feedback.outboxId,
      feedback.status,
      feedback.outranks,
      feedback.type,
      feedback.recipient,
      JSON.stringify(feedback.metadata),
    ],
  )
}
