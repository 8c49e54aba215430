import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { maskSensitive } from '../contracts/masking.ts'
import { rateOf } from '../contracts/reputation.ts'
import { isUuid } from '../contracts/uuid.ts'
import { listCompanyAudit } from '../db/companies/audit.ts'
import { findCompany } from '../db/companies/companies.ts'
import { type CompanyStandingRow, listStandings } from '../db/companies/reputation.ts'
import type { Database } from '../db/pool.ts'
import { type CompanyWebhooks, listCompanyWebhooks } from '../db/webhooks/health.ts'
import { pauseManually, resumeManually } from '../feedback/reputation.ts'
import type { App } from './app.ts'
import { companiesPage } from './companies-page.ts'
import { problemAnswers } from './openapi.ts'
import { sendPage, varyByAccept, wantsPage } from './page.ts'
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
const auditSchema = z.object({
  action: z.enum(['WARNED', 'WARNING_ENDED', 'PAUSED', 'RESUMED']),
  reason: z.string(),
  performedBy: z.string(),
  performedAt: z.iso.datetime(),
  metadata: z.record(z.string(), z.unknown()),
})
const reasonBody = z.strictObject({ reason: z.string().trim().min(3).max(500) }).meta({
  id: 'CompanyReason',
  example: { reason: 'Asked by the customer, see their letter of today' },
})
const params = z.object({ companyId: z.string().max(100) })
const changedSchema = z.object({
  companyId: z.uuid(),
  paused: z.boolean(),
  reason: z.string(),
  performedBy: z.string(),
})

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(401, 404, 422, 429, 503)

const listSchema = {
  summary: 'Companies, their bounce and complaint rates, who is warned or paused, and whose webhooks are disabled',
  ...common,
  response: { 200: z.object({ data: z.array(companySchema) }), ...refusals },
}
const auditLogSchema = {
  summary: 'Who warned, paused or resumed it, when and why; newest first',
  ...common,
  params,
  response: { 200: z.object({ data: z.array(auditSchema) }), ...refusals },
}
const changeSchema = {
  ...common,
  params,
  body: reasonBody,
  response: { 200: changedSchema, ...refusals, ...problemAnswers(400, 403, 409, 413, 415) },
}
const pauseSchema = { summary: 'Pause a company: its mail waits', ...changeSchema }
const resumeSchema = { summary: 'Resume a company: its mail goes on, and its figures begin anew', ...changeSchema }

/** Companies with their bounce and complaint rates; pausing and resuming, which are audited. */
export function adminCompanyRoutes(app: App, { db, onRequest: authorize }: AdminRouteDeps): void {
  const onRequest = [authorize, varyByAccept]
  const config = { role: 'administrator' } as const

  app.get('/admin/companies', { onRequest, schema: listSchema }, async (request, reply) => {
    const [standings, webhooks] = await Promise.all([listStandings(db.pool), listCompanyWebhooks(db.pool)])
    const data = standings.map(row => toView(row, webhooks.get(row.companyId)))
    return wantsPage(request, reply) ? sendPage(reply, companiesPage(data)) : { data }
  })
  app.get('/admin/companies/:companyId/audit', { onRequest, schema: auditLogSchema }, async request => {
    const rows = await listCompanyAudit(db.pool, await knownCompanyId(request, db))
    return { data: rows.map(({ companyId: _, metadata = {}, ...row }) => ({ ...row, metadata })) }
  })
  app.post('/admin/companies/:companyId/pause', { onRequest, config, schema: pauseSchema }, request =>
    change(request, db, 'pause'),
  )
  app.post('/admin/companies/:companyId/resume', { onRequest, config, schema: resumeSchema }, request =>
    change(request, db, 'resume'),
  )
}

async function change(request: FastifyRequest, db: Database, action: 'pause' | 'resume') {
  const companyId = await knownCompanyId(request, db)
  const reason = maskSensitive((request.body as z.output<typeof reasonBody>).reason)
  const performedBy = request.admin!
  const apply = action === 'pause' ? pauseManually : resumeManually
  if (!(await apply(db.pool, { companyId, reason, performedBy }))) throw new Problem('NOT_PAUSED')
  request.log.info({ companyId, performedBy, reason }, `Company: ${action}`)
  return { companyId, paused: action === 'pause', reason, performedBy }
}

async function knownCompanyId(request: FastifyRequest, db: Database): Promise<string> {
  const { companyId } = request.params as z.output<typeof params>
  if (!isUuid(companyId) || !(await findCompany(db.pool, companyId.toLowerCase()))) throw new Problem('NOT_FOUND')
  return companyId.toLowerCase()
}

const NO_WEBHOOKS: CompanyWebhooks = { enabled: 0, failing: 0, disabled: [] }

function toView(row: CompanyStandingRow, webhooks = NO_WEBHOOKS): z.output<typeof companySchema> {
  const { sent, bounced, complained } = row
  return {
    ...row,
    state: row.pausedAt ? 'paused' : row.warnedAt ? 'warned' : 'active',
    bounceRate: rateOf(bounced, sent),
    complaintRate: rateOf(complained, sent),
    webhooks,
  }
}
