import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { findCompany } from '../companies/companies.ts'
import { cachedQuery } from '../platform/cache.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { readEmailHash } from '../platform/text/hashing.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { isUuid } from '../platform/text/uuid.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { addSuppressions, removeSuppression } from './list.ts'
import {
  countActive,
  ENDINGS,
  findEntries,
  listAudit,
  listEnded,
  listHistory,
  listSuppressions,
  readStats,
  SUPPRESSION_ORDERS,
  SUPPRESSION_SORTS,
  type SuppressionCursor,
  type SuppressionFilter,
  type SuppressionOrder,
} from './reads.ts'
import { hashOrProblem, throwUnlessRemoved } from './routes.ts'
import { SUPPRESSION_REASONS, type SuppressionPolicy } from './rules.ts'
import {
  addressSchema,
  endedSuppressionsSchema,
  SUPPRESSION_LIMITS,
  type SuppressionRow,
  suppressionDetailsSchema,
  suppressionHistorySchema,
  suppressionPageSchema,
  suppressionStatsSchema,
} from './view.ts'

/** `global`, or the id of a company. */
export const suppressionListSchema = z
  .string()
  .toLowerCase()
  .refine(text => text === 'global' || isUuid(text), 'must be the id of a company, or global')

const fields = {
  reason: z.enum(SUPPRESSION_REASONS).optional(),
  company: suppressionListSchema.optional().describe('A company, or global'),
  search: z
    .string()
    .max(320)
    .optional()
    .describe('A hash, its first digits (four or more), or an address; POST keeps an address out of URLs'),
  addedAfter: rangeEndSchema.optional(),
  addedBefore: rangeEndSchema.optional(),
  expiresAfter: rangeEndSchema.optional().describe('Includes what never expires'),
  expiresBefore: rangeEndSchema.optional(),
  expires: z.enum(['never']).optional(),
  sort: z.enum(SUPPRESSION_SORTS).default('addedAt'),
  order: z.enum(SUPPRESSION_ORDERS).default('desc'),
  cursor: z.string().max(200).optional(),
}
const limit = { min: 1, max: SUPPRESSION_LIMITS.PAGE, usual: 50 }

export const pageQuery = z.object({
  ...fields,
  limit: z.coerce.number().int().min(limit.min).max(limit.max).default(limit.usual),
})
export const pageBody = z
  .strictObject({ ...fields, limit: z.int().min(limit.min).max(limit.max).default(limit.usual) })
  .meta({ id: 'SearchSuppressions', example: { reason: 'HARD_BOUNCE', limit: 50 } })
export type PageQuery = z.output<typeof pageQuery>

export function toFilter(query: PageQuery): SuppressionFilter {
  return {
    reason: query.reason ?? null,
    list: query.company === undefined ? null : { companyId: query.company === 'global' ? null : query.company },
    hash: query.search === undefined ? null : { prefix: searchPrefix(query.search.trim()) },
    addedAfter: query.addedAfter ?? null,
    addedBefore: query.addedBefore ?? null,
    expiresAfter: query.expiresAfter ?? null,
    expiresBefore: query.expiresBefore ?? null,
    never: query.expires === 'never',
  }
}

/** Lists show hashes abbreviated, so the search accepts a prefix with or without an ellipsis. */
const HASH_PREFIX = /^(?:sha256:)?([0-9a-f]{4,64})(?:\.{3}|…)?$/i

function searchPrefix(text: string): string {
  const [, digits] = HASH_PREFIX.exec(text) ?? []
  return digits ? `sha256:${digits.toLowerCase()}` : hashOrProblem(text, 'search')
}

/** The cursor contains the sort order: with another order it would silently skip entries. */
export function toCursor({ sort, order }: SuppressionOrder, { key, id }: SuppressionCursor): string {
  return Buffer.from([sort, order, key, id].join(' ')).toString('base64url')
}

export function fromCursor(cursor: string | undefined, { sort, order }: SuppressionOrder): SuppressionCursor | null {
  if (cursor === undefined) return null
  const [cursorSort, cursorOrder, key = '', id = '', ...rest] = Buffer.from(cursor, 'base64url')
    .toString('utf8')
    .split(' ')
  const isKey = key === 'infinity' || rangeEndSchema.safeParse(key).success
  if (cursorSort === sort && cursorOrder === order && isKey && isUuid(id) && rest.length === 0) return { key, id }
  throw invalidField('cursor', 'is not a cursor of this list in this order', 'INVALID_CURSOR')
}

export const entryParams = z.object({ emailHash: z.string() })
export const entryQuery = z.object({
  company: suppressionListSchema.optional().describe('Needed when several lists have the address'),
})

/** Without `?company=`: the entry of the global list, or the only one there is. */
export async function findEntry(db: Database, request: FastifyRequest): Promise<SuppressionRow> {
  const { company } = request.query as z.output<typeof entryQuery>
  const entries = await findEntries(db.pool, hashParam(request.params))
  const wanted = company === undefined || company === 'global' ? null : company
  const entry =
    entries.find(one => one.companyId === wanted) ??
    (company === undefined && entries.length === 1 ? entries[0] : undefined)
  if (entry) return entry
  if (company !== undefined || entries.length === 0) throw new Problem('NOT_SUPPRESSED')
  throw new Problem('NOT_SUPPRESSED', {
    detail: `It is not on the global list, but on those of ${entries.length} companies; name one with ?company=.`,
  })
}

export function hashParam(params: unknown): string {
  const emailHash = readEmailHash((params as z.output<typeof entryParams>).emailHash)
  if (!emailHash)
    throw new Problem('NOT_SUPPRESSED', { detail: 'An address hash is sha256: and 64 hexadecimal digits.' })
  return emailHash
}

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

export type AdminSuppressionDeps = AdminRouteDeps & { suppression: SuppressionPolicy }

const changeRefusals = problemAnswers(400, 401, 403, 413, 415, 422, 429, 503)

const removeBody = z.strictObject({ justification: justificationSchema }).meta({
  id: 'RemoveSuppressionByAdmin',
  example: { justification: 'The mailbox works again; confirmed by phone' },
})
const removedSchema = z.object({
  removed: z.literal(true),
  emailHash: z.string(),
  removedBy: z.string(),
  removedAt: z.iso.datetime(),
})
const removeSchema = {
  summary: 'Take it off the list, and say why; complaints stay',
  ...common,
  params: entryParams,
  querystring: entryQuery,
  body: removeBody,
  response: { 200: removedSchema, ...changeRefusals, ...problemAnswers(404) },
}

const addBody = z
  .strictObject({
    email: addressSchema.optional(),
    emailHash: z.string().max(71).optional(),
    reason: z.literal('MANUAL').default('MANUAL'),
    expiresInDays: z.int().min(0).max(SUPPRESSION_LIMITS.EXPIRES_IN_DAYS).optional().describe('0: for ever'),
    company: suppressionListSchema.optional().describe('The list of one company instead of the global one'),
    justification: justificationSchema,
  })
  .refine(body => (body.email === undefined) !== (body.emailHash === undefined), 'give email or emailHash')
  .meta({
    id: 'AddSuppression',
    example: { email: 'no-more-mail@example.com', justification: 'Asked by phone for no more mail' },
  })
const addedSchema = z.object({ added: z.boolean(), emailHash: z.string(), expiresAt: z.iso.datetime().nullable() })
const addSchema = {
  summary: 'Put an address on the list by hand',
  ...common,
  body: addBody,
  response: {
    200: addedSchema.describe('It was listed at least as gravely and as long'),
    201: addedSchema,
    ...changeRefusals,
  },
}

export function adminSuppressionChangeRoutes(app: App, deps: AdminSuppressionDeps): void {
  const { onRequest } = deps
  app.delete('/admin/suppression/:emailHash', { onRequest, schema: removeSchema }, request => remove(request, deps))
  app.post('/admin/suppression', { onRequest, schema: addSchema }, (request, reply) => add(request, reply, deps))
}

async function remove(request: FastifyRequest, { db }: AdminSuppressionDeps) {
  const { justification } = request.body as z.output<typeof removeBody>
  const { emailHash, companyId } = await findEntry(db, request)
  const removedBy = request.admin!
  const removal = { emailHash, lists: [companyId], performedBy: removedBy, justification }
  const outcome = await removeSuppression(db.pool, removal)
  throwUnlessRemoved(outcome)
  return { removed: true as const, emailHash, removedBy, removedAt: outcome.removedAt }
}

async function add(request: FastifyRequest, reply: FastifyReply, { db, suppression }: AdminSuppressionDeps) {
  const body = request.body as z.output<typeof addBody>
  const companyId = await listOfCompany(db, body.company)
  const emailHash = body.email === undefined ? validHash(body.emailHash!) : hashOrProblem(body.email)
  const [result] = await addSuppressions(db.pool, [
    {
      companyId,
      emailHash,
      reason: body.reason,
      expiresInDays: body.expiresInDays ?? suppression.ttlDays[body.reason],
      metadata: {},
      performedBy: request.admin!,
      justification: body.justification,
    },
  ])
  const entry = (await findEntries(db.pool, emailHash)).find(one => one.companyId === companyId)
  const added = result!.outcome !== 'unchanged'
  return reply.code(added ? 201 : 200).send({ added, emailHash, expiresAt: entry?.expiresAt ?? null })
}

/** null is the global list. */
async function listOfCompany(db: Database, company: string | undefined): Promise<string | null> {
  if (company === undefined || company === 'global') return null
  if (await findCompany(db.pool, company)) return company
  throw invalidField('company', 'there is no such company', 'INVALID_VALUE')
}

function validHash(text: string): string {
  const emailHash = readEmailHash(text)
  if (!emailHash) throw invalidField('emailHash', 'must be sha256: and 64 hexadecimal digits', 'INVALID_FORMAT')
  return emailHash
}

const historyRefusals = problemAnswers(401, 422, 429, 503)

const endedQuery = z.object({
  ending: z.enum(ENDINGS).default('REMOVED'),
  cursor: z
    .string()
    .regex(/^[0-9]{1,18}$/, 'is not a cursor of this list')
    .optional(),
  limit: z.coerce.number().int().min(1).max(SUPPRESSION_LIMITS.PAGE).default(50),
})
const endedSchema = {
  summary: 'Entries that are no longer on the list: removed with which justification, or expired; newest first',
  ...common,
  querystring: endedQuery,
  response: { 200: endedSuppressionsSchema, ...historyRefusals },
}
const historySchema = {
  summary: 'One address on all lists, with every change: also when it is on none any more',
  ...common,
  params: entryParams,
  response: { 200: suppressionHistorySchema, ...historyRefusals, ...problemAnswers(404) },
}
const lookUpBody = z
  .strictObject({ email: addressSchema })
  .meta({ id: 'LookUpSuppression', example: { email: 'maria@example.com' } })
const lookUpSchema = {
  summary: 'The same by an address, which does not end up in a URL; empty lists when it never was suppressed',
  ...common,
  body: lookUpBody,
  response: { 200: suppressionHistorySchema, ...historyRefusals, ...problemAnswers(400, 403, 413, 415) },
}

export function adminSuppressionHistoryRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.get('/admin/suppression/ended', { onRequest, schema: endedSchema }, async request => {
    const { ending, cursor = null, limit } = request.query as z.output<typeof endedQuery>
    const { entries, next } = await listEnded(db.pool, ending, { before: cursor, limit })
    return { data: entries, cursor: next, hasMore: next !== null }
  })
  app.get('/admin/suppression/:emailHash/history', { onRequest, schema: historySchema }, async request => {
    const history = await readHistory(db, hashParam(request.params))
    if (history.entries.length + history.auditLog.length === 0) throw new Problem('NOT_SUPPRESSED')
    return history
  })
  app.post(
    '/admin/suppression/look-up',
    { onRequest, config: { role: 'viewer' }, schema: lookUpSchema },
    async request => readHistory(db, hashOrProblem((request.body as z.output<typeof lookUpBody>).email)),
  )
}

async function readHistory({ pool }: Database, emailHash: string) {
  const [entries, auditLog] = await Promise.all([findEntries(pool, emailHash), listHistory(pool, emailHash)])
  const shown = entries.map(({ companyId, ...entry }) => ({ ...entry, ...(companyId && { companyId }) }))
  return { emailHash, entries: shown, auditLog }
}
