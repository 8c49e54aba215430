import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { adminBodyRefusals, adminDescription, adminRefusals, knownCompany } from '../companies/company-of-request.ts'
import { spendTokens } from '../companies/rate-limit.ts'
import { requireKey } from '../companies/require-key.ts'
import { acceptedSchema } from '../outbox/email-view.ts'
import { type SendBody, sendBodySchema } from '../outbox/send-body.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept/accept.ts'
import { acceptAudited } from '../pipeline/accept/audited.ts'
import { callerOfCompany } from '../pipeline/accept/caller.ts'
import { type SendRouteDeps, sendAnswer, toAccept } from '../pipeline/accept/routes.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { firstCharacters } from '../platform/text/characters.ts'
import { fieldProblems, summarise } from '../platform/text/refusal.ts'
import { SEND_LIMITS } from '../platform/text/send-limits.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { VARIABLES_BODY_LIMIT } from '../web/body.ts'
import { problemAnswers } from '../web/openapi.ts'
import { refusalProblem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { renderVersion } from './routes.ts'
import { requireTemplate } from './templates.ts'
import { previewSchema } from './view.ts'

/** Before the subject of a test send. */
const TEST_MARK = '[Test] '

const params = z.object({ id: z.string() })
const testBody = previewSchema.extend({ to: z.string().max(320), from: z.string().max(320).optional() }).meta({
  id: 'TestTemplate',
  example: { to: 'you@example.com', variables: { user: { name: 'Maria' }, order: { number: '1042' } } },
})
const schema = {
  summary: `Send a version, also a draft, to one address; its subject begins with ${TEST_MARK.trim()}`,
  tags: ['Templates'],
  params,
  body: testBody,
  response: { 202: acceptedSchema, ...problemAnswers(400, 401, 403, 404, 409, 413, 415, 422, 429, 503) },
}
const adminSchema = {
  summary: `Send a version, also a draft, to one address, as the company; its subject begins with ${TEST_MARK.trim()}`,
  ...adminDescription,
  params: params.extend({ companyId: z.string().max(100) }),
  body: testBody,
  response: { 202: acceptedSchema, ...adminRefusals, ...adminBodyRefusals },
}

export function templateTestRoutes(app: App, deps: SendRouteDeps & { db: Database }): void {
  const { db, keys, pepper, accept } = deps
  const onRequest = requireKey(keys, pepper, 'send')
  app.post('/v1/templates/:id/test', { onRequest, bodyLimit: VARIABLES_BODY_LIMIT, schema }, async (request, reply) => {
    await spendTokens(request, reply, 1, deps)
    const { body } = await testEmail(request, request.key!.companyId, db)
    const answer = sendAnswer(await acceptEmails(toAccept(request, [{ index: 0, body }], true), accept), reply)
    return reply.code(202).header('location', `/v1/email/${answer.outboxId}`).send(answer)
  })
}

export type AdminTemplateTestDeps = AdminRouteDeps & { accept: AcceptDeps }

export function adminTemplateTestRoutes(app: App, { db, accept, onRequest }: AdminTemplateTestDeps): void {
  const options = { onRequest, bodyLimit: VARIABLES_BODY_LIMIT, schema: adminSchema }
  app.post('/admin/companies/:companyId/templates/:id/test', options, (request, reply) =>
    sendAsCompany(request, reply, { db, accept }),
  )
}

async function sendAsCompany(
  request: FastifyRequest,
  reply: FastifyReply,
  { db, accept }: { db: Database; accept: AcceptDeps },
) {
  const company = await knownCompany(request, db)
  const { companyId } = company
  const { templateId, version, body } = await testEmail(request, companyId, db)
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
    subjectId: templateId,
    companyId,
  } as const
  const write: AcceptDeps['write'] = toStore =>
    acceptAudited(db.pool, toStore, sentAs => ({ ...audit, after: { version, sentAs } }))
  const answer = sendAnswer(await acceptEmails(asked, { ...accept, write }), reply)
  return reply.code(202).header('location', `/admin/emails/${answer.outboxId}`).send(answer)
}

/** An ordinary e-mail with what was rendered. It has no template type, so it is not part of the statistics. */
async function testEmail(
  request: FastifyRequest,
  companyId: string,
  db: Database,
): Promise<{ templateId: string; version: number; body: SendBody }> {
  const { to, from, ...wanted } = request.body as z.output<typeof testBody>
  const template = await requireTemplate(db, companyId, (request.params as z.output<typeof params>).id)
  const { number, subject, html, text } = await renderVersion(template, db, wanted)
  const body = sendBodySchema.safeParse({
    to,
    ...(from !== undefined && { from }),
    subject: firstCharacters(TEST_MARK + subject, SEND_LIMITS.SUBJECT_CHARS),
    ...(html !== null && { html }),
    ...(text !== null && { text }),
    tags: ['template-test'],
  })
  if (!body.success) throw refusalProblem(summarise(fieldProblems(body.error.issues)))
  return { templateId: template.id, version: number, body: body.data }
}
