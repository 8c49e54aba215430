import type { EmailStatus } from '../outbox/states.ts'
import { type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'
import { addressKey } from '../platform/text/addresses.ts'
import type { EmailLookup } from '../web/email-search.ts'
import { BOUNCED_COUNT, SUMMARY } from './emails.ts'
import type { AdminEmailSummary } from './view.ts'

export type AdminEmailFilter = {
  lookup: EmailLookup | null
  /** By the time of the id. to null: the newest as well, whose ids may be a moment ahead of the database's clock. */
  range: { from: string; to: string | null } | null
  status: EmailStatus | null
  companyId: string | null
  tag: string | null
  template: string | null
  mode: 'live' | 'test' | null
  olderThan: string | null
  /** Those next to this id, of the newer ones. */
  newerThan: string | null
  limit: number
}

/** `stoppedAt`: the last e-mail that was looked at, when the search stopped before the end. */
export type AdminEmailPage = { emails: AdminEmailSummary[]; hasMore: boolean; stoppedAt: string | null }

/**
 * No index serves a status, a tag or a template: so many e-mails are looked at in one request, and the next request goes on from there.
 * A page is answered in the same time, however many e-mails there are.
 */
const MAX_SCANNED = 5_000
/** The same where each candidate costs a look-up. They match more often. */
const MAX_LOOKED_UP = 500
/** When fewer e-mails wait, those are read instead of the outbox. */
const MAX_WAITING = 2_000

/** An e-mail with this status has this event: rare ones, which have an index (migrations/0012_admin_emails.sql). */
const EVENT_OF_STATUS: Partial<Record<EmailStatus, string>> = {
  BOUNCED: 'BOUNCE',
  COMPLAINED: 'COMPLAINT',
  REJECTED: 'REJECTED',
  FAILED: 'FAILED',
  DLQ: 'DLQ_MOVED',
  EXPIRED: 'EXPIRED',
  CANCELLED: 'CANCELLED',
}
const WAITING_STATUSES: EmailStatus[] = ['PENDING', 'PROCESSING', 'RETRY_SCHEDULED']

/** Newest first. */
export async function listAdminEmails(db: Queryable, filter: AdminEmailFilter): Promise<AdminEmailPage> {
  const waiting =
    filter.lookup === null && filter.status && WAITING_STATUSES.includes(filter.status) ? await readWaiting(db) : null
  const { text, values, scan } = idsQuery(filter, waiting)
  const [found] = await runUnprepared<{ ids: string[] | null; scanned: number; last: string | null }>(db, text, values)
  const ids = found!.ids ?? []
  const page = ids.slice(0, filter.limit)
  const hasMore = ids.length > filter.limit
  const stoppedAt = !hasMore && found!.scanned >= scan ? found!.last : null
  const emails = await readSummaries(db, filter.newerThan ? page.reverse() : page)
  return { emails, hasMore, stoppedAt }
}

/** The ids that wait; null: too many to look at each. */
async function readWaiting(db: Queryable): Promise<string[] | null> {
  const rows = await sql<{ outboxId: string }>(db, 'read-waiting-ids')`
    (select outbox_id from email_ready limit ${MAX_WAITING} + 1) union all (select outbox_id from email_scheduled limit ${MAX_WAITING} + 1)
     union all (select unnest(outbox_ids) from leases limit ${MAX_WAITING} + 1)`
  return rows.length > MAX_WAITING ? null : rows.map(row => row.outboxId)
}

class Conditions {
  readonly values: unknown[] = []
  #where: string[] = []

  add(condition: (placeholder: string) => string, value: unknown): void {
    this.values.push(value)
    this.#where.push(condition(`$${this.values.length}`))
  }

  addPlain(condition: string): void {
    this.#where.push(condition)
  }

  get isEmpty(): boolean {
    return this.#where.length === 0
  }

  take(): string {
    const text = this.#where.length > 0 ? `where ${this.#where.join(' and ')}` : ''
    this.#where = []
    return text
  }
}

/** `scan`: how many candidates it looks at. */
type IdsQuery = { text: string; values: unknown[]; scan: number }

/** Candidates in the order of their ids, from the narrowest source; of those, the ones that match the other filters. */
function idsQuery(filter: AdminEmailFilter, waiting: string[] | null): IdsQuery {
  const conditions = new Conditions()
  const source = sourceOf(filter, waiting, conditions)
  if (filter.range) {
    conditions.add(p => `x.outbox_id >= uuid_v7_floor(${p}::timestamptz)`, filter.range.from)
    if (filter.range.to) conditions.add(p => `x.outbox_id < uuid_v7_floor(${p}::timestamptz)`, filter.range.to)
  }
  if (filter.olderThan) conditions.add(p => `x.outbox_id < ${p}::uuid`, filter.olderThan)
  if (filter.newerThan) conditions.add(p => `x.outbox_id > ${p}::uuid`, filter.newerThan)
  if (filter.companyId && source.hasCompany) conditions.add(p => `x.company_id = ${p}`, filter.companyId)
  const candidates = conditions.take()

  if (filter.companyId && !source.hasCompany) conditions.add(p => `o.company_id = ${p}`, filter.companyId)
  if (filter.status) conditions.add(p => `o.status = ${p}`, filter.status)
  if (filter.tag) conditions.add(p => `o.tags @> array[${p}::text]`, filter.tag)
  if (filter.template) conditions.add(p => `o.template_type = ${p}`, filter.template)
  if (filter.mode) conditions.addPlain(filter.mode === 'test' ? 'o.test' : 'not o.test')
  // Without further filters every candidate matches.
  const scan = !source.isOutbox ? MAX_LOOKED_UP : conditions.isEmpty ? filter.limit + 1 : MAX_SCANNED
  const matching = conditions.take()

  const order = filter.newerThan ? 'asc' : 'desc'
  const columns = source.isOutbox
    ? 'x.outbox_id, x.company_id, x.status, x.tags, x.template_type, x.test'
    : 'distinct x.outbox_id'
  const email = source.isOutbox
    ? 'candidates o'
    : `candidates x cross join lateral (select o.* from email_outbox o where o.outbox_id = x.outbox_id limit 1) o`
  const text = `with candidates as materialized (
      select ${columns} from ${source.from} x ${candidates} order by x.outbox_id ${order} limit ${scan}
    ), matching as materialized (
      select o.outbox_id from ${email} ${matching} order by o.outbox_id ${order} limit ${filter.limit + 1}
    )
    select (select json_agg(outbox_id order by outbox_id ${order}) from matching) as ids,
      (select count(*)::int from candidates) as scanned,
      (select outbox_id from candidates order by outbox_id ${order === 'asc' ? 'desc' : 'asc'} limit 1) as last`
  return { text, values: conditions.values, scan }
}

type Source = { from: string; hasCompany: boolean; isOutbox: boolean }

const OUTBOX: Source = { from: 'email_outbox', hasCompany: true, isOutbox: true }
const EVENTS: Source = { from: 'email_events', hasCompany: true, isOutbox: false }

function sourceOf(filter: AdminEmailFilter, waiting: string[] | null, conditions: Conditions): Source {
  const { lookup, status } = filter
  if (lookup) return lookupSource(lookup, conditions)
  const type = status && EVENT_OF_STATUS[status]
  if (type) {
    // Written out, so that the partial index serves it.
    conditions.addPlain(`x.type = '${type}'`)
    return EVENTS
  }
  if (status === 'UNKNOWN') return { from: 'unknown_sends', hasCompany: false, isOutbox: false }
  if (!waiting) return OUTBOX
  conditions.add(p => `x.outbox_id = any(${p}::uuid[])`, waiting)
  return { ...OUTBOX, isOutbox: false }
}

function lookupSource({ by, value }: EmailLookup, conditions: Conditions): Source {
  switch (by) {
    case 'id':
      conditions.add(p => `x.outbox_id = ${p}::uuid`, value)
      return { ...OUTBOX, isOutbox: false }
    case 'externalId':
      conditions.add(p => `x.external_id = ${p}`, value)
      return { ...OUTBOX, isOutbox: false }
    case 'messageId':
      conditions.addPlain(`x.type = 'SENT'`)
      conditions.add(p => `x.metadata ->> 'messageId' = ${p}`, value)
      return EVENTS
    case 'recipient':
      conditions.add(p => `x.address_key = ${p}::bigint`, addressKey(value))
      return { from: 'email_recipients', hasCompany: false, isOutbox: false }
  }
}

async function readSummaries(db: Queryable, ids: string[]): Promise<AdminEmailSummary[]> {
  if (ids.length === 0) return []
  return sql<AdminEmailSummary>(db, 'read-admin-summaries')`
    select ${SUMMARY}, o.test, coalesce(c.name, o.company_id::text) as "companyName", ${BOUNCED_COUNT} as bounced
     from unnest(${ids}::uuid[]) with ordinality as wanted(outbox_id, nth)
     cross join lateral (select * from email_outbox o where o.outbox_id = wanted.outbox_id limit 1) o
     left join companies c on c.company_id = o.company_id order by wanted.nth`
}
