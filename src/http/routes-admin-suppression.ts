import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SuppressionPolicy } from '../contracts/suppression/rules.ts'
import {
  addressSchema,
  justificationSchema,
  readEmailHash,
  SUPPRESSION_LIMITS,
  type SuppressionRow,
  suppressionDetailsSchema,
  suppressionPageSchema,
  suppressionStatsSchema,
} from '../contracts/suppression/view.ts'
import { findCompany } from '../db/companies/companies.ts'
import type { Database } from '../db/pool.ts'
import { removeSuppression } from '../db/suppression/ends.ts'
import { addSuppressions } from '../db/suppression/list.ts'
import { findEntries, listAudit, listSuppressions } from '../db/suppression/reads.ts'
import { countActive, readStats } from '../db/suppression/stats.ts'
import { cachedQuery } from '../runtime/cached-query.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { hashOrProblem, throwUnlessRemoved } from './routes-suppression.ts'
import {
  fromCursor,
  hashParam,
  listSchema,
  type PageQuery,
  pageBody,
  pageQuery,
  toCursor,
  toFilter,
} from './suppression-query.ts'

export type AdminSuppressionDeps = AdminRouteDeps & { suppression: SuppressionPolicy }

const params = z.object({ emailHash: z.string() })
const whichList = z.object({ company: listSchema.optional().describe('Needed when several lists have the address') })
const removeBody = z.strictObject({ justification: justificationSchema }).meta({
  id: 'RemoveSuppressionByAdmin',
  example: { justification: 'The mailbox works again; confirmed by phone' },
})
const addBody = z
  .strictObject({
    email: addressSchema.optional(),
    emailHash: z.string().max(71).optional(),
    reason: z.literal('MANUAL').default('MANUAL'),
    expiresInDays: z.int().min(0).max(SUPPRESSION_LIMITS.EXPIRES_IN_DAYS).optional().describe('0: for ever'),
    company: listSchema.optional().describe('The list of one company instead of the global one'),
    justification: justificationSchema,
  })
  .refine(body => (body.email === undefined) !== (body.emailHash === undefined), 'give email or emailHash')
  .meta({
    id: 'AddSuppression',
    example: { email: 'no-more-mail@example.com', justification: 'Asked by phone for no more mail' },
  })
const addedSchema = z.object({ added: z.boolean(), emailHash: z.string(), expiresAt: z.iso.datetime().nullable() })
const removedSchema = z.object({
  removed: z.literal(true),
  emailHash: z.string(),
  removedBy: z.string(),
  removedAt: z.iso.datetime(),
})

const STATS_KEEP_MS = 1_000

/** Seed 004 §5.2. Answers JSON; the page for people comes with the web UI, hence Vary. */
export function adminSuppressionRoutes(app: App, { db, onRequest: admit, suppression }: AdminSuppressionDeps): void {
  const vary = async (_request: FastifyRequest, reply: FastifyReply) => void reply.header('vary', 'Accept')
  const onRequest = [vary, admit]
  const common = { tags: ['Admin'], security: [{ administrator: [] }] }
  const refusals = problemAnswers(400, 401, 422, 429, 503)
  const changes = problemAnswers(403, 413, 415)
  const counts = cachedQuery(STATS_KEEP_MS, () => countActive(db.pool))

  app.get(
    '/admin/suppression',
    {
      onRequest,
      schema: {
        summary: 'The suppression list, newest first',
        ...common,
        querystring: pageQuery,
        response: { 200: suppressionPageSchema, ...refusals },
      },
    },
    async request => page(db, request.query as PageQuery),
  )

  app.post(
    '/admin/suppression/search',
    {
      onRequest,
      schema: {
        summary: 'The same, with an address that does not end up in a URL',
        ...common,
        body: pageBody,
        response: { 200: suppressionPageSchema, ...refusals, ...changes },
      },
    },
    async request => page(db, request.body as PageQuery),
  )

  app.get(
    '/admin/suppression/stats',
    {
      onRequest,
      schema: {
        summary: 'How many, how often they stop mail, and how they grow',
        ...common,
        response: { 200: suppressionStatsSchema, ...refusals },
      },
    },
    async () => readStats(db.pool, counts),
  )

  app.get(
    '/admin/suppression/:emailHash',
    {
      onRequest,
      schema: {
        summary: 'One entry with its history',
        ...common,
        params,
        querystring: whichList,
        response: { 200: suppressionDetailsSchema, ...refusals, ...problemAnswers(404) },
      },
    },
    async request => {
      const entry = await entryOf(db, request)
      return {
        ...shown(entry),
        updatedAt: entry.updatedAt,
        auditLog: await listAudit(db.pool, entry.emailHash, entry.companyId),
      }
    },
  )

  app.delete(
    '/admin/suppression/:emailHash',
    {
      onRequest,
      schema: {
        summary: 'Take it off the list, and say why; complaints stay',
        ...common,
        params,
        querystring: whichList,
        body: removeBody,
        response: { 200: removedSchema, ...refusals, ...changes, ...problemAnswers(404) },
      },
    },
    async request => {
      const { justification } = request.body as z.output<typeof removeBody>
      const { emailHash, companyId } = await entryOf(db, request)
      const removedBy = request.admin!
      const outcome = await removeSuppression(db.pool, {
        emailHash,
        lists: [companyId],
        performedBy: removedBy,
        justification,
      })
      throwUnlessRemoved(outcome)
      return { removed: true as const, emailHash, removedBy, removedAt: outcome.removedAt }
    },
  )

  app.post(
    '/admin/suppression',
    {
      onRequest,
      schema: {
        summary: 'Put an address on the list by hand',
        ...common,
        body: addBody,
        response: {
          200: addedSchema.describe('It was listed at least as gravely and as long'),
          201: addedSchema,
          ...refusals,
          ...changes,
        },
      },
    },
    async (request, reply) => {
      const body = request.body as z.output<typeof addBody>
      const companyId = await listNamed(db, body.company)
      const emailHash = body.email === undefined ? writtenHash(body.emailHash!) : hashOrProblem(body.email)
      const [outcome] = await addSuppressions(db.pool, [
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
      const added = outcome!.outcome !== 'unchanged'
      return reply.code(added ? 201 : 200).send({ added, emailHash, expiresAt: entry?.expiresAt ?? null })
    },
  )
}

async function page(db: Database, query: PageQuery) {
  const place = { after: fromCursor(query.cursor, query), limit: query.limit }
  const { entries, next } = await listSuppressions(db.pool, toFilter(query), query, place)
  return { data: entries.map(shown), cursor: next && toCursor(query, next), hasMore: next !== null }
}

/** The seed's shape; only an entry of a company's own list names the company. */
function shown({ id, companyId, emailHash, reason, addedAt, expiresAt, metadata }: SuppressionRow) {
  return { id, ...(companyId && { companyId }), emailHash, reason, addedAt, expiresAt, metadata }
}

/** The list that was named; otherwise the global one, or the only one that has it. */
async function entryOf(db: Database, request: FastifyRequest): Promise<SuppressionRow> {
  const emailHash = hashParam(request.params)
  const { company } = request.query as z.output<typeof whichList>
  const entries = await findEntries(db.pool, emailHash)
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

async function listNamed(db: Database, company: string | undefined): Promise<string | null> {
  if (company === undefined || company === 'global') return null
  if (await findCompany(db.pool, company)) return company
  const message = 'there is no such company'
  throw new Problem('INVALID_PAYLOAD', { errors: [{ path: 'company', code: 'INVALID_VALUE', message }] })
}

function writtenHash(text: string): string {
  const emailHash = readEmailHash(text)
  if (emailHash) return emailHash
  const message = 'must be sha256: and 64 hexadecimal digits'
  throw new Problem('INVALID_PAYLOAD', { errors: [{ path: 'emailHash', code: 'INVALID_FORMAT', message }] })
}
