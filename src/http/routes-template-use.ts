import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { acceptedSchema } from '../contracts/email-view.ts'
import { rangeEndSchema } from '../contracts/instant.ts'
import { previewAnswerSchema, previewSchema, statisticsSchema } from '../contracts/templates/view.ts'
import { templateStatistics } from '../db/statistics.ts'
import { acceptEmails } from '../pipeline/accept.ts'
import type { App } from './app.ts'
import { requireKey } from './auth.ts'
import { VARIABLES_BODY_LIMIT } from './limits.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import { spendTokens } from './rate-limit.ts'
import { toAccept } from './routes-send.ts'
import { sendAnswer } from './send-answers.ts'
import {
  findReadable,
  requireVersion,
  type TemplateRouteDeps,
  templateBodyRefusals,
  templateRefusals,
} from './template-access.ts'
import { renderSource, TEST_MARK, testEmail, testTemplateSchema } from './template-test.ts'

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
