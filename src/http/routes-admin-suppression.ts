import type { SuppressionRow } from '../contracts/suppression/view.ts'
import {
  suppressionDetailsSchema,
  suppressionPageSchema,
  suppressionStatsSchema,
} from '../contracts/suppression/view.ts'
import type { Database } from '../db/pool.ts'
import { listAudit, listSuppressions } from '../db/suppression/reads.ts'
import { countActive, readStats } from '../db/suppression/stats.ts'
import { cachedQuery } from '../runtime/cached-query.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { entryParams, entryQuery, findEntry } from './suppression-entry.ts'
import { fromCursor, type PageQuery, pageBody, pageQuery, toCursor, toFilter } from './suppression-query.ts'

const STATS_CACHE_MS = 1_000
const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(400, 401, 422, 429, 503)

const listSchema = {
  summary: 'The suppression list, newest first',
  ...common,
  querystring: pageQuery,
  response: { 200: suppressionPageSchema, ...refusals },
}
const searchSchema = {
  summary: 'The same, with an address that does not end up in a URL',
  ...common,
  body: pageBody,
  response: { 200: suppressionPageSchema, ...refusals, ...problemAnswers(403, 413, 415) },
}
const statsSchema = {
  summary: 'How many, how often they stop mail, and how they grow',
  ...common,
  response: { 200: suppressionStatsSchema, ...refusals },
}
const showSchema = {
  summary: 'One entry with its history',
  ...common,
  params: entryParams,
  querystring: entryQuery,
  response: { 200: suppressionDetailsSchema, ...refusals, ...problemAnswers(404) },
}

/** Answers JSON. An HTML page may be added under the same URLs, so caches must vary by Accept. */
export function adminSuppressionRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  const counts = cachedQuery(STATS_CACHE_MS, () => countActive(db.pool))

  app.get('/admin/suppression', { onRequest, schema: listSchema }, request => listPage(db, request.query as PageQuery))
  app.post('/admin/suppression/search', { onRequest, config: { role: 'viewer' }, schema: searchSchema }, request =>
    listPage(db, request.body as PageQuery),
  )
  app.get('/admin/suppression/stats', { onRequest, schema: statsSchema }, () => readStats(db.pool, counts))
  app.get('/admin/suppression/:emailHash', { onRequest, schema: showSchema }, async request => {
    const entry = await findEntry(db, request)
    const auditLog = await listAudit(db.pool, entry.emailHash, entry.companyId)
    return { ...toView(entry), updatedAt: entry.updatedAt, auditLog }
  })
}

async function listPage(db: Database, query: PageQuery) {
  const window = { after: fromCursor(query.cursor, query), limit: query.limit }
  const { entries, next } = await listSuppressions(db.pool, toFilter(query), query, window)
  return { data: entries.map(toView), cursor: next && toCursor(query, next), hasMore: next !== null }
}

/** `companyId` only for an entry of a company's own list. */
function toView({ id, companyId, emailHash, reason, addedAt, expiresAt, metadata }: SuppressionRow) {
  return { id, ...(companyId && { companyId }), emailHash, reason, addedAt, expiresAt, metadata }
}
