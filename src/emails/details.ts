import { HAS_PAYLOAD, MAY_BE_REPLAYED } from '../outbox/dead-letters.ts'
import { iso, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { BOUNCED_COUNT, SUMMARY } from './emails.ts'
import type { AdminEmail, AdminEmailSummary } from './view.ts'

export type EmailDetails = AdminEmailSummary &
  Pick<AdminEmail, 'priority' | 'retryPolicy' | 'onUnknown' | 'attachments'> & {
    /** The message may have left with its last attempt. */
    mayHaveLeft: boolean
    /** By its id: it is dead or has expired, and its content is there. */
    replayable: boolean
  }

export async function findEmailDetails(db: Queryable, outboxId: string): Promise<EmailDetails | null> {
  const [row] = await sql<EmailDetails>(db, 'find-email-details')`
    select ${SUMMARY}, o.test, coalesce(c.name, o.company_id::text) as "companyName", ${BOUNCED_COUNT} as bounced, o.priority, o.retry_policy,
       o.on_unknown, o.started_at is not null as "mayHaveLeft",
       (select count(*)::int from email_attachments a where a.outbox_id = o.outbox_id) as attachments,
       coalesce(${MAY_BE_REPLAYED} and ${HAS_PAYLOAD}, false) as replayable
     from email_outbox o left join companies c on c.company_id = o.company_id left join dead_letters d on d.outbox_id = o.outbox_id
     where o.outbox_id = ${outboxId}`
  return row ?? null
}

export type EmailRecipient = Omit<AdminEmail['recipients'][number], 'suppression'>

export async function listEmailRecipients(db: Queryable, outboxId: string): Promise<EmailRecipient[]> {
  return sql<EmailRecipient>(db, 'list-email-recipients')`
    select kind, address, display_name as name, status, suppressed from email_recipients where outbox_id = ${outboxId} order by ordinal`
}

/** Far more than an e-mail has events and its company endpoints. */
const MAX_DELIVERIES = 200

export async function listEmailDeliveries(db: Queryable, outboxId: string): Promise<AdminEmail['webhooks']> {
  return sql<AdminEmail['webhooks'][number]>(db, 'list-email-deliveries')`
    select d.endpoint_id as "webhookId", d.delivery_id, w.url, d.type, d.status, d.attempts,
       ${iso('d.created_at')} as "createdAt", ${iso('d.last_attempt_at')} as "lastAttemptAt", ${iso('d.due_at')} as "nextAttemptAt",
       d.last_status, d.last_error, d.last_duration_ms
     from webhook_deliveries d join webhook_endpoints w using (endpoint_id)
     where d.outbox_id = ${outboxId} order by d.sequence limit ${literal(MAX_DELIVERIES)}`
}
