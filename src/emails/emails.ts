import type { Owner } from '../companies/keys.ts'
import { HAS_CONTENT } from '../outbox/dead-letters.ts'
import type { EmailEventView, EmailSummary } from '../outbox/email-view.ts'
import { fragment, iso, type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'
import { HEARTBEAT_TIMEOUT } from '../settings/workers.ts'
import type { EmailLocation } from './explain.ts'

const addressesOf = (kind: string) => `coalesce((select json_agg(coalesce(r.address, '(erased)') order by r.ordinal)
  from email_recipients r where r.outbox_id = o.outbox_id and r.kind = '${kind}' and not r.suppressed), '[]')`

/** Of `email_outbox o`. */
export const SUMMARY = fragment`
  o.outbox_id, o.company_id, o.request_id, o.external_id, o.status,
  o.from_address as "from", ${addressesOf('to')} as "to", ${addressesOf('cc')} as cc, ${addressesOf('bcc')} as bcc, o.subject,
  o.template_type, o.tags, o.attempts, o.max_attempts, o.provider, o.message_id,
  case when o.error_code is null then null else json_build_object(
    'code', o.error_code, 'providerCode', o.provider_code, 'category', o.error_category, 'message', coalesce(o.failure_reason, o.error_code)) end as "lastError",
  ${iso('o.created_at')} as "createdAt", ${iso('o.scheduled_at')} as "scheduledAt", ${iso('o.next_attempt_at')} as "nextAttemptAt",
  ${iso('o.sent_at')} as "sentAt", ${iso('o.delivered_at')} as "deliveredAt", ${iso('o.failed_at')} as "failedAt",
  ${iso('o.expires_at')} as "expiresAt", o.duration_ms, o.resend_of`

/** How many recipients of `email_outbox o` bounced or were refused. */
export const BOUNCED_COUNT = fragment`(select count(*)::int from email_recipients r
  where r.outbox_id = o.outbox_id and r.status in ('BOUNCED', 'REJECTED') and not r.suppressed)`

/** owner null: any (the command line). */
export async function findEmail(db: Queryable, outboxId: string, owner: Owner | null): Promise<EmailSummary | null> {
  const { companyId = null, test = null } = owner ?? {}
  const [row] = await sql<EmailSummary>(db, 'find-email')`
    select ${SUMMARY} from email_outbox o where o.outbox_id = ${outboxId}
     and (${companyId}::uuid is null or (o.company_id = ${companyId} and o.test = ${test}))`
  return row ?? null
}

export async function listEvents(db: Queryable, outboxId: string): Promise<EmailEventView[]> {
  return sql<EmailEventView>(db, 'list-events')`
    select type, ${iso('created_at')} as "createdAt", metadata from email_events where outbox_id = ${outboxId} order by email_events.created_at, event_id`
}

/** The e-mails that sent this one again, oldest first. */
export async function listResends(db: Queryable, outboxId: string): Promise<string[]> {
  const rows = await sql<{ outboxId: string }>(db, 'list-resends')`
    select outbox_id from email_outbox where resend_of = ${outboxId} order by outbox_id limit 100`
  return rows.map(row => row.outboxId)
}

type EmailFilter = {
  /** companyId null: any company (the command line). */
  owner: { companyId: string | null; test: boolean }
  recipient?: { key: string; address: string } | null
  status?: string | null | undefined
  tag?: string | null | undefined
  externalId?: string | null | undefined
  template?: string | null | undefined
  createdAfter?: string | null | undefined
  createdBefore?: string | null | undefined
  /** Only older than this id. */
  before?: string | null
  /** Those next to this id, of the newer ones. */
  newerThan?: string | null
  limit: number
}

/** The id is made a moment before the row, by another clock. */
const ID_SLACK = `interval '1 hour'`

/** Newest first. The time filters bound the time-ordered id as well, so they prune partitions. */
export async function listEmails(db: Queryable, filter: EmailFilter): Promise<EmailSummary[]> {
  const { text, values } = listQuery(filter)
  const rows = await runUnprepared<EmailSummary>(db, text, values)
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

/** Of an e-mail that was deleted meanwhile. */
const NOWHERE: EmailLocation = {
  ...{ queuePosition: null, inFlight: null, unknown: null, parked: null, contentGone: false, workersAlive: true },
  ...{ throughRedis: false, eventsExpected: true, sentAgain: false, recipients: { bounced: 0, of: 0 } },
}

const isRecorded = (setting: string) =>
  `exists (select from gateway_processes where seen_at > now() - interval '15 seconds' and settings ? '${setting}')`

/** By what running processes have recorded, and what has come before. */
const EVENTS_EXPECTED = fragment`case split_part(coalesce((select u.provider from unknown_sends u where u.outbox_id = o.outbox_id), o.provider, ''), ':', 1)
  when 'smtp' then false when 'capture' then false
  when 'ses' then ${isRecorded('SNS_TOPIC_ARNS')} or exists (select from sns_topics) or exists (select from provider_events where provider = 'ses')
  when 'resend' then ${isRecorded('RESEND_WEBHOOK_SECRET')} or exists (select from provider_events where provider = 'resend')
  else true end`

/**
 * What the e-mail's own row does not tell: how many are ready before it, which lease it is under, what it waits for. Counting stops at a
 * thousand: "more than 1000" is an answer too, and costs no more. `providers`: those in use.
 */
export async function findLocation(db: Queryable, outboxId: string, providers: string[]): Promise<EmailLocation> {
  const [row] = await sql<EmailLocation>(db, 'find-location')`
    with recursive ready as (
       (select company_id from email_ready order by company_id limit 1)
       union all
       select (select n.company_id from email_ready n where n.company_id > ready.company_id order by n.company_id limit 1)
       from ready where ready.company_id is not null
     )
     select (
       select json_build_object('paused', c.paused_at is not null, 'pauseReason', c.pause_reason,
         'companies', (select count(company_id) from ready),
         'ahead', (select count(*) from (select from email_ready a where a.company_id = r.company_id
           and (a.priority, a.outbox_id) < (r.priority, r.outbox_id) limit 1001) t))
       from email_ready r join companies c using (company_id)
       where r.company_id = o.company_id and r.priority = o.priority and r.outbox_id = o.outbox_id) as "queuePosition", (
       select json_build_object('kind', l.kind, 'holder', l.holder, 'expired', l.expires_at < now(),
         'silent', l.kind = 'work' and not exists (select from workers w where w.host || ':' || w.pid = l.holder
           and w.seen_at > now() - ${HEARTBEAT_TIMEOUT})) from leases l
       where l.outbox_ids @> array[o.outbox_id] order by l.kind desc limit 1) as "inFlight", (
       select json_build_object('reason', u.reason, 'provider', u.provider, 'since', ${iso('u.since')}, 'resolveAt', ${iso('u.resolve_at')},
         'onUnknown', o.on_unknown)
       from unknown_sends u where u.outbox_id = o.outbox_id) as unknown, (
       select json_agg(json_build_object('provider', p.name, 'since', ${iso('p.opened_at')}, 'code', p.reason_code, 'reason', p.reason,
         'probeAt', ${iso('p.probe_at')}) order by array_position(${providers}::text[], p.name))
       from providers p where p.name = any(${providers}::text[]) and p.state = 'open' and not o.test
       having count(*) = cardinality(${providers}::text[])) as parked,
       not ${HAS_CONTENT} as "contentGone",
       exists (select from workers where seen_at > now() - ${HEARTBEAT_TIMEOUT}) as "workersAlive",
       exists (select from workers where seen_at > now() - ${HEARTBEAT_TIMEOUT} and lane = 'bullmq') as "throughRedis",
       ${EVENTS_EXPECTED} as "eventsExpected",
       exists (select from email_events v where v.outbox_id = o.outbox_id and v.type = 'RESOLVED'
         and v.metadata ->> 'by' = 'policy-resend') as "sentAgain",
       (select json_build_object('bounced', ${BOUNCED_COUNT}, 'of', count(*)) from email_recipients r
         where r.outbox_id = o.outbox_id and not r.suppressed) as recipients
     from email_outbox o where o.outbox_id = ${outboxId}`
  return row ?? NOWHERE
}
