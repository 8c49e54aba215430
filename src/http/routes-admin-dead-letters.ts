import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  deadLetterCountSchema,
  deadLetterGroupsSchema,
  deadLetterPageSchema,
  deadLetterSchema,
} from '../contracts/dead-letter-view.ts'
import { rangeEndSchema } from '../contracts/instant.ts'
import { readLastBulkEnd } from '../db/bulk/bulk-actions.ts'
import {
  type DeadLetterGroup,
  type DeadLetterGroupFilter,
  listDeadLetterGroups,
} from '../db/outbox/dead-letter-groups.ts'
import { countDeadLetters, findDeadLetter, listDeadLetters, readClock } from '../db/outbox/dead-letters.ts'
import { everyDeadLetter } from '../db/outbox/dead-letters-export.ts'
import type { Database } from '../db/pool.ts'
import { cachedQuery } from '../runtime/cached-query.ts'
import type { App } from './app.ts'
import { asCsv, asJsonLines } from './dead-letter-export.ts'
import { exportQuery, filterQuery, fromCursor, pageQuery, toCursor, toFilter } from './dead-letter-query.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

/** The view asks again every few seconds, in every browser. */
const GROUPS_CACHE_MS = 1_000
const MAX_GROUPS = 500
const EVERYTHING: DeadLetterGroupFilter = { companyId: null, since: null, until: null }

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(401, 422, 429, 503)

const groupsQuery = z.object({
  company: z.uuid().optional(),
  since: rangeEndSchema.optional(),
  until: rangeEndSchema.optional(),
})

const groupsSchema = {
  summary: 'Dead letters by error code and company, the largest groups first',
  ...common,
  querystring: groupsQuery,
  response: { 200: deadLetterGroupsSchema, ...refusals },
}
const countSchema = {
  summary: 'How many match, and how many of them can be replayed',
  ...common,
  querystring: filterQuery,
  response: { 200: deadLetterCountSchema, ...refusals },
}
const listSchema = {
  summary: 'Dead letters, newest first',
  ...common,
  querystring: pageQuery,
  response: { 200: deadLetterPageSchema, ...refusals },
}
const exportSchema = {
  summary: 'All that match, as CSV or as one JSON value per line',
  ...common,
  querystring: exportQuery,
  response: refusals,
}
const showSchema = {
  summary: 'One dead letter: what is left of the e-mail, and every attempt',
  ...common,
  params: z.object({ outboxId: z.string() }),
  response: { 200: deadLetterSchema, ...refusals, ...problemAnswers(404) },
}

export function adminDeadLetterRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  const everyGroup = cachedGroups(db)

  app.get('/admin/dead-letters/groups', { onRequest, schema: groupsSchema }, async request => {
    const { company = null, since = null, until = null } = request.query as z.output<typeof groupsQuery>
    const filter = { companyId: company, since, until }
    const isFiltered = Object.values(filter).some(value => value !== null)
    return { data: isFiltered ? await listDeadLetterGroups(db.pool, filter, MAX_GROUPS) : await everyGroup() }
  })
  app.get('/admin/dead-letters/count', { onRequest, schema: countSchema }, request =>
    countDeadLetters(db.pool, toFilter(request.query as z.output<typeof filterQuery>)),
  )
  app.get('/admin/dead-letters', { onRequest, schema: listSchema }, async request => {
    const query = request.query as z.output<typeof pageQuery>
    const window = { after: fromCursor(query.cursor), limit: query.limit }
    const { entries, nextCursor } = await listDeadLetters(db.pool, toFilter(query), window)
    return { data: entries, cursor: nextCursor && toCursor(nextCursor), hasMore: nextCursor !== null }
  })
  app.get(
    '/admin/dead-letters/export',
    { onRequest, config: { clear: true }, schema: exportSchema },
    (request, reply) => sendExport(request, reply, db),
  )
  app.get('/admin/dead-letters/:outboxId', { onRequest, schema: showSchema }, async request => {
    const entry = await findDeadLetter(db.pool, uuidParam(request, 'outboxId'))
    if (!entry) throw new Problem('NOT_FOUND')
    return entry
  })
}

/** Counting many takes long, and the answer is kept as much longer; but not past the end of a replay, whose view asks only once more. */
function cachedGroups(db: AdminRouteDeps['db']): () => Promise<DeadLetterGroup[]> {
  const newCache = () => cachedQuery(GROUPS_CACHE_MS, () => listDeadLetterGroups(db.pool, EVERYTHING, MAX_GROUPS))
  let read = newCache()
  let lastEnd: string | null = null
  return async function readGroups() {
    const end = await readLastBulkEnd(db.pool)
    if (end !== lastEnd) {
      lastEnd = end
      read = newCache()
    }
    return read()
  }
}

const TYPES = { csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl; charset=utf-8' }

/** Streamed, with what is there now: dead letters that come meanwhile are not in it. */
async function sendExport(request: FastifyRequest, reply: FastifyReply, db: Database) {
  const { format, ...query } = request.query as z.output<typeof exportQuery>
  const filter = toFilter(query)
  const entries = everyDeadLetter(db.pool, { ...filter, until: filter.until ?? (await readClock(db.pool)) })
  return reply
    .type(TYPES[format])
    .header('content-disposition', `attachment; filename="dead-letters.${format}"`)
    .send(Readable.from(format === 'csv' ? asCsv(entries) : asJsonLines(entries)))
}
