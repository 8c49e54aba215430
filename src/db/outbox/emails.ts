import type { Owner } from '../../contracts/api-key.ts'
import type { EmailEventView, EmailSummary } from '../../contracts/email-view.ts'
import { iso, type Queryable, run } from '../query.ts'

const addressesOf = (kind: string) => `coalesce((select json_agg(coalesce(r.address, '(erased)') order by r.ordinal)
  from email_recipients r where r.outbox_id = o.outbox_id and r.kind = '${kind}' and not r.suppressed), '[]')`

/** Of `email_outbox o`. */
export const SUMMARY = `
  o.outbox_id as "outboxId", o.company_id as "companyId", o.request_id as "requestId", o.external_id as "externalId", o.status,
  o.from_address as "from", ${addressesOf('to')} as "to", ${addressesOf('cc')} as cc, ${addressesOf('bcc')} as bcc, o.subject,
  o.template_type as "templateType", o.tags, o.attempts, o.max_attempts as "maxAttempts", o.provider, o.message_id as "messageId",
  case when o.error_code is null then null else json_build_object(
    'code', o.error_code, 'providerCode', o.provider_code, 'category', o.error_category, 'message', coalesce(o.failure_reason, o.error_code)) end as "lastError",
  ${iso('o.created_at')} as "createdAt", ${iso('o.scheduled_at')} as "scheduledAt", ${iso('o.next_attempt_at')} as "nextAttemptAt",
  ${iso('o.sent_at')} as "sentAt", ${iso('o.delivered_at')} as "deliveredAt", ${iso('o.failed_at')} as "failedAt",
  ${iso('o.expires_at')} as "expiresAt", o.duration_ms as "durationMs", o.resend_of as "resendOf"`

/** How many recipients of `email_outbox o` bounced or were refused. */
export const BOUNCED_COUNT = `(select count(*)::int from email_recipients r
  where r.outbox_id = o.outbox_id and r.status in ('BOUNCED', 'REJECTED') and not r.suppressed)`

/** owner null: any (the command line). */
export async function findEmail(db: Queryable, outboxId: string, owner: Owner | null): Promise<EmailSummary | null> {
  const [row] = await run<EmailSummary>(
    db,
    'find-email',
    `select ${SUMMARY} from email_outbox o where o.outbox_id = $1 and ($2::uuid is null or (o.company_id = $2 and o.test = $3))`,
    [outboxId, owner?.companyId ?? null, owner?.test ?? null],
  )
  return row ?? null
}

export async function listEvents(db: Queryable, outboxId: string): Promise<EmailEventView[]> {
  return run<EmailEventView>(
    db,
    'list-events',
    `select type, ${iso('created_at')} as "createdAt", metadata from email_events where outbox_id = $1 order by email_events.created_at, event_id`,
    [outboxId],
  )
}

export type EmailFilter = {
  /** companyId null: any company (the command line). */
  owner: { companyId: string | null; test: boolean }
  status: string | null
  recipient: { key: string; address: string } | null
  tag: string | null
  externalId: string | null
  template: string | null
  createdAfter: string | null
  createdBefore: string | null
  /** Only older than this id. */
  before: string | null
  /** Those next to this id, of the newer ones. */
  newerThan?: string | null
  limit: number
}

/** The id is made a moment before the row, by another clock. */
const ID_SLACK = `interval '1 hour'`

/** Newest first. The time filters bound the time-ordered id as well, so they prune partitions. */
export async function listEmails(db: Queryable, filter: EmailFilter): Promise<EmailSummary[]> {
  const { text, values } = listQuery(filter)
  const { rows } = await db.query<EmailSummary>(text, values)
  return filter.newerThan ? rows.reverse() : rows
}

function listQuery(filter: EmailFilter): { text: string; values: unknown[] } {
  const values: unknown[] = []
  // Written out, so that the index of test e-mails serves it.
  const where = [filter.owner.test ? 'o.test' : 'not o.test']
  const add = (condition: (placeholder: string) => string, value: unknown) => {
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  if (filter.owner.companyId) add(p => `o.company_id = ${p}`, filter.owner.companyId)
  if (filter.status) add(p => `o.status = ${p}`, filter.status)
  if (filter.tag) add(p => `o.tags @> array[${p}::text]`, filter.tag)
  if (filter.externalId) add(p => `o.external_id = ${p}`, filter.externalId)
  if (filter.template) add(p => `o.template_type = ${p}`, filter.template)
  if (filter.createdAfter)
    add(
      p => `o.created_at >= ${p}::timestamptz and o.outbox_id >= uuid_v7_floor(${p}::timestamptz - ${ID_SLACK})`,
      filter.createdAfter,
    )
  if (filter.createdBefore)
    add(
      p => `o.created_at < ${p}::timestamptz and o.outbox_id < uuid_v7_floor(${p}::timestamptz + ${ID_SLACK})`,
      filter.createdBefore,
    )
  if (filter.before) add(p => `o.outbox_id < ${p}::uuid`, filter.before)
  if (filter.newerThan) add(p => `o.outbox_id > ${p}::uuid`, filter.newerThan)
  if (filter.recipient) {
    add(
      p => `o.outbox_id in (select r.outbox_id from email_recipients r where r.address_key = ${p}::bigint`,
      filter.recipient.key,
    )
    values.push(filter.recipient.address)
    where[where.length - 1] += ` and lower(r.address) = $${values.length})`
  }
  values.push(filter.limit)
  const order = filter.newerThan ? 'asc' : 'desc'
  const text = `select ${SUMMARY} from email_outbox o where ${where.join(' and ')} order by o.outbox_id ${order} limit $${values.length}`
  return { text, values }
}
