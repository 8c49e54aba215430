import { z } from 'zod'
import { companyNames } from '../companies/companies.ts'
import type { EmailEventView } from '../outbox/email-view.ts'
import { EMAIL_STATUSES, isFinal } from '../outbox/states.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { hashEmail, readEmailHash } from '../platform/text/hashing.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { uuidv7Time } from '../platform/text/uuid.ts'
import { findBlocking, findEntries } from '../suppression/reads.ts'
import { templateTypeSchema } from '../templates/limits.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { type EmailLookup, recogniseSearch } from '../web/email-search.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import {
  type EmailDetails,
  type EmailRecipient,
  findEmailDetails,
  listEmailDeliveries,
  listEmailRecipients,
} from './details.ts'
import { findLocation, listEvents } from './emails.ts'
import { explainInCodes } from './explain.ts'
import { explainEmail } from './explain-english.ts'
import { type AdminEmailFilter, type AdminEmailPage, listAdminEmails } from './list.ts'
import { listResends } from './send-again.ts'
import {
  type AdminEmail,
  type AdminEmailList,
  adminEmailListSchema,
  adminEmailSchema,
  attemptsOf,
  type SuppressionOfEmail,
} from './view.ts'

export const adminEmailParams = z.object({ outboxId: z.string() })

const showSchema = {
  summary: 'One e-mail: what happened, why, its attempts, recipients and webhooks',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  params: adminEmailParams,
  response: { 200: adminEmailSchema, ...problemAnswers(401, 404, 429, 503) },
}

export type AdminEmailDeps = AdminRouteDeps & { providers: string[] }

export function adminEmailDetailRoutes(app: App, { db, onRequest, providers }: AdminEmailDeps): void {
  app.get('/admin/emails/:outboxId', { onRequest, schema: showSchema }, async request => {
    const email = await findEmailDetails(db.pool, uuidParam(request, 'outboxId'))
    if (!email) throw new Problem('NOT_FOUND')
    return readDetails(db, email, providers)
  })
}

async function readDetails(db: Database, email: EmailDetails, providers: string[]): Promise<AdminEmail> {
  const { outboxId } = email
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
  if (!entry) return null
  const { emailHash, reason, addedAt, expiresAt } = entry
  const names = await companyNames(db.pool, entry.companyId ? [entry.companyId] : [])
  const companyName = entry.companyId && (names.get(entry.companyId) ?? null)
  return { emailHash, reason, companyId: entry.companyId, companyName, addedAt, expiresAt }
}

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

export const listQuery = z.object({
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

export type ListQuery = z.output<typeof listQuery>
export type SearchBody = z.output<typeof searchBody>
type Filters = Omit<SearchBody, 'search'>

/** null: a list, and no look-up. */
export function lookupOf({ id, recipient, externalId, messageId }: ListQuery): EmailLookup | null {
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

export function filterOf(query: Filters, lookup: EmailLookup | null, now: Date): AdminEmailFilter {
  const { from, to } = query
  const isRanged = lookup === null || from !== undefined || to !== undefined
  const begin = from ?? new Date(Date.parse(to ?? now.toISOString()) - RANGE_DAYS * DAY_MS).toISOString()
  if (to !== undefined && begin >= to) throw invalidField('from', 'must be before to', 'RANGE_REVERSED')
  if (query.olderThan && query.newerThan)
    throw invalidField('newerThan', 'cannot be used together with olderThan', 'NOT_TOGETHER')
  return {
    lookup,
    range: isRanged ? { from: begin, to: to ?? null } : null,
    status: query.status ?? null,
    companyId: query.company ?? null,
    tag: query.tag ?? null,
    template: query.template ?? null,
    mode: query.mode ?? null,
    olderThan: query.olderThan ?? null,
    newerThan: query.newerThan ?? null,
    limit: query.limit,
  }
}

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(400, 401, 422, 429, 503)

const listSchema = {
  summary: 'E-mails of every company, newest first: look-ups, or filters within a time range',
  ...common,
  querystring: listQuery,
  response: { 200: adminEmailListSchema, ...refusals },
}
const searchSchema = {
  summary: 'Look up whatever was given: an id, an address, an external id or a message id',
  ...common,
  body: searchBody,
  response: { 200: adminEmailListSchema, ...refusals, ...problemAnswers(403, 413, 415) },
}

export function adminEmailRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.get('/admin/emails', { onRequest, schema: listSchema }, request => {
    const query = request.query as ListQuery
    const lookup = lookupOf(query)
    return readList(db, filterOf(query, lookup, db.clock.now()))
  })
  app.post('/admin/emails/search', { onRequest, config: { role: 'viewer' }, schema: searchSchema }, request =>
    search(db, request.body as SearchBody),
  )
}

/** The first look-up that finds something; without any, the likeliest, which says that there is nothing. */
async function search(db: Database, body: SearchBody): Promise<AdminEmailList> {
  const lookups = recogniseSearch(body.search)
  const listOf = (lookup: EmailLookup) => readList(db, filterOf(body, lookup, db.clock.now()))
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
    lookup?.by === 'recipient' ? suppressionOf(db, lookup.value) : null,
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
  return { older: further === true ? last : stoppedAt, newer: filter.olderThan && (first ?? filter.olderThan) }
}

async function suppressionOf(db: Database, emailHash: string): Promise<SuppressionOfEmail[]> {
  const entries = await findEntries(db.pool, emailHash)
  const names = await companyNames(
    db.pool,
    entries.flatMap(entry => entry.companyId ?? []),
  )
  return entries.map(({ companyId, reason, addedAt, expiresAt }) => ({
    emailHash,
    reason,
    companyId,
    companyName: companyId && (names.get(companyId) ?? null),
    addedAt,
    expiresAt,
  }))
}
