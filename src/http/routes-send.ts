import type { FastifyReply, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { type ZodType, z } from 'zod'
import { callerOf } from '../accepting/caller.ts'
import { acceptedSchema, batchAcceptedSchema } from '../contracts/email-view.ts'
import { fieldProblems, REPORT_INPUT } from '../contracts/field-problems.ts'
import { type Refusal, summarise } from '../contracts/refusal.ts'
import { SEND_EXAMPLE, SEND_LIMITS, type SendBody, sendBodySchema } from '../contracts/send-body.ts'
import { type AcceptDeps, type AcceptRequest, acceptEmails } from '../pipeline/accept.ts'
import type { App } from './app.ts'
import { requireKey } from './auth.ts'
import { boundBodies, SEND_MEMORY } from './body-memory.ts'
import type { KeyRegistry } from './key-registry.ts'
import { BATCH_BODY_LIMIT, SEND_BODY_LIMIT } from './limits.ts'
import { problemAnswers } from './openapi.ts'
import { invalidField, invalidFields, Problem } from './problem.ts'
import { type RateLimitDeps, spendTokens } from './rate-limit.ts'
import { batchAnswer, sendAnswer } from './send-answers.ts'
import { validatorCompiler } from './validation.ts'

export type SendRouteDeps = RateLimitDeps & { accept: AcceptDeps; keys: KeyRegistry; pepper: string }

export const sendHeaders = z.object({
  'idempotency-key': z
    .string()
    .optional()
    .describe('1–256 characters; the same key and body within 24 hours get the same answer'),
})
const batchHeaders = sendHeaders.extend({
  'x-batch-validation': z.enum(['strict', 'permissive']).optional().describe('strict (default): all or none'),
})
const tags = ['E-mails']
const refusals = problemAnswers(400, 401, 403, 409, 413, 415, 422, 429, 503)

const sendSchema = {
  summary: 'Accept one e-mail',
  tags,
  headers: sendHeaders,
  body: sendBodySchema,
  response: { 202: acceptedSchema, ...refusals },
}
const batchSchema = {
  summary: 'Accept up to 100 e-mails',
  tags,
  headers: batchHeaders,
  body: z
    .array(sendBodySchema)
    .min(1)
    .max(SEND_LIMITS.BATCH)
    .meta({ example: [SEND_EXAMPLE] }),
  response: { 202: batchAcceptedSchema, ...refusals },
}

export function sendRoutes(app: App, deps: SendRouteDeps, memory = SEND_MEMORY): void {
  // The key first: memory is shared fairly between companies.
  const onRequest = [requireKey(deps.keys, deps.pepper, 'send'), boundBodies(memory, request => request.key!.companyId)]

  app.post('/v1/email/send', { onRequest, bodyLimit: SEND_BODY_LIMIT, schema: sendSchema }, (request, reply) =>
    send(request, reply, deps),
  )
  app.post(
    '/v1/email/batch',
    {
      onRequest,
      bodyLimit: BATCH_BODY_LIMIT,
      validatorCompiler: validateAllButBody as never,
      schema: batchSchema,
    },
    (request, reply) => sendBatch(request, reply, deps),
  )
}

/** For batches: their members are validated one by one, so that a permissive batch can accept the valid ones. */
export const validateAllButBody: FastifySchemaCompiler<ZodType> = route =>
  route.httpPart === 'body' ? value => ({ value }) : validatorCompiler(route)

async function send(request: FastifyRequest, reply: FastifyReply, deps: SendRouteDeps) {
  await spendTokens(request, reply, 1, deps)
  const members = [{ index: 0, body: request.body as SendBody }]
  const outcome = await acceptEmails(toAccept(request, members, true), deps.accept)
  const answer = sendAnswer(outcome, reply)
  return reply.code(202).header('location', `/v1/email/${answer.outboxId}`).send(answer)
}

async function sendBatch(request: FastifyRequest, reply: FastifyReply, deps: SendRouteDeps) {
  const bodies = batchMembers(request.body)
  await spendTokens(request, reply, bodies.length, deps)
  const strict = request.headers['x-batch-validation'] !== 'permissive'
  const { members, refused } = validateMembers(bodies)
  const outcome = await acceptEmails(toAccept(request, members, strict, refused), deps.accept)
  return reply.code(202).send(batchAnswer(outcome, reply, strict))
}

export function batchMembers(body: unknown): unknown[] {
  const message = `must be an array of 1 to ${SEND_LIMITS.BATCH} e-mails`
  if (!Array.isArray(body)) throw invalidField('', message, 'INVALID_TYPE')
  const has = body.length
  if (has >= 1 && has <= SEND_LIMITS.BATCH) return body
  const passed = has === 0 ? { code: 'TOO_SMALL', limit: 1 } : { code: 'TOO_LARGE', limit: SEND_LIMITS.BATCH }
  throw invalidFields([{ path: '', ...passed, unit: 'items', message: `${message}, has ${has}` }])
}

function validateMembers(bodies: unknown[]) {
  const members: { index: number; body: SendBody }[] = []
  const refused = new Map<number, Refusal>()
  bodies.forEach((body, index) => {
    const parsed = sendBodySchema.safeParse(body, REPORT_INPUT)
    if (parsed.success) members.push({ index, body: parsed.data })
    else refused.set(index, summarise(fieldProblems(parsed.error.issues)))
  })
  return { members, refused }
}

/** `idempotentBody`: the body that an idempotency key stands for. */
export function toAccept(
  request: FastifyRequest,
  members: AcceptRequest['members'],
  strict: boolean,
  refusedBefore = new Map<number, Refusal>(),
  idempotentBody: unknown = request.writtenBody,
): AcceptRequest {
  const idempotencyKey = idempotencyKeyOf(request)
  return {
    caller: callerOf(request.key!),
    requestId: request.id,
    members,
    strict,
    idempotency: idempotencyKey === undefined ? null : { key: idempotencyKey, writtenBody: idempotentBody },
    refusedBefore,
    traceparent: request.span?.traceparent ?? null,
  }
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !/^[\x20-\x7e]{1,256}$/.test(header)) throw new Problem('INVALID_IDEMPOTENCY_KEY')
  return header
}
