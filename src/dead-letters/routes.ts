import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readLastJobEnd } from '../jobs/jobs.ts'
import {
  countDeadLetters,
  type DeadLetter,
  type DeadLetterCursor,
  everyDeadLetter,
  findDeadLetter,
  listDeadLetters,
  readClock,
} from '../outbox/dead-letters.ts'
import { cachedQuery } from '../platform/cache.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { iso, type Queryable, runUnprepared } from '../platform/postgres/query.ts'
import { csvLine } from '../platform/text/csv.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { isUuid } from '../platform/text/uuid.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import {
  DEAD_LETTER_PAGE,
  deadLetterCountSchema,
  deadLetterFilterFields,
  deadLetterGroupsSchema,
  deadLetterPageSchema,
  deadLetterSchema,
  toFilter,
} from './view.ts'

const filterQuery = z.object(deadLetterFilterFields)
const pageQuery = z.object({
  ...deadLetterFilterFields,
  cursor: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(DEAD_LETTER_PAGE).default(50),
})
const exportQuery = z.object({ ...deadLetterFilterFields, format: z.enum(['csv', 'jsonl']).default('csv') })

const toCursor = ({ movedAt, outboxId }: DeadLetterCursor) => `${movedAt}_${outboxId}`

function fromCursor(cursor: string | undefined): DeadLetterCursor | null {
  if (cursor === undefined) return null
  const [movedAt = '', outboxId = ''] = cursor.split('_')
  if (rangeEndSchema.safeParse(movedAt).success && isUuid(outboxId)) return { movedAt, outboxId }
  throw invalidField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
}

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
    const end = await readLastJobEnd(db.pool)
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

const COLUMNS: [name: string, (entry: DeadLetter) => string | number | null | undefined][] = [
  ['outbox_id', entry => entry.outboxId],
  ['company_id', entry => entry.companyId],
  ['company', entry => entry.companyName],
  ['status', entry => entry.status],
  ['code', entry => entry.lastFailureCode],
  ['provider_code', entry => entry.providerCode],
  ['reason', entry => entry.lastFailureReason],
  ['attempts', entry => entry.failedAttempts],
  ['enqueued_at', entry => entry.enqueuedAt],
  ['moved_at', entry => entry.movedToDLQAt],
  ['replayable', entry => (entry.replayable ? 'yes' : 'no')],
  ['from', entry => textOf(entry.originalData.from)],
  ['to', entry => textOf(entry.originalData.to)],
  ['subject', entry => textOf(entry.originalData.subject)],
  ['external_id', entry => textOf(entry.originalData.externalId)],
  ['template', entry => textOf(entry.originalData.templateType)],
  ['tags', entry => textOf(entry.originalData.tags)],
]

const textOf = (value: unknown) => [value ?? []].flat().map(String).join(' ')

const ENTRIES_AT_ONCE = 100

async function* asCsv(entries: AsyncIterable<DeadLetter>): AsyncGenerator<string> {
  yield* inPieces(
    entries,
    entry => csvLine(COLUMNS.map(([, read]) => read(entry))),
    csvLine(COLUMNS.map(([name]) => name)),
  )
}

async function* asJsonLines(entries: AsyncIterable<DeadLetter>): AsyncGenerator<string> {
  yield* inPieces(entries, entry => `${JSON.stringify(entry)}\n`, '')
}

/** The first piece is there even without an entry. */
async function* inPieces(entries: AsyncIterable<DeadLetter>, line: (entry: DeadLetter) => string, head: string) {
  let text = head
  let count = 0
  for await (const entry of entries) {
    text += line(entry)
    if (++count % ENTRIES_AT_ONCE !== 0) continue
    yield text
    text = ''
  }
  yield text
}

type DeadLetterGroup = {
  code: string | null
  companyId: string
  companyName: string
  entries: number
  firstSeen: string
  lastSeen: string
  /** Of the newest one. */
  lastReason: string
  providerCode: string | null
}

type DeadLetterGroupFilter = { companyId: string | null; since: string | null; until: string | null }

/** Reads the index dead_letters_group alone, and one entry for each group that is shown. The largest groups first. */
async function listDeadLetterGroups(
  db: Queryable,
  { companyId, since, until }: DeadLetterGroupFilter,
  limit: number,
): Promise<DeadLetterGroup[]> {
  return runUnprepared<DeadLetterGroup>(
    db,
    `with groups as materialized (
       select last_failure_code as code, company_id, count(*)::int as entries, min(moved_at) as first_seen, max(moved_at) as last_seen
       from dead_letters d
       where ($1::uuid is null or company_id = $1) and moved_at >= coalesce($2::timestamptz, '-infinity')
         and moved_at <= coalesce($3::timestamptz, 'infinity')
       group by 1, 2 order by entries desc, last_seen desc, code limit $4)
     select g.code, g.company_id as "companyId", coalesce(c.name, g.company_id::text) as "companyName", g.entries,
       ${iso('g.first_seen')} as "firstSeen", ${iso('g.last_seen')} as "lastSeen",
       newest.last_failure_reason as "lastReason", newest.provider_code as "providerCode"
     from groups g left join companies c on c.company_id = g.company_id
     cross join lateral (
       select d.last_failure_reason, d.provider_code from dead_letters d
       where d.last_failure_code is not distinct from g.code and d.company_id = g.company_id and d.moved_at = g.last_seen limit 1) newest
     order by g.entries desc, g.last_seen desc, g.code`,
    [companyId, since, until, limit],
  )
}
