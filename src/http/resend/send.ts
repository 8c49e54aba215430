import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { fieldProblems, REPORT_INPUT } from '../../contracts/field-problems.ts'
import { type BatchError, type Refusal, summarise } from '../../contracts/refusal.ts'
import {
  type NamedTemplate,
  RESEND_EMAIL_EXAMPLE,
  type ResendEmail,
  resendEmailSchema,
  type Translated,
  toSendBody,
} from '../../contracts/resend/send-body.ts'
import { SEND_LIMITS, type SendBody } from '../../contracts/send-body.ts'
import { findTemplatesToSend, type TemplateToSend } from '../../db/templates/resend.ts'
import { acceptEmails } from '../../pipeline/accept.ts'
import type { App } from '../app.ts'
import { requireKey } from '../auth.ts'
import { boundBodies, SEND_MEMORY } from '../body-memory.ts'
import { BATCH_BODY_LIMIT, SEND_BODY_LIMIT } from '../limits.ts'
import { refusalProblem } from '../problem.ts'
import { spendTokens } from '../rate-limit.ts'
import { batchMembers, toAccept, validateAllButBody } from '../routes-send.ts'
import { batchAnswer, sendAnswer } from '../send-answers.ts'
import { described } from './describe.ts'
import type { ResendRouteDeps } from './index.ts'

const sendHeaders = z.object({ 'idempotency-key': z.string().optional() })
const batchHeaders = sendHeaders.extend({ 'x-batch-validation': z.enum(['strict', 'permissive']).optional() })
const batchBody = z
  .array(resendEmailSchema)
  .min(1)
  .max(SEND_LIMITS.BATCH)
  .meta({ example: [RESEND_EMAIL_EXAMPLE] })

export function resendSendRoutes(app: App, deps: ResendRouteDeps, memory = SEND_MEMORY): void {
  // The key first: memory is shared fairly between companies.
  const onRequest = [requireKey(deps.keys, deps.pepper, 'send'), boundBodies(memory, request => request.key!.companyId)]
  const schema = {
    send: described('Send an e-mail', { headers: sendHeaders, body: resendEmailSchema }),
    batch: described('Accept up to 100 e-mails', { headers: batchHeaders, body: batchBody }),
  }
  app.post('/emails', { onRequest, bodyLimit: SEND_BODY_LIMIT, schema: schema.send }, (request, reply) =>
    send(request, reply, deps),
  )
  app.post(
    '/emails/batch',
    {
      onRequest,
      bodyLimit: BATCH_BODY_LIMIT,
      validatorCompiler: validateAllButBody as never,
      schema: schema.batch,
    },
    (request, reply) => sendBatch(request, reply, deps),
  )
}

async function send(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const [translated] = await translate([request.body as ResendEmail], request, deps)
  if (!translated!.ok) throw refusalProblem(summarise(translated!.problems))
  await spendTokens(request, reply, 1, deps)
  const members = [{ index: 0, body: translated!.body }]
  const outcome = await acceptEmails(toAccept(request, members, true), deps.accept)
  return { id: sendAnswer(outcome, reply).outboxId }
}

async function sendBatch(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const bodies = batchMembers(request.body)
  await spendTokens(request, reply, bodies.length, deps)
  const strict = request.headers['x-batch-validation'] !== 'permissive'
  const { members, refused } = await readMembers(bodies, request, deps)
  const outcome = await acceptEmails(toAccept(request, members, strict, refused), deps.accept)
  const { data, errors = [] } = batchAnswer(outcome, reply, strict)
  const ids = data.map(({ outboxId }) => ({ id: outboxId }))
  return strict ? { data: ids } : { data: ids, errors: toErrors(errors) }
}

async function readMembers(bodies: unknown[], request: FastifyRequest, deps: ResendRouteDeps) {
  const emails: { index: number; email: ResendEmail }[] = []
  const members: { index: number; body: SendBody }[] = []
  const refused = new Map<number, Refusal>()
  bodies.forEach((body, index) => {
    const parsed = resendEmailSchema.safeParse(body, REPORT_INPUT)
    if (parsed.success) emails.push({ index, email: parsed.data })
    else refused.set(index, summarise(fieldProblems(parsed.error.issues)))
  })
  const translated = await translate(
    emails.map(({ email }) => email),
    request,
    deps,
  )
  emails.forEach(({ index }, place) => {
    const one = translated[place]!
    if (one.ok) members.push({ index, body: one.body })
    else refused.set(index, summarise(one.problems))
  })
  return { members, refused }
}

/** One query for the templates of all of them. */
async function translate(emails: ResendEmail[], request: FastifyRequest, deps: ResendRouteDeps): Promise<Translated[]> {
  const names = [...new Set(emails.flatMap(({ template }) => template?.id ?? []))]
  const templates = await findTemplatesToSend(deps.db.pool, request.key!.companyId, names)
  const now = deps.db.clock.now()
  return emails.map(email => toSendBody(email, namedTemplate(email.template?.id, templates), now))
}

function namedTemplate(name: string | undefined, templates: TemplateToSend[]): NamedTemplate | null {
  const byId = templates.find(({ id }) => id === name)
  if (byId) return byId
  const byAlias = templates.find(({ type }) => type === name)
  return byAlias ? { ...byAlias, locale: null } : null
}

const toErrors = (errors: BatchError[]) => errors.map(({ index, message }) => ({ index, message }))
