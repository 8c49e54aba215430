import { z } from 'zod'
import { companyNames } from '../companies/companies.ts'
import { EMAIL_STATUSES, type EmailStatus } from '../outbox/states.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'
import { addressKey } from '../platform/text/addresses.ts'
import { readEmailHash } from '../platform/text/hashing.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { uuidv7Time } from '../platform/text/uuid.ts'
import { findEntries } from '../suppression/reads.ts'
import { templateTypeSchema } from '../templates/limits.ts'
import { type EmailLookup, recogniseSearch } from '../web/email-search.ts'
import { invalidField } from '../web/problem.ts'
import { BOUNCED_COUNT, SUMMARY } from './emails.ts'
import type { AdminEmailList, AdminEmailSummary, SuppressionOfEmail } from './view.ts'

const RANGE_DAYS = 7
const DAY_MS = 86_400_000

const plain = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(text => !text.includes('\0'), 'must not contain NUL')

const filters = {
  status: z.enum(EMAIL_STATUSES).optional(),
  company: z.uuid().optional().describe('Its id'),
  tag: plain(64).optional(),
  template: templateTypeSchema.optional().describe('The type of a template'),
  mode: z.enum(['live', 'test']).optional().describe('Both when absent'),
  from: rangeEndSchema.optional().describe('Accepted since; a week before `to` when absent, all for a look-up'),
  to: rangeEndSchema.optional().describe('Accepted before; now when absent'),
  olderThan: z.uuid().optional().describe('The cursor `older` of a page'),
  newerThan: z.uuid().optional().describe('The cursor `newer` of a page'),
}

export const adminListQuery = z.object({
  ...filters,
  id: z.uuid().optional().describe('Look-up of one e-mail'),
  recipient: plain(320).optional().describe('Look-up by the hash of an address; POST keeps an address out of URLs'),
  externalId: plain(256).optional().describe('Look-up'),
  messageId: plain(998).optional().describe('Look-up by the message id of the provider'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})
export const searchBody = z
  .strictObject({
    ...filters,
    search: plain(998).describe('An id, an address or its hash, an external id or a message id'),
    limit: z.int().min(1).max(100).default(50),
  })
  .meta({ id: 'SearchEmails', example: { search: 'maria@example.com' } })

type AdminListQuery = z.output<typeof adminListQuery>
type Filters = Omit<z.output<typeof searchBody>, 'search'>

export function readAdminList(db: Database, query: AdminListQuery): Promise<AdminEmailList> {
  return readList(db, toFilter(query, lookupOf(query), db.clock.now()))
}

/** null: a list, and no look-up. */
function lookupOf({ id, recipient, externalId, messageId }: AdminListQuery): EmailLookup | null {
  const given: EmailLookup[] = []
  if (id !== undefined) given.push({ by: 'id', value: id.toLowerCase() })
  if (recipient !== undefined) given.push({ by: 'recipient', value: recipientHash(recipient) })
  if (externalId !== undefined) given.push({ by: 'externalId', value: externalId })
  if (messageId !== undefined) given.push({ by: 'messageId', value: messageId })
  if (given.length > 1) throw invalidField(given[1]!.by, `cannot be used together with ${given[0]!.by}`, 'NOT_TOGETHER')
  return given[0] ?? null
}

function recipientHash(text: string): string {
  const hash = readEmailHash(text)
  if (hash) return hash
  const [lookup] = recogniseSearch(text)
  if (lookup?.by !== 'recipient')
    throw invalidField('recipient', 'must be an address, or sha256: and its hash', 'INVALID_FORMAT')
  return lookup.value
}

/** `range` null: whatever the time. `to` null: the newest as well, whose ids may be a moment ahead of the database's clock. */
type AdminEmailFilter = Filters & { lookup: EmailLookup | null; range: { from: string; to: string | null } | null }

function toFilter(query: Filters, lookup: EmailLookup | null, now: Date): AdminEmailFilter {
  const { from, to } = query
  const isRanged = lookup === null || from !== undefined || to !== undefined
  const begin = from ?? new Date(Date.parse(to ?? now.toISOString()) - RANGE_DAYS * DAY_MS).toISOString()
  if (to !== undefined && begin >= to) throw invalidField('from', 'must be before to', 'RANGE_REVERSED')
  if (query.olderThan && query.newerThan)
    throw invalidField('newerThan', 'cannot be used together with olderThan', 'NOT_TOGETHER')
  return { ...query, lookup, range: isRanged ? { from: begin, to: to ?? null } : null }
}

/** The first look-up that finds something; without any, the likeliest, which says that there is nothing. */
export async function searchEmails(db: Database, body: z.output<typeof searchBody>): Promise<AdminEmailList> {
  const lookups = recogniseSearch(body.search)
  const listOf = (lookup: EmailLookup) => readList(db, toFilter(body, lookup, db.clock.now()))
  for (const lookup of lookups) {
    const found = await listOf(lookup)
    if (found.data.length > 0 || (found.suppression?.length ?? 0) > 0) return found
  }
  return listOf(lookups[0]!)
}

async function readList(db: Database, filter: AdminEmailFilter): Promise<AdminEmailList> {
  const { lookup, range } = filter
  const [page, suppression] = await Promise.all([
    listAdminEmails(db.pool, filter),
    lookup?.by === 'recipient' ? findEntries(db.pool, lookup.value).then(entries => namedEntries(db, entries)) : null,
  ])
  return {
    data: page.emails,
    lookup,
    range: range && { from: range.from, to: range.to ?? db.clock.now().toISOString() },
    searchedTo: page.stoppedAt && uuidv7Time(page.stoppedAt).toISOString(),
    ...cursorsOf(filter, page),
    suppression,
  }
}

/** Both ways: a page that was reached from one side has a page on that side. */
function cursorsOf(filter: AdminEmailFilter, { emails, hasMore, stoppedAt }: AdminEmailPage) {
  const further = stoppedAt ?? (hasMore ? true : null)
  const first = emails[0]?.outboxId ?? null
  const last = emails.at(-1)?.outboxId ?? null
  if (filter.newerThan) return { newer: further === true ? first : stoppedAt, older: last ?? filter.newerThan }
  return { older: further === true ? last : stoppedAt, newer: filter.olderThan ? (first ?? filter.olderThan) : null }
}

/** With the names of the companies whose lists they are on. */
export async function namedEntries(db: Database, entries: Omit<SuppressionOfEmail, 'companyName'>[]) {
  const names = await companyNames(
    db.pool,
    entries.flatMap(entry => entry.companyId ?? []),
  )
  return entries.map(({ emailHash, reason, companyId, addedAt, expiresAt }) => {
    const companyName = companyId && (names.get(companyId) ?? null)
    return { emailHash, reason, companyId, companyName, addedAt, expiresAt }
  })
}

/** `stoppedAt`: the last e-mail that was looked at, when the search stopped before the end. */
type AdminEmailPage = { emails: AdminEmailSummary[]; hasMore: boolean; stoppedAt: string | null }

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
async function listAdminEmails(db: Queryable, filter: AdminEmailFilter): Promise<AdminEmailPage> {
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
  if (filter.company && source.hasCompany) conditions.add(p => `x.company_id = ${p}`, filter.company)
  const candidates = conditions.take()

  if (filter.company && !source.hasCompany) conditions.add(p => `o.company_id = ${p}`, filter.company)
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
