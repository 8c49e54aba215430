import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { maskSensitive } from '../contracts/masking.ts'
import { rateOf } from '../contracts/reputation.ts'
import { justificationSchema } from '../contracts/suppression/view.ts'
import { listCompanyAudit } from '../db/companies/audit.ts'
import { listQueues } from '../db/companies/queues.ts'
import { type CompanyStandingRow, listStandings } from '../db/companies/reputation.ts'
import type { Database } from '../db/pool.ts'
import { listVolumes } from '../db/statistics.ts'
import { type CompanyWebhooks, listCompanyWebhooks } from '../db/webhooks/health.ts'
import { pauseManually, resumeManually } from '../feedback/reputation.ts'
import { ADMINISTRATORS, knownCompany, companyParams as params } from './admin-company.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

const instant = z.iso.datetime().nullable()
const companySchema = z
  .object({
    companyId: z.uuid(),
    name: z.string(),
    state: z.enum(['active', 'warned', 'paused']),
    sent: z.number().describe('Recipients of the last 24 hours, or since the company was resumed'),
    bounced: z.number().describe('Permanent bounces among them'),
    complained: z.number(),
    bounceRate: z.number(),
    complaintRate: z.number(),
    accepted: z.int().describe('E-mails of the last 24 hours, from the beginning of an hour'),
    waiting: z.int().describe('E-mails that could be sent now; counted up to 1000'),
    oldestWaitingSeconds: z.number().nullable(),
    isDefault: z.boolean().describe('E-mails that come by SQL without a company are its own'),
    weight: z.int(),
    ratePerSecond: z.number().nullable(),
    warnedAt: instant,
    warnReason: z.string().nullable(),
    pausedAt: instant,
    pauseReason: z.string().nullable(),
    pausedBy: z.string().nullable().describe('`reputation`, or who paused it'),
    webhooks: z.object({
      enabled: z.int(),
      failing: z.int().describe('Enabled, and nothing taken since an attempt failed'),
      disabled: z
        .array(z.object({ webhookId: z.uuid(), reason: z.enum(['GONE', 'FAILING']), disabledAt: z.iso.datetime() }))
        .describe('By the gateway, for what they answered; the last one first'),
    }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'CompanyStanding' })
const auditSchema = z
  .object({
    id: z.int(),
    action: z.string(),
    subjectType: z.string(),
    subjectId: z.string(),
    reason: z.string().nullable(),
    performedBy: z.string(),
    performedAt: z.iso.datetime(),
    before: z.record(z.string(), z.unknown()).nullable(),
    after: z.record(z.string(), z.unknown()).nullable(),
  })
  .meta({ id: 'CompanyAudit' })
const auditQuery = z.object({
  cursor: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(100),
})
const reasonBody = z.strictObject({ reason: justificationSchema }).meta({
  id: 'CompanyReason',
  example: { reason: 'Asked by the customer, see their letter of today' },
})
const changedSchema = z.object({
  companyId: z.uuid(),
  paused: z.boolean(),
  reason: z.string(),
  performedBy: z.string(),
})

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(401, 403, 404, 422, 429, 503)

const listSchema = {
  summary: 'Companies, their bounce and complaint rates, who is warned or paused, and whose webhooks are disabled',
  ...common,
  response: { 200: z.object({ data: z.array(companySchema) }), ...refusals },
}
const auditLogSchema = {
  summary: 'Who changed the company, its keys, webhooks and templates, when and why; newest first',
  ...common,
  params,
  querystring: auditQuery,
  response: {
    200: z.object({ data: z.array(auditSchema), cursor: z.int().nullable(), hasMore: z.boolean() }),
    ...refusals,
  },
}
const changeSchema = {
  ...common,
  params,
  body: reasonBody,
  response: { 200: changedSchema, ...refusals, ...problemAnswers(400, 409, 413, 415) },
}
const pauseSchema = { summary: 'Pause a company: its mail waits', ...changeSchema }
const resumeSchema = { summary: 'Resume a company: its mail goes on, and its figures begin anew', ...changeSchema }

/** Companies with their bounce and complaint rates; pausing and resuming, which are audited. */
export function adminCompanyRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.get('/admin/companies', { onRequest, schema: listSchema }, async () => ({ data: await listCompanyViews(db) }))
  app.get('/admin/companies/:companyId/audit', { onRequest, schema: auditLogSchema }, async request => {
    const { companyId } = await knownCompany(request, db)
    const { cursor: beforeId = null, limit } = request.query as z.output<typeof auditQuery>
    const rows = await listCompanyAudit(db.pool, companyId, { beforeId, limit: limit + 1 })
    const data = rows.slice(0, limit)
    const hasMore = rows.length > limit
    return { data, cursor: hasMore ? data.at(-1)!.id : null, hasMore }
  })
  const changing = { onRequest, config: ADMINISTRATORS }
  app.post('/admin/companies/:companyId/pause', { ...changing, schema: pauseSchema }, request =>
    change(request, db, 'pause'),
  )
  app.post('/admin/companies/:companyId/resume', { ...changing, schema: resumeSchema }, request =>
    change(request, db, 'resume'),
  )
}

async function change(request: FastifyRequest, db: Database, action: 'pause' | 'resume') {
  const { companyId } = await knownCompany(request, db)
  const reason = maskSensitive((request.body as z.output<typeof reasonBody>).reason)
  const performedBy = request.admin!
  const apply = action === 'pause' ? pauseManually : resumeManually
  if (!(await apply(db.pool, { companyId, reason, performedBy })))
    throw new Problem(action === 'pause' ? 'PAUSED_BY_REPUTATION' : 'NOT_PAUSED')
  request.log.info({ companyId, performedBy, reason }, `Company: ${action}`)
  return { companyId, paused: action === 'pause', reason, performedBy }
}

const NO_WEBHOOKS: CompanyWebhooks = { enabled: 0, failing: 0, disabled: [] }

type CompanyView = z.output<typeof companySchema>

async function listCompanyViews(db: Database): Promise<CompanyView[]> {
  const [standings, webhooks, queues, volumes] = await Promise.all([
    listStandings(db.pool),
    listCompanyWebhooks(db.pool),
    listQueues(db.pool),
    listVolumes(db.pool),
  ])
  const queueOf = new Map(queues.map(queue => [queue.companyId, queue]))
  return standings.map(row => ({
    ...toView(row),
    accepted: volumes.get(row.companyId) ?? 0,
    waiting: queueOf.get(row.companyId)?.ready ?? 0,
    oldestWaitingSeconds: queueOf.get(row.companyId)?.oldestWaitingSeconds ?? null,
    webhooks: webhooks.get(row.companyId) ?? NO_WEBHOOKS,
  }))
}

function toView(row: CompanyStandingRow) {
  const { sent, bounced, complained } = row
  return {
    ...row,
    state: row.pausedAt ? ('paused' as const) : row.warnedAt ? ('warned' as const) : ('active' as const),
    bounceRate: rateOf(bounced, sent),
    complaintRate: rateOf(complained, sent),
  }
}
