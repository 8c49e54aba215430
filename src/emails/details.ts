import { HAS_PAYLOAD, MAY_BE_REPLAYED } from '../outbox/dead-letters.ts'
import type { EmailEventView } from '../outbox/email-view.ts'
import { isFinal } from '../outbox/states.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { iso, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { hashEmail } from '../platform/text/hashing.ts'
import { findBlocking } from '../suppression/reads.ts'
import { BOUNCED_COUNT, findLocation, listEvents, listResends, SUMMARY } from './emails.ts'
import { explainInCodes } from './explain.ts'
import { explainEmail } from './explain-english.ts'
import { namedEntries } from './list.ts'
import { type AdminEmail, type AdminEmailSummary, attemptsOf, type SuppressionOfEmail } from './view.ts'

/** null: there is no such e-mail. */
export async function readDetails(db: Database, outboxId: string, providers: string[]): Promise<AdminEmail | null> {
  const email = await findEmailDetails(db.pool, outboxId)
  if (!email) return null
  const [events, location, recipients, webhooks, resentAs] = await Promise.all([
    listEvents(db.pool, outboxId),
    findLocation(db.pool, outboxId, providers),
    listEmailRecipients(db.pool, outboxId),
    listEmailDeliveries(db.pool, outboxId),
    listResends(db.pool, outboxId),
  ])
  const hashes = recipients.map(({ address }) => address && hashEmail(address))
  const { mayHaveLeft, replayable, ...shown } = email
  return {
    ...shown,
    explanation: { ...explainEmail(email, location), ...explainInCodes(email, location) },
    events: events.map(event => ({ ...event, recipient: recipientOf(event, hashes) })),
    attemptList: attemptsOf(events),
    recipients: await Promise.all(
      recipients.map(async one => ({ ...one, suppression: await blockingEntry(db, one, email) })),
    ),
    webhooks,
    contentGone: location.contentGone,
    resentAs,
    may: { ...mayOf(email, location.contentGone, mayHaveLeft), replay: replayable },
  }
}

const REPORTED: EmailEventView['type'][] = ['DELIVERED', 'BOUNCE', 'COMPLAINT', 'REJECTED']

function recipientOf({ type, metadata }: EmailEventView, hashes: (string | null)[]): number | null {
  const place = REPORTED.includes(type) ? hashes.indexOf(String(metadata.recipientHash)) : -1
  return place < 0 ? null : place
}

function mayOf({ status, attempts }: EmailDetails, contentGone: boolean, mayHaveLeft: boolean) {
  return {
    resend: isFinal(status) && !contentGone,
    cancel: (status === 'PENDING' || status === 'RETRY_SCHEDULED') && !mayHaveLeft,
    reschedule: status === 'PENDING' && attempts === 0,
  }
}

/** Test e-mails ignore the suppression list. */
async function blockingEntry(
  db: Database,
  { address }: EmailRecipient,
  { companyId, test }: EmailDetails,
): Promise<SuppressionOfEmail | null> {
  const entry = address === null || test ? null : await findBlocking(db.pool, hashEmail(address), companyId)
  return entry && (await namedEntries(db, [entry]))[0]!
}

type EmailDetails = AdminEmailSummary &
  Pick<AdminEmail, 'priority' | 'retryPolicy' | 'onUnknown' | 'attachments'> & {
    /** The message may have left with its last attempt. */
    mayHaveLeft: boolean
    /** By its id: it is dead or has expired, and its content is there. */
    replayable: boolean
  }

async function findEmailDetails(db: Queryable, outboxId: string): Promise<EmailDetails | null> {
  const [row] = await sql<EmailDetails>(db, 'find-email-details')`
    select ${SUMMARY}, o.test, coalesce(c.name, o.company_id::text) as "companyName", ${BOUNCED_COUNT} as bounced, o.priority, o.retry_policy,
       o.on_unknown, o.started_at is not null as "mayHaveLeft",
       (select count(*)::int from email_attachments a where a.outbox_id = o.outbox_id) as attachments,
       coalesce(${MAY_BE_REPLAYED} and ${HAS_PAYLOAD}, false) as replayable
     from email_outbox o left join companies c on c.company_id = o.company_id left join dead_letters d on d.outbox_id = o.outbox_id
     where o.outbox_id = ${outboxId}`
  return row ?? null
}

type EmailRecipient = Omit<AdminEmail['recipients'][number], 'suppression'>

async function listEmailRecipients(db: Queryable, outboxId: string): Promise<EmailRecipient[]> {
  return sql<EmailRecipient>(db, 'list-email-recipients')`
    select kind, address, display_name as name, status, suppressed from email_recipients where outbox_id = ${outboxId} order by ordinal`
}

/** Far more than an e-mail has events and its company endpoints. */
const MAX_DELIVERIES = 200

async function listEmailDeliveries(db: Queryable, outboxId: string): Promise<AdminEmail['webhooks']> {
  return sql<AdminEmail['webhooks'][number]>(db, 'list-email-deliveries')`
    select d.endpoint_id as "webhookId", d.delivery_id, w.url, d.type, d.status, d.attempts,
       ${iso('d.created_at')} as "createdAt", ${iso('d.last_attempt_at')} as "lastAttemptAt", ${iso('d.due_at')} as "nextAttemptAt",
       d.last_status, d.last_error, d.last_duration_ms
     from webhook_deliveries d join webhook_endpoints w using (endpoint_id)
     where d.outbox_id = ${outboxId} order by d.sequence limit ${literal(MAX_DELIVERIES)}`
}
