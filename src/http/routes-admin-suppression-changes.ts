import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SuppressionPolicy } from '../contracts/suppression/rules.ts'
import { addressSchema, justificationSchema, readEmailHash, SUPPRESSION_LIMITS } from '../contracts/suppression/view.ts'
import { findCompany } from '../db/companies/companies.ts'
import type { Database } from '../db/pool.ts'
import { removeSuppression } from '../db/suppression/ends.ts'
import { addSuppressions } from '../db/suppression/list.ts'
import { findEntries } from '../db/suppression/reads.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { invalidField } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { hashOrProblem, throwUnlessRemoved } from './routes-suppression.ts'
import { entryParams, entryQuery, findEntry } from './suppression-entry.ts'
import { listSchema } from './suppression-query.ts'

export type AdminSuppressionDeps = AdminRouteDeps & { suppression: SuppressionPolicy }

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(400, 401, 403, 413, 415, 422, 429, 503)

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
  response: { 200: removedSchema, ...refusals, ...problemAnswers(404) },
}

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
const addSchema = {
  summary: 'Put an address on the list by hand',
  ...common,
  body: addBody,
  response: {
    200: addedSchema.describe('It was listed at least as gravely and as long'),
    201: addedSchema,
    ...refusals,
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
