import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Company, findCompany } from '../companies/companies.ts'
import { adminBodyRefusals, adminDescription, adminRefusals, EVERYBODY } from '../companies/company-of-request.ts'
import { spendTokens } from '../companies/rate-limit.ts'
import { requireKey } from '../companies/require-key.ts'
import { templateStatistics } from '../companies/statistics.ts'
import { acceptedSchema } from '../outbox/email-view.ts'
import { type SendBody, sendBodySchema } from '../outbox/send-body.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept/accept.ts'
import { acceptAudited } from '../pipeline/accept/audited.ts'
import { callerOfCompany } from '../pipeline/accept/caller.ts'
import { sendAnswer, toAccept } from '../pipeline/accept/routes.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { firstCharacters } from '../platform/text/characters.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { type FieldProblem, fieldProblemSchema, fieldProblems, summarise } from '../platform/text/refusal.ts'
import { SEND_LIMITS } from '../platform/text/send-limits.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { boundBodies, TEMPLATE_BODY_LIMIT, TEMPLATE_MEMORY, VARIABLES_BODY_LIMIT } from '../web/body.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem, refusalProblem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { usedVariables } from './markup.ts'
import { parseTemplate, type TemplateSource } from './parse.ts'
import { renderTemplate } from './render.ts'
import {
  findReadable,
  requireVersion,
  type TemplateRouteDeps,
  templateBodyRefusals,
  templateRefusals,
} from './routes.ts'
import { findAdminTemplate } from './routes-admin.ts'
import { previewAnswerSchema, previewSchema, statisticsSchema } from './view.ts'

/** Before the subject of a test send. */
export const TEST_MARK = '[Test] '

export const testTemplateSchema = previewSchema
  .extend({ to: z.string().max(320), from: z.string().max(320).optional() })
  .meta({
    id: 'TestTemplate',
    example: { to: 'you@example.com', variables: { user: { name: 'Maria' }, order: { number: '1042' } } },
  })

export type RenderedSource = TemplateSource & { variables: string[] }

export function renderSource(source: TemplateSource, variables: Record<string, unknown>): RenderedSource {
  const parsed = parseTemplate(source)
  if (!parsed.ok) throw refusalProblem(summarise(parsed.problems))
  const result = renderTemplate(parsed.template, variables)
  if (!result.ok) throw refusalProblem(summarise(result.problems))
  const { subject, html, text } = result
  return { subject, html, text, variables: parsed.template.variables }
}

/** An ordinary e-mail with what was rendered. It has no template type, so it is not part of the statistics. */
export function testEmail(
  { subject, html, text }: TemplateSource,
  { to, from }: { to: string; from?: string | undefined },
): SendBody {
  const body = sendBodySchema.safeParse({
    to,
    ...(from !== undefined && { from }),
    subject: firstCharacters(TEST_MARK + subject, SEND_LIMITS.SUBJECT_CHARS),
    ...(html !== null && { html }),
    ...(text !== null && { text }),
    tags: ['template-test'],
  })
  if (!body.success) throw refusalProblem(summarise(fieldProblems(body.error.issues)))
  return body.data
}

const tags = ['Templates']
const params = z.object({ id: z.string() })
const DEFAULT_RANGE_MS = 30 * 24 * 3_600_000
const statisticsQuery = z.object({
  since: rangeEndSchema.optional().describe('To the hour; 30 days ago when absent'),
})

const previewRouteSchema = {
  summary: 'Render a version with variables; nothing is sent',
  tags,
  params,
  body: previewSchema,
  response: { 200: previewAnswerSchema, ...templateRefusals, ...templateBodyRefusals },
}
const testSchema = {
  summary: `Send a version, also a draft, to one address; its subject begins with ${TEST_MARK.trim()}`,
  tags,
  params,
  body: testTemplateSchema,
  response: { 202: acceptedSchema, ...templateRefusals, ...templateBodyRefusals, ...problemAnswers(409, 429) },
}
const statisticsRouteSchema = {
  summary: 'What became of the e-mails of each template; live e-mails only, up to a minute ago',
  tags,
  querystring: statisticsQuery,
  response: { 200: statisticsSchema, ...templateRefusals, ...problemAnswers(422) },
}

export function templateUseRoutes(app: App, deps: TemplateRouteDeps): void {
  const { keys, pepper } = deps
  const mayRead = requireKey(keys, pepper, 'read')
  const maySend = requireKey(keys, pepper, 'send')
  const bodyLimit = VARIABLES_BODY_LIMIT

  app.post('/v1/templates/:id/preview', { onRequest: mayRead, bodyLimit, schema: previewRouteSchema }, request =>
    preview(request, deps),
  )
  app.post('/v1/templates/:id/test', { onRequest: maySend, bodyLimit, schema: testSchema }, (request, reply) =>
    sendTest(request, reply, deps),
  )
  app.get('/v1/templates/statistics', { onRequest: mayRead, schema: statisticsRouteSchema }, request =>
    statistics(request, deps),
  )
}

async function preview(request: FastifyRequest, deps: TemplateRouteDeps) {
  const rendered = await renderVersion(request, deps)
  if (rendered.html === null) return rendered
  const { companyId } = request.key!
  const checker = deps.accept.html
  const problems = await checker.check(rendered.html, companyId)
  const errors = problems.map(({ code, message }) => ({ path: 'html', code, message }))
  if (errors.length > 0) throw new Problem('INVALID_TEMPLATE', { errors })
  return { ...rendered, text: rendered.text ?? (await checker.textOf(rendered.html, companyId)) }
}

async function sendTest(request: FastifyRequest, reply: FastifyReply, deps: TemplateRouteDeps) {
  await spendTokens(request, reply, 1, deps)
  const body = testEmail(await renderVersion(request, deps), request.body as z.output<typeof testTemplateSchema>)
  const outcome = await acceptEmails(toAccept(request, [{ index: 0, body }], true), deps.accept)
  const answer = sendAnswer(outcome, reply)
  return reply.code(202).header('location', `/v1/email/${answer.outboxId}`).send(answer)
}

async function renderVersion(request: FastifyRequest, { db }: TemplateRouteDeps) {
  const template = await findReadable(request, db)
  const { version, variables } = request.body as z.output<typeof previewSchema>
  const source = await requireVersion(template, db, version ?? null)
  return { number: source.number, ...renderSource(source, variables) }
}

async function statistics(request: FastifyRequest, { db }: TemplateRouteDeps) {
  if (request.key!.mode === 'test')
    throw new Problem('INSUFFICIENT_SCOPE', { detail: 'Statistics are of live e-mails: a live key is needed.' })
  const { since = new Date(db.clock.now().getTime() - DEFAULT_RANGE_MS).toISOString() } = request.query as z.output<
    typeof statisticsQuery
  >
  const rows = await templateStatistics(db.pool, request.key!.companyId, since)
  return { since, data: rows.map(row => ({ ...row, failureRate: rateOf(row) })) }
}

function rateOf({ sent, failed }: { sent: number; failed: number }): number | null {
  return sent + failed === 0 ? null : failed / (sent + failed)
}

export type AdminTemplateUseDeps = AdminRouteDeps & { accept: AcceptDeps }

const content = z.string().max(TEMPLATE_LIMITS.CONTENT_BYTES).nullable()
const draftBody = z
  .strictObject({
    subject: z.string().max(TEMPLATE_LIMITS.SUBJECT_CHARS),
    html: content.default(null),
    text: content.default(null),
    variables: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ id: 'PreviewDraft', example: { subject: 'Hello {{ name }}', text: 'Hi', variables: { name: 'Maria' } } })
const draftAnswer = z
  .object({
    rendered: z
      .object({ subject: z.string(), html: content, text: content })
      .nullable()
      .describe('null: it cannot be rendered; the problems say why'),
    variables: z.array(z.string()).describe('The variables that it uses'),
    problems: z.array(fieldProblemSchema),
  })
  .meta({ id: 'DraftPreview' })
const draftSchema = {
  summary: 'Render what an editor holds, saved or not; nothing is stored or sent',
  ...adminDescription,
  body: draftBody,
  response: { 200: draftAnswer, ...adminRefusals, ...adminBodyRefusals },
}
const testBody = testTemplateSchema
  .extend({ companyId: z.uuid().optional().describe('For a starter: the company that sends it') })
  .meta({ id: 'TestTemplateByAdmin', example: { to: 'you@example.com', variables: {} } })
const adminTestSchema = {
  summary: `Send a version, also a draft, to one address, as its company; its subject begins with ${TEST_MARK.trim()}`,
  ...adminDescription,
  params: z.object({ templateId: z.string().max(100) }),
  body: testBody,
  response: { 202: acceptedSchema, ...adminRefusals, ...adminBodyRefusals },
}

export function adminTemplateUseRoutes(app: App, deps: AdminTemplateUseDeps): void {
  const { onRequest } = deps
  const large = [onRequest, boundBodies(TEMPLATE_MEMORY, request => request.admin!)]
  app.post(
    '/admin/templates/preview',
    { onRequest: large, bodyLimit: TEMPLATE_BODY_LIMIT, config: EVERYBODY, schema: draftSchema },
    request => previewDraft(request, deps),
  )
  app.post(
    '/admin/templates/:templateId/test',
    { onRequest, bodyLimit: VARIABLES_BODY_LIMIT, schema: adminTestSchema },
    (request, reply) => sendAdminTest(request, reply, deps),
  )
}

async function previewDraft(request: FastifyRequest, { accept }: AdminTemplateUseDeps) {
  const { subject, html, text, variables } = request.body as z.output<typeof draftBody>
  const source = { subject, html, text }
  const parsed = parseTemplate(source)
  if (!parsed.ok) {
    const used = [subject, html ?? '', text ?? ''].flatMap(usedVariables)
    return { rendered: null, variables: [...new Set(used)].sort(), problems: parsed.problems }
  }
  const result = renderTemplate(parsed.template, variables)
  const answer = { variables: parsed.template.variables, problems: [] as FieldProblem[] }
  if (!result.ok) return { ...answer, rendered: null, problems: result.problems }
  const problems = result.html === null ? [] : await accept.html.check(result.html, 'preview')
  return {
    ...answer,
    rendered: { subject: result.subject, html: result.html, text: result.text },
    problems: problems.map(({ code, message }) => ({ path: 'html', code, message, rule: code })),
  }
}

async function sendAdminTest(request: FastifyRequest, reply: FastifyReply, { db, accept }: AdminTemplateUseDeps) {
  const template = await findAdminTemplate(request, db)
  const given = request.body as z.output<typeof testBody>
  const companyId = template.companyId ?? given.companyId
  if (companyId === undefined)
    throw invalidField('companyId', 'is needed for a starter: the company that sends it', 'INVALID_TYPE')
  const company = await companyOrProblem(companyId, db)
  const source = await requireVersion(template, db, given.version ?? null)
  const body = testEmail(renderSource(source, given.variables), given)
  const asked = {
    caller: callerOfCompany(company, false, `administrator ${request.admin}`),
    requestId: request.id,
    members: [{ index: 0, body }],
    strict: true,
    idempotency: null,
    refusedBefore: new Map(),
  }
  const audit = {
    performedBy: request.admin!,
    action: 'TEMPLATE_TESTED',
    subjectType: 'template',
    subjectId: template.id,
    companyId: company.companyId,
  } as const
  const write: AcceptDeps['write'] = toStore =>
    acceptAudited(db.pool, toStore, sentAs => ({ ...audit, after: { version: source.number, sentAs } }))
  const answer = sendAnswer(await acceptEmails(asked, { ...accept, write }), reply)
  return reply.code(202).header('location', `/admin/emails/${answer.outboxId}`).send(answer)
}

async function companyOrProblem(companyId: string, db: Database): Promise<Company> {
  const company = await findCompany(db.pool, companyId.toLowerCase())
  if (!company) throw invalidField('companyId', 'is not the id of a company', 'INVALID_VALUE')
  return company
}
