import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { findCompany } from '../companies/companies.ts'
import { CsvProblem } from '../suppression/csv.ts'
import type { SuppressionPolicy } from '../suppression/rules.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { boundBodies, IMPORT_BODY_LIMIT, IMPORT_MEMORY } from '../web/body.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, invalidFields, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { requestBulkAction } from './request.ts'
import { findBulkAction, listBulkActions, stopBulkAction } from './stored.ts'
import {
  BULK_ACTION_KINDS,
  BULK_LIMITS,
  bulkActionSchema,
  type NewBulkActionBody,
  newBulkActionSchema,
} from './view.ts'

export type BulkActionDeps = AdminRouteDeps & { suppression: SuppressionPolicy }

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const changeRefusals = problemAnswers(400, 401, 403, 413, 415, 422, 429, 503)
const params = z.object({ actionId: z.string() })

const listQuery = z.object({
  kind: z.enum(BULK_ACTION_KINDS).optional(),
  open: z.enum(['true', 'false']).default('false').describe('Only those that have not ended'),
  limit: z.coerce.number().int().min(1).max(BULK_LIMITS.PAGE).default(20),
})

const createSchema = {
  summary: 'Replay or purge many dead letters, or import suppressions: carried out by a worker, in batches',
  ...common,
  body: newBulkActionSchema,
  response: { 202: bulkActionSchema, ...changeRefusals },
}
const listSchema = {
  summary: 'Bulk actions, newest first',
  ...common,
  querystring: listQuery,
  response: { 200: z.object({ data: z.array(bulkActionSchema) }), ...problemAnswers(401, 422, 429, 503) },
}
const showSchema = {
  summary: 'One bulk action and its progress',
  ...common,
  params,
  response: { 200: bulkActionSchema, ...problemAnswers(401, 404, 429, 503) },
}
const stopSchema = {
  summary: 'Stop it after the batch under way; what was done stays done',
  ...common,
  params,
  response: { 200: bulkActionSchema, ...changeRefusals, ...problemAnswers(404, 409) },
}

export function adminBulkActionRoutes(app: App, deps: BulkActionDeps): void {
  const { db, onRequest } = deps
  const mayUpload = [onRequest, boundBodies(IMPORT_MEMORY, request => request.admin!)]

  app.post(
    '/admin/bulk-actions',
    { onRequest: mayUpload, bodyLimit: IMPORT_BODY_LIMIT, schema: createSchema },
    (request, reply) => create(request, reply, deps),
  )
  app.get('/admin/bulk-actions', { onRequest, schema: listSchema }, async request => {
    const { kind, open, limit } = request.query as z.output<typeof listQuery>
    return { data: await listBulkActions(db.pool, { kind: kind ?? null, open: open === 'true' }, limit) }
  })
  app.get('/admin/bulk-actions/:actionId', { onRequest, schema: showSchema }, async request => {
    const action = await findBulkAction(db.pool, uuidParam(request, 'actionId'))
    if (!action) throw new Problem('NOT_FOUND')
    return action
  })
  app.post('/admin/bulk-actions/:actionId/stop', { onRequest, schema: stopSchema }, async request => {
    const actionId = uuidParam(request, 'actionId')
    const stopped = await stopBulkAction(db.pool, actionId, request.admin!)
    if (stopped) return stopped
    throw new Problem((await findBulkAction(db.pool, actionId)) ? 'ALREADY_ENDED' : 'NOT_FOUND')
  })
}

async function create(request: FastifyRequest, reply: FastifyReply, { db, suppression }: BulkActionDeps) {
  const body = request.body as NewBulkActionBody
  const company = body.kind === 'import-suppressions' ? body.company : body.filter?.company
  if (company !== undefined && !(await findCompany(db.pool, company)))
    throw invalidField('company', 'there is no such company', 'INVALID_VALUE')
  const asked = { body, requestedBy: request.admin!, ttlDays: suppression.ttlDays }
  const actionId = await requestBulkAction(db.pool, asked).catch(refuseCsv)
  return reply.code(202).send(await findBulkAction(db.pool, actionId))
}

function refuseCsv(error: unknown): never {
  if (!(error instanceof CsvProblem)) throw error
  const { rule, message, details } = error
  throw invalidFields([{ path: 'csv', code: 'INVALID_FORMAT', message, rule, ...details }])
}
