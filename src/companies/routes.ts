import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { type CompanyWebhooks, listCompanyWebhooks } from '../webhooks/overview.ts'
import { addCompany, changeCompany, listCompanyAudit } from './changes.ts'
import type { Company, CompanyChange } from './companies.ts'
import {
  ADMINISTRATORS,
  adminAuthor,
  adminBodyRefusals,
  adminDescription,
  adminRefusals,
  companyParams,
  knownCompany,
  companyParams as params,
} from './company-of-request.ts'
import { type CompanyStandingRow, listStandings, pauseManually, rateOf, resumeManually } from './reputation.ts'
import {
  companyChangeSchema,
  companySettingsSchema,
  companyWithKeySchema,
  newCompanySchema,
  parseDefaultFrom,
} from './settings.ts'
import { listVolumes } from './statistics.ts'
import { listQueues } from './turns.ts'

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
const pausing = {
  ...common,
  params,
  body: reasonBody,
  response: { 200: changedSchema, ...refusals, ...problemAnswers(400, 409, 413, 415) },
}
const pauseSchema = { summary: 'Pause a company: its mail waits', ...pausing }
const resumeSchema = { summary: 'Resume a company: its mail goes on, and its figures begin anew', ...pausing }

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
    pauseOrResume(request, db, 'pause'),
  )
  app.post('/admin/companies/:companyId/resume', { ...changing, schema: resumeSchema }, request =>
    pauseOrResume(request, db, 'resume'),
  )
}

async function pauseOrResume(request: FastifyRequest, db: Database, action: 'pause' | 'resume') {
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

export type AdminKeyDeps = AdminRouteDeps & { pepper: string }

const createSchema = {
  summary: 'Create a company and its first API key, which is shown once',
  ...adminDescription,
  body: newCompanySchema,
  response: { 201: companyWithKeySchema, ...adminRefusals, ...adminBodyRefusals },
}
const showSchema = {
  summary: 'The settings of one company',
  ...adminDescription,
  params: companyParams,
  response: { 200: companySettingsSchema, ...adminRefusals },
}
const settingsSchema = {
  summary: 'Change the given settings of a company and no others',
  ...adminDescription,
  params: companyParams,
  body: companyChangeSchema,
  response: { 200: companySettingsSchema, ...adminRefusals, ...adminBodyRefusals },
}

export function adminCompanyChangeRoutes(app: App, deps: AdminKeyDeps): void {
  const { onRequest } = deps
  const changing = { onRequest, config: ADMINISTRATORS }
  app.post('/admin/companies', { ...changing, schema: createSchema }, (request, reply) => create(request, reply, deps))
  app.get('/admin/companies/:companyId', { onRequest, schema: showSchema }, async request =>
    toSettings(await knownCompany(request, deps.db)),
  )
  app.patch('/admin/companies/:companyId', { ...changing, schema: settingsSchema }, request =>
    changeSettings(request, deps),
  )
}

async function create(request: FastifyRequest, reply: FastifyReply, { db, pepper }: AdminKeyDeps) {
  const { reason: _, ...wanted } = request.body as z.output<typeof newCompanySchema>
  const settings = withSender(wanted, { fromDomains: [], defaultFrom: null })
  const added = await addCompany(db, pepper, { ...settings, name: wanted.name }, adminAuthor(request))
  if (!added) throw new Problem('COMPANY_EXISTS', { detail: `There is a company "${wanted.name}" already.` })
  const { company, keyId, apiKey } = added
  return reply
    .code(201)
    .header('location', `/admin/companies/${company.companyId}`)
    .send({ company: toSettings(company), keyId, apiKey })
}

async function changeSettings(request: FastifyRequest, { db }: AdminKeyDeps) {
  const company = await knownCompany(request, db)
  const { reason: _, isDefault, ...wanted } = request.body as z.output<typeof companyChangeSchema>
  const settings = { ...withSender(wanted, company), isDefault }
  const changed = await changeCompany(db.pool, company.companyId, settings, adminAuthor(request))
  if (!changed) throw new Problem('NOT_FOUND')
  return toSettings(changed)
}

type Wanted = { [Name in keyof CompanyChange]?: CompanyChange[Name] | undefined }

/** The default sender has to be of one of the domains, whichever of the two is changed. */
function withSender(wanted: Wanted, current: Pick<Company, 'fromDomains' | 'defaultFrom'>): CompanyChange {
  const { defaultFrom = current.defaultFrom, fromDomains = current.fromDomains } = wanted
  const changeSettings = Object.fromEntries(
    Object.entries(wanted).filter(([, value]) => value !== undefined),
  ) as CompanyChange
  if (defaultFrom === null) return changeSettings
  const parsed = parseDefaultFrom(defaultFrom, fromDomains)
  if (!parsed.ok) throw invalidField('defaultFrom', parsed.problem, parsed.code)
  return wanted.defaultFrom === undefined ? changeSettings : { ...changeSettings, defaultFrom: parsed.value }
}

function toSettings(company: Company): z.output<typeof companySettingsSchema> {
  const { pausedAt, createdAt } = company
  return { ...company, pausedAt: pausedAt?.toISOString() ?? null, createdAt: createdAt.toISOString() }
}
