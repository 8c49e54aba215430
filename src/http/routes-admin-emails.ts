import { type EmailLookup, recogniseSearch } from '../contracts/admin/email-search.ts'
import { type AdminEmailList, adminEmailListSchema, type SuppressionOfEmail } from '../contracts/admin/email-view.ts'
import { uuidv7Time } from '../contracts/uuid.ts'
import { type AdminEmailFilter, type AdminEmailPage, listAdminEmails } from '../db/admin/emails.ts'
import { companyNames } from '../db/companies/companies.ts'
import type { Database } from '../db/pool.ts'
import { findEntries } from '../db/suppression/reads.ts'
import { filterOf, type ListQuery, listQuery, lookupOf, type SearchBody, searchBody } from './admin-email-query.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

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
