import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { type KeyRegistry, ownerOf, requireKey } from '../companies/require-key.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { problemAnswers } from '../web/openapi.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { type RemovalOutcome, removeSuppression } from './list.ts'
import { findBlocking } from './reads.ts'
import { listOf, type SuppressionPolicy } from './rules.ts'
import { addressSchema, hashOfAddress, type SuppressionRow, suppressionCheckSchema } from './view.ts'

export type SuppressionRouteDeps = { db: Database; keys: KeyRegistry; pepper: string; suppression: SuppressionPolicy }

const checkBody = z
  .strictObject({ email: addressSchema })
  .meta({ id: 'CheckSuppression', example: { email: 'maria@example.com' } })
const removeBody = z.strictObject({ email: addressSchema, justification: justificationSchema }).meta({
  id: 'RemoveSuppression',
  example: { email: 'maria@example.com', justification: 'Maria has a new mailbox under the same address' },
})
const removedSchema = z.object({ removed: z.literal(true), emailHash: z.string() })
const tags = ['Suppression']
const refusals = problemAnswers(400, 401, 403, 422, 503)

const checkSchema = {
  summary: 'Whether mail to an address is suppressed',
  tags,
  body: checkBody,
  response: { 200: suppressionCheckSchema, ...refusals, ...problemAnswers(413, 415) },
}
const checkByQuerySchema = {
  summary: 'Whether mail to an address is suppressed; prefer POST, since query strings end up in logs',
  tags,
  querystring: z.object({ email: addressSchema.describe('Percent-encoded: a plus sign is %2B') }),
  response: { 200: suppressionCheckSchema, ...refusals },
}
const removeSchema = {
  summary: 'Take an address off the list, and say why; complaints stay',
  tags,
  body: removeBody,
  response: { 200: removedSchema, ...refusals, ...problemAnswers(404, 413, 415) },
}

/** For companies: whether mail to an address is suppressed, and removal from the company's own list. */
export function suppressionRoutes(app: App, deps: SuppressionRouteDeps): void {
  const mayRead = requireKey(deps.keys, deps.pepper, 'read')
  const mayManage = requireKey(deps.keys, deps.pepper, 'manage')

  app.post('/v1/suppression/check', { onRequest: mayRead, schema: checkSchema }, request =>
    check(request, (request.body as z.output<typeof checkBody>).email, deps),
  )
  app.get('/v1/suppression/check', { onRequest: mayRead, schema: checkByQuerySchema }, request =>
    check(request, (request.query as { email: string }).email, deps),
  )
  app.delete('/v1/suppression', { onRequest: mayManage, schema: removeSchema }, request => remove(request, deps))
}

/** The list is live data: test mail is never suppressed, and a test key must not reveal listed addresses. */
async function check(request: FastifyRequest, email: string, { db }: SuppressionRouteDeps) {
  const emailHash = hashOrProblem(email)
  const { companyId, test } = ownerOf(request)
  return toCheck(test ? null : await findBlocking(db.pool, emailHash, companyId))
}

async function remove(request: FastifyRequest, deps: SuppressionRouteDeps) {
  const { email, justification } = request.body as z.output<typeof removeBody>
  const emailHash = hashOrProblem(email)
  await removeOwnSuppression(request, emailHash, justification, deps)
  return { removed: true as const, emailHash }
}

export async function removeOwnSuppression(
  request: FastifyRequest,
  emailHash: string,
  justification: string,
  { db, suppression }: SuppressionRouteDeps,
): Promise<void> {
  const { companyId, keyId } = request.key!
  if (ownerOf(request).test)
    throw new Problem('NOT_SUPPRESSED', { detail: 'The suppression list is live data; use a live key.' })
  // With SUPPRESSION_SCOPE=global a company may still have entries of its own from before, which block as well.
  const lists = [...new Set([companyId, listOf(companyId, suppression.scope)])]
  const removal = { emailHash, lists, performedBy: companyId, justification, metadata: { keyId } }
  const outcome = await removeSuppression(db.pool, removal)
  if (outcome.kind === 'not-listed' && (await findBlocking(db.pool, emailHash, companyId)))
    throw new Problem('NOT_SUPPRESSED', {
      detail: "The address is on the gateway's own list, not on this company's; ask its administrators.",
    })
  throwUnlessRemoved(outcome)
}

export function throwUnlessRemoved(outcome: RemovalOutcome): asserts outcome is RemovalOutcome & { kind: 'removed' } {
  if (outcome.kind === 'complaint') throw new Problem('COMPLAINT_NOT_REMOVABLE')
  if (outcome.kind === 'not-listed') throw new Problem('NOT_SUPPRESSED')
}

export function hashOrProblem(email: string, path = 'email'): string {
  const hashed = hashOfAddress(email)
  if (!hashed.ok) throw new Problem('INVALID_EMAIL', { errors: [{ path, ...hashed.problem }] })
  return hashed.emailHash
}

function toCheck(entry: SuppressionRow | null): z.output<typeof suppressionCheckSchema> {
  if (!entry) return { suppressed: false }
  const { reason, addedAt, expiresAt } = entry
  return { suppressed: true, reason, addedAt, expiresAt }
}
