import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { findCompany } from '../companies/companies.ts'
import { endJob, findJob, JOB_STATES, type Job, listBulkActions } from '../jobs/jobs.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { CSV_RULES } from '../platform/text/refusal.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { CsvProblem } from '../suppression/csv.ts'
import { submitImport } from '../suppression/import.ts'
import type { SuppressionPolicy } from '../suppression/rules.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { boundBodies, IMPORT_BODY_LIMIT, IMPORT_MEMORY } from '../web/body.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, invalidFields, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { submitChosen, submitWalk } from './jobs.ts'
import { deadLetterFilterFields, toFilter } from './view.ts'

const BULK_ACTION_KINDS = ['replay-dead-letters', 'purge-dead-letters', 'import-suppressions'] as const

const BULK_LIMITS = {
  IDS: 1_000,
  CSV_BYTES: 5 * 1024 * 1024,
  CSV_LINES: 100_000,
  PAGE: 100,
} as const

const deadLetterSelection = {
  reason: justificationSchema,
  outboxIds: z
    .array(z.string().refine(isUuid, 'must be the id of an e-mail'))
    .min(1)
    .max(BULK_LIMITS.IDS)
    .optional()
    .describe('These e-mails'),
  filter: z
    .strictObject(deadLetterFilterFields)
    .optional()
    .describe('All that match and exist now; {} is every dead letter'),
}

const isOneSelection = (body: { outboxIds?: unknown; filter?: unknown }) =>
  (body.outboxIds === undefined) !== (body.filter === undefined)

const newBulkActionSchema = z
  .discriminatedUnion('kind', [
    z
      .strictObject({ kind: z.literal('replay-dead-letters'), ...deadLetterSelection })
      .refine(isOneSelection, 'give outboxIds or filter'),
    z
      .strictObject({ kind: z.literal('purge-dead-letters'), ...deadLetterSelection })
      .refine(isOneSelection, 'give outboxIds or filter'),
    z.strictObject({
      kind: z.literal('import-suppressions'),
      reason: justificationSchema,
      csv: z
        .string()
        .min(1)
        .max(BULK_LIMITS.CSV_BYTES)
        .describe(
          `Columns: reason and email or email_hash; optional: expires_at, company. At most ${BULK_LIMITS.CSV_LINES} lines`,
        ),
      company: z.uuid().optional().describe('For lines without a company; the global list when left out'),
    }),
  ])
  .meta({
    id: 'NewBulkAction',
    example: {
      kind: 'replay-dead-letters',
      reason: 'The provider works again',
      filter: { code: 'SES_THROTTLED' },
    },
  })
type NewBulkActionBody = z.output<typeof newBulkActionSchema>

const count = z.int().min(0)
const time = z.iso.datetime()

const bulkActionSchema = z
  .object({
    actionId: z.uuid(),
    kind: z.enum(BULK_ACTION_KINDS),
    selection: z
      .object({
        company: z.string().nullish(),
        code: z.string().nullish(),
        status: z.string().nullish(),
        since: z.string().nullish(),
        until: z.string().nullish(),
        chosen: count.optional().describe('So many e-mails by their ids'),
        lines: count.optional().describe('So many lines of an imported file'),
      })
      .describe('The filter, as it was when the action was asked for'),
    requestedBy: z.string(),
    reason: z.string(),
    state: z.enum(JOB_STATES),
    total: count,
    done: count,
    failed: count.describe('Could not be done'),
    counts: z.record(z.string(), count).describe('What became of them, by outcome'),
    problems: z
      .array(z.object({ line: z.int(), problem: z.string(), rule: z.enum(CSV_RULES).optional() }))
      .describe('The first refused lines of an imported file'),
    lastError: z.string().nullable(),
    createdAt: time,
    startedAt: time.nullable(),
    updatedAt: time,
    finishedAt: time.nullable(),
  })
  .meta({ id: 'BulkAction' })
export type BulkAction = z.output<typeof bulkActionSchema>

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
    const jobs = await listBulkActions(db.pool, { kind: kind ?? null, open: open === 'true' }, limit)
    return { data: jobs.map(toBulkAction) }
  })
  app.get('/admin/bulk-actions/:actionId', { onRequest, schema: showSchema }, request =>
    findBulkAction(db, uuidParam(request, 'actionId')),
  )
  app.post('/admin/bulk-actions/:actionId/stop', { onRequest, schema: stopSchema }, async request => {
    const { actionId } = await findBulkAction(db, uuidParam(request, 'actionId'))
    const stopped = await endJob(db.pool, actionId, 'stopped', request.admin!)
    if (!stopped) throw new Problem('ALREADY_ENDED')
    return toBulkAction(stopped)
  })
}

async function findBulkAction(db: Database, actionId: string): Promise<BulkAction> {
  const job = await findJob(db.pool, actionId)
  if (!job?.isBulkAction) throw new Problem('NOT_FOUND')
  return toBulkAction(job)
}

function toBulkAction({ jobId, kind, input, isBulkAction, companyId, position, ...job }: Job): BulkAction {
  return { actionId: jobId, kind, selection: input, ...job } as BulkAction
}

async function create(request: FastifyRequest, reply: FastifyReply, deps: BulkActionDeps) {
  const body = request.body as NewBulkActionBody
  const company = body.kind === 'import-suppressions' ? body.company : body.filter?.company
  if (company !== undefined && !(await findCompany(deps.db.pool, company)))
    throw invalidField('company', 'there is no such company', 'INVALID_VALUE')
  const actionId = await submit(body, request.admin!, deps)
  return reply.code(202).send(await findBulkAction(deps.db, actionId))
}

async function submit(body: NewBulkActionBody, requestedBy: string, { db, suppression }: BulkActionDeps) {
  const by = { requestedBy, reason: body.reason, isBulkAction: true }
  if (body.kind !== 'import-suppressions') {
    const request = { use: body.kind === 'purge-dead-letters' ? 'purge' : 'replay', ...by } as const
    return body.outboxIds
      ? submitChosen(db.pool, body.outboxIds, request)
      : submitWalk(db.pool, toFilter(body.filter!), request)
  }
  const text = {
    lines: body.csv.split(/\r\n|\r|\n/),
    maxLines: BULK_LIMITS.CSV_LINES,
    companyId: body.company ?? null,
    ttlDays: suppression.ttlDays,
  }
  try {
    return (await submitImport(db.pool, text, by)).jobId
  } catch (error) {
    if (!(error instanceof CsvProblem)) throw error
    const { rule, message, details } = error
    throw invalidFields([{ path: 'csv', code: 'INVALID_FORMAT', message, rule, ...details }])
  }
}
