import type { FastifyReply, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { type ZodType, z } from 'zod'
import { type RateLimitDeps, spendTokens } from '../../companies/rate-limit.ts'
import { type KeyRegistry, requireKey } from '../../companies/require-key.ts'
import type { MemberResult, RequestAnswer } from '../../outbox/draft.ts'
import { acceptedSchema, batchAcceptedSchema } from '../../outbox/email-view.ts'
import { SEND_EXAMPLE, type SendBody, sendBodySchema } from '../../outbox/send-body.ts'
import {
  type BatchError,
  batchError,
  type FieldProblem,
  fieldProblems,
  REPORT_INPUT,
  type Refusal,
  summarise,
} from '../../platform/text/refusal.ts'
import { SEND_LIMITS } from '../../platform/text/send-limits.ts'
import { BATCH_BODY_LIMIT, boundBodies, SEND_BODY_LIMIT, SEND_MEMORY } from '../../web/body.ts'
import { problemAnswers } from '../../web/openapi.ts'
import { invalidField, invalidFields, Problem, refusalProblem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { validatorCompiler } from '../../web/validation.ts'
import { type AcceptDeps, type AcceptRequest, type AcceptResult, acceptEmails } from './accept.ts'
import { callerOf } from './caller.ts'

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

type Headers = { header: (name: string, value: string) => unknown }

/** The body of the 202 for one e-mail. */
export function sendAnswer(outcome: AcceptResult, reply: Headers) {
  const answer = answerOrThrow(outcome, reply, refusals => refusalProblem([...refusals.values()][0]!))
  const [result] = answer.results
  if (result!.status !== 'ACCEPTED') throw refusalProblem(refusalOf(result!))
  return accepted(result!, answer)
}

/** The body of the 202 for a batch. A strict batch is refused as a whole; a permissive one lists its refused members in `errors`. */
export function batchAnswer(outcome: AcceptResult, reply: FastifyReply, strict: boolean) {
  if (outcome.kind === 'refused' && !strict) return { data: [], errors: batchErrors(outcome.refusals) }
  const answer = answerOrThrow(outcome, reply, batchProblem)
  const notAccepted = answer.results.filter(one => one.status !== 'ACCEPTED')
  const refusals = new Map(notAccepted.map(one => [one.index, refusalOf(one)]))
  if (strict && refusals.size > 0) throw batchProblem(refusals)
  const data = answer.results.filter(one => one.status === 'ACCEPTED').map(one => accepted(one, answer))
  const allErrors = sortByIndex([...answer.refusedBefore, ...batchErrors(refusals)])
  return allErrors.length > 0 ? { data, errors: allErrors } : { data }
}

const batchErrors = (refusals: Map<number, Refusal>): BatchError[] =>
  [...refusals].map(([index, refusal]) => batchError(index, refusal))

const sortByIndex = (errors: BatchError[]) => errors.sort((a, b) => a.index - b.index)

/** The answer of this request, or the stored one of an earlier request with the same Idempotency-Key. */
function answerOrThrow(
  outcome: AcceptResult,
  reply: Headers,
  problemOf: (refusals: Map<number, Refusal>) => Problem,
): RequestAnswer {
  if (outcome.kind === 'key-used-for-another-body') throw new Problem('IDEMPOTENCY_KEY_REUSED')
  if (outcome.kind === 'key-still-running')
    throw new Problem('IDEMPOTENCY_IN_PROGRESS', { headers: { 'retry-after': '1' } })
  if (outcome.kind === 'busy') throw new Problem('SERVER_BUSY', { headers: { 'retry-after': '1' } })
  if (outcome.kind === 'refused') throw problemOf(outcome.refusals)
  if (outcome.replayed) reply.header('idempotent-replayed', 'true')
  return outcome.answer
}

function accepted({ outboxId, suppressed }: MemberResult, { requestId, queuedAt }: RequestAnswer) {
  const answer = { outboxId, jobId: outboxId, requestId, status: 'QUEUED' as const, queuedAt }
  return suppressed.length > 0 ? { ...answer, suppressed } : answer
}

function refusalOf(result: MemberResult): Refusal {
  if (result.status === 'SUPPRESSED') return { code: 'RECIPIENT_SUPPRESSED', recipient: result.suppressed[0]! }
  const message = 'there is no such recipient in this company, or it has another address'
  return {
    code: 'RECIPIENT_NOT_FOUND',
    errors: [{ path: 'recipient.recipientId', code: 'RECIPIENT_NOT_FOUND', message }],
  }
}

/** Names every wrong field of every member, such as `[3].to`. */
function batchProblem(refusals: Map<number, Refusal>): Problem {
  const [first] = refusals.values()
  const errors: FieldProblem[] = [...refusals].flatMap(([index, refusal]) => {
    if (refusal.code === 'RECIPIENT_SUPPRESSED') {
      return [{ path: `[${index}].to`, code: refusal.code, message: 'is on the suppression list' }]
    }
    return refusal.errors.map(error => ({ ...error, path: `[${index}].${error.path}` }))
  })
  const codes = new Set([...refusals.values()].map(refusal => refusal.code))
  const recipient = first?.code === 'RECIPIENT_SUPPRESSED' ? { recipient: first.recipient } : {}
  return new Problem(codes.size === 1 ? first!.code : 'INVALID_PAYLOAD', { errors, ...recipient })
}
