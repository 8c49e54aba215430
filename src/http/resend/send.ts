import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type BatchError, type Refusal, summarise } from '../../contracts/refusal.ts'
import { type ResendEmail, resendEmailSchema, toSendBody } from '../../contracts/resend/send-body.ts'
import { SEND_LIMITS, type SendBody } from '../../contracts/send-body.ts'
import { acceptEmails } from '../../pipeline/accept.ts'
import type { App } from '../app.ts'
import { requireKey } from '../auth.ts'
import { boundBodies, SEND_MEMORY } from '../body-memory.ts'
import { BATCH_BODY_LIMIT, SEND_BODY_LIMIT } from '../limits.ts'
import { refusalProblem } from '../problem.ts'
import { spendTokens } from '../rate-limit.ts'
import { batchMembers, toAccept, validateAllButBody } from '../routes-send.ts'
import { batchAnswer, batchErrors, batchProblem, sendAnswer } from '../send-answers.ts'
import { fieldProblems, REPORT_INPUT } from '../validation.ts'
import { described } from './describe.ts'
import type { ResendRouteDeps } from './index.ts'

const sendHeaders = z.object({ 'idempotency-key': z.string().optional() })
const batchHeaders = sendHeaders.extend({ 'x-batch-validation': z.enum(['strict', 'permissive']).optional() })
const batchBody = z.array(resendEmailSchema).min(1).max(SEND_LIMITS.BATCH)

export function resendSendRoutes(app: App, deps: ResendRouteDeps, memory = SEND_MEMORY): void {
  // The key first: memory is shared fairly between companies.
  const onRequest = [requireKey(deps.keys, deps.pepper, 'send'), boundBodies(memory, request => request.key!.companyId)]
  const schema = {
    send: described('Accept one e-mail', { headers: sendHeaders, body: resendEmailSchema }),
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
  const translated = translate(request.body as ResendEmail, deps.accept.clock.now())
  if ('refusal' in translated) throw refusalProblem(translated.refusal)
  await spendTokens(request, reply, 1, deps)
  const members = [{ index: 0, body: translated.body }]
  const outcome = await acceptEmails(toAccept(request, members, true, []), deps.accept)
  return { id: sendAnswer(outcome, reply).outboxId }
}

async function sendBatch(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const bodies = batchMembers(request.body)
  await spendTokens(request, reply, bodies.length, deps)
  const strict = request.headers['x-batch-validation'] !== 'permissive'
  const { members, refused } = readMembers(bodies, deps.accept.clock.now())
  if (strict && refused.size > 0) throw batchProblem(refused)
  const refusedBefore = batchErrors(refused)
  if (members.length === 0) return { data: [], errors: toErrors(refusedBefore) }
  const outcome = await acceptEmails(toAccept(request, members, strict, refusedBefore), deps.accept)
  const { data, errors = [] } = batchAnswer(outcome, reply, { strict, errors: refusedBefore })
  const ids = data.map(({ outboxId }) => ({ id: outboxId }))
  return strict ? { data: ids } : { data: ids, errors: toErrors(errors) }
}

function readMembers(bodies: unknown[], now: Date) {
  const members: { index: number; body: SendBody }[] = []
  const refused = new Map<number, Refusal>()
  bodies.forEach((body, index) => {
    const parsed = resendEmailSchema.safeParse(body, REPORT_INPUT)
    const read = parsed.success
      ? translate(parsed.data, now)
      : { refusal: summarise(fieldProblems(parsed.error.issues)) }
    if ('refusal' in read) refused.set(index, read.refusal)
    else members.push({ index, body: read.body })
  })
  return { members, refused }
}

function translate(email: ResendEmail, now: Date): { body: SendBody } | { refusal: Refusal } {
  const translated = toSendBody(email, now)
  if (translated.ok) return { body: translated.body }
  return { refusal: summarise([{ ...translated.problem, code: 'INVALID_PAYLOAD' }]) }
}

const toErrors = (errors: BatchError[]) => errors.map(({ index, message }) => ({ index, message }))
