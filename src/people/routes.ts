import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { findCompany } from '../companies/companies.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { eraseWithin, findReceipt, requestErasure } from './erase.ts'
import { type ExportDeps, exportPerson } from './export.ts'
import { type Person, personExportSchema, personSchema, receiptSchema } from './people.ts'

export type AdminPeopleDeps = AdminRouteDeps & { pepper: string; webhooks: { keys: ExportDeps['keys'] } }

/** How long the request itself erases; afterwards the workers go on, and the answer is 202. */
const ERASE_MS = 5_000

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(400, 401, 403, 413, 415, 422, 429, 503)

const eraseSchema = {
  summary: 'Erase a person: every e-mail and record of this address, document or external id',
  ...common,
  body: personSchema,
  response: {
    200: receiptSchema,
    202: receiptSchema.describe(
      'Not done yet, or an earlier erasure of this person is not: the gateway goes on, and the receipt shows when it is done',
    ),
    ...refusals,
  },
}
const receiptRouteSchema = {
  summary: 'The receipt of an erasure',
  ...common,
  params: z.object({ receiptId: z.string() }),
  response: { 200: receiptSchema, ...problemAnswers(401, 404, 429, 503) },
}
const exportSchema = {
  summary: 'Everything that is kept about a person, as one JSON document',
  ...common,
  body: personSchema,
  response: { 200: personExportSchema, ...refusals },
}

/** Identifiers come in the body and never in the URL, which ends up in logs. */
export function adminPeopleRoutes(app: App, deps: AdminPeopleDeps): void {
  const { db, onRequest, pepper } = deps
  const config = { role: 'administrator' } as const

  app.post('/admin/people/erase', { onRequest, config, schema: eraseSchema }, async (request, reply) => {
    const { person, companyId } = await personOf(request, deps)
    const asked = { person, companyId, requestedBy: request.admin!, pepper }
    const receipt = await eraseWithin(db.pool, await requestErasure(db.pool, asked), ERASE_MS)
    const done = receipt.state === 'done' && receipt.unfinished.length === 0
    return reply.code(done ? 200 : 202).send(receipt)
  })
  app.get('/admin/people/erasures/:receiptId', { onRequest, schema: receiptRouteSchema }, async request => {
    const receipt = await findReceipt(db.pool, uuidParam(request, 'receiptId'))
    if (!receipt) throw new Problem('NOT_FOUND')
    return receipt
  })
  app.post('/admin/people/export', { onRequest, config, schema: exportSchema }, (request, reply) =>
    sendExport(request, reply, deps),
  )
}

async function sendExport(request: FastifyRequest, reply: FastifyReply, deps: AdminPeopleDeps) {
  const { person, companyId } = await personOf(request, deps)
  const { db, pepper, webhooks } = deps
  const pieces = await exportPerson(
    { person, companyId, requestedBy: request.admin! },
    { db: db.pool, pepper, keys: webhooks.keys },
  )
  return reply.type('application/json').send(pieces)
}

async function personOf(request: FastifyRequest, { db }: AdminPeopleDeps) {
  const person = request.body as Person
  if (person.company === undefined) return { person, companyId: null }
  const company = await findCompany(db.pool, person.company)
  if (!company) throw invalidField('company', 'there is no such company', 'INVALID_VALUE')
  return { person, companyId: company.companyId }
}
