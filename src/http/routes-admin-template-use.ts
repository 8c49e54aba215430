import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { callerOfCompany } from '../accepting/caller.ts'
import { acceptedSchema } from '../contracts/email-view.ts'
import { type FieldProblem, fieldProblemSchema } from '../contracts/refusal.ts'
import { TEMPLATE_LIMITS } from '../contracts/templates/limits.ts'
import { parseTemplate } from '../contracts/templates/parse.ts'
import { renderTemplate } from '../contracts/templates/render.ts'
import { usedVariables } from '../contracts/templates/used-variables.ts'
import { acceptAudited } from '../db/admin/accept-audited.ts'
import { type Company, findCompany } from '../db/companies/companies.ts'
import type { Database } from '../db/pool.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept.ts'
import { adminBodyRefusals, adminDescription, adminRefusals, EVERYBODY } from './admin-company.ts'
import { findAdminTemplate } from './admin-template.ts'
import type { App } from './app.ts'
import { boundBodies, TEMPLATE_MEMORY } from './body-memory.ts'
import { TEMPLATE_BODY_LIMIT, VARIABLES_BODY_LIMIT } from './limits.ts'
import { invalidField } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { sendAnswer } from './send-answers.ts'
import { requireVersion } from './template-access.ts'
import { renderSource, TEST_MARK, testEmail, testTemplateSchema } from './template-test.ts'

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
const testSchema = {
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
    { onRequest, bodyLimit: VARIABLES_BODY_LIMIT, schema: testSchema },
    (request, reply) => sendTest(request, reply, deps),
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

async function sendTest(request: FastifyRequest, reply: FastifyReply, { db, accept }: AdminTemplateUseDeps) {
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
