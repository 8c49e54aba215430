import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ownerOf, requireKey } from '../../companies/require-key.ts'
import { addSuppressions } from '../../suppression/list.ts'
import { findBlocking, findEntryIds } from '../../suppression/reads.ts'
import { hashOrProblem, removeFromOwnList } from '../../suppression/routes.ts'
import type { SuppressionReason } from '../../suppression/rules.ts'
import { addressSchema, type SuppressionRow } from '../../suppression/view.ts'
import { Problem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { described } from './describe.ts'
import type { ResendRouteDeps } from './routes.ts'

const MAX_BATCH = 100
const JUSTIFICATION = 'By the company, through the Resend-compatible API'
const ORIGINS: Readonly<Record<SuppressionReason, string>> = {
  MANUAL: 'manual',
  HARD_BOUNCE: 'bounce',
  COMPLAINT: 'complaint',
}

const addBody = z.strictObject({ email: addressSchema }).meta({ example: { email: 'no-more-mail@example.com' } })
const batchBody = z
  .strictObject({ emails: z.array(addressSchema).min(1).max(MAX_BATCH) })
  .meta({ example: { emails: ['no-more-mail@example.com'] } })
const emailParams = z.object({ email: z.string() })

export function resendSuppressionRoutes(app: App, deps: ResendRouteDeps): void {
  const mayRead = requireKey(deps.keys, deps.pepper, 'read')
  const mayManage = requireKey(deps.keys, deps.pepper, 'manage')
  const schema = {
    add: described('Suppress an address for this company', { body: addBody }),
    addBatch: described('Suppress up to 100 addresses for this company', { body: batchBody }),
    get: described('The suppression of an address', { params: emailParams }),
    remove: described('End the suppression of an address; complaints stay', { params: emailParams }),
  }
  app.post('/suppressions', { onRequest: mayManage, schema: schema.add }, (request, reply) =>
    addOne(request, reply, deps),
  )
  app.post('/suppressions/batch/add', { onRequest: mayManage, schema: schema.addBatch }, (request, reply) =>
    addBatch(request, reply, deps),
  )
  app.get('/suppressions/:email', { onRequest: mayRead, schema: schema.get }, request => get(request, deps))
  app.delete('/suppressions/:email', { onRequest: mayManage, schema: schema.remove }, request => remove(request, deps))
}

async function addOne(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const { email } = request.body as z.output<typeof addBody>
  const [entry] = await add(request, [hashOrProblem(email)], deps)
  return reply.code(201).send(entry)
}

async function addBatch(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const { emails } = request.body as z.output<typeof batchBody>
  const hashes = emails.map((email, index) => hashOrProblem(email, `emails[${index}]`))
  return reply.code(201).send({ data: await add(request, hashes, deps) })
}

/** On the company's own list, also with SUPPRESSION_SCOPE=global: a company must not stop the mail of others. */
async function add(request: FastifyRequest, hashes: string[], { db, suppression }: ResendRouteDeps) {
  refuseTestKey(request)
  const { companyId, keyId } = request.key!
  const entries = hashes.map(emailHash => ({
    companyId,
    emailHash,
    reason: 'MANUAL' as const,
    expiresInDays: suppression.ttlDays.MANUAL,
    metadata: { keyId },
    performedBy: companyId,
    justification: JUSTIFICATION,
  }))
  await addSuppressions(db.pool, entries)
  const ids = await findEntryIds(db.pool, hashes, companyId)
  return hashes.map(emailHash => ({ object: 'suppression', id: ids.get(emailHash) }))
}

async function get(request: FastifyRequest, deps: ResendRouteDeps) {
  const { email } = request.params as z.output<typeof emailParams>
  const { id, reason, addedAt } = await findOwn(request, addressHash(email), deps)
  return { object: 'suppression', id, email, origin: ORIGINS[reason], source_id: null, created_at: addedAt }
}

async function remove(request: FastifyRequest, deps: ResendRouteDeps) {
  const { email } = request.params as z.output<typeof emailParams>
  const emailHash = addressHash(email)
  const { id } = await findOwn(request, emailHash, deps)
  const { keyId } = request.key!
  await removeFromOwnList(deps, { ...ownerOf(request), keyId }, emailHash, JUSTIFICATION)
  return { object: 'suppression', id, deleted: true }
}

/** The list is live data: test mail is never suppressed, and a test key must not reveal listed addresses. */
async function findOwn(request: FastifyRequest, emailHash: string, { db }: ResendRouteDeps): Promise<SuppressionRow> {
  const { companyId, test } = ownerOf(request)
  const entry = test ? null : await findBlocking(db.pool, emailHash, companyId)
  if (!entry) throw new Problem('NOT_SUPPRESSED')
  return entry
}

function addressHash(email: string): string {
  if (email.includes('@')) return hashOrProblem(email)
  const detail = 'The gateway holds hashes of addresses: name the suppression by its address, not by its id.'
  throw new Problem('NOT_SUPPRESSED', { detail })
}

function refuseTestKey(request: FastifyRequest): void {
  if (!ownerOf(request).test) return
  const detail = 'The suppression list is live data; use a live key.'
  throw new Problem('INSUFFICIENT_SCOPE', { detail })
}
