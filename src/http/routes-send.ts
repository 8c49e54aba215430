import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { acceptedSchema, batchAcceptedSchema } from '../contracts/email-view.ts'
import { type BatchError, batchError, type FieldProblem, type Refusal, summarise } from '../contracts/refusal.ts'
import { SEND_EXAMPLE, SEND_LIMITS, type SendBody, sendBodySchema } from '../contracts/send-body.ts'
import type { Draw } from '../contracts/token-bucket.ts'
import type { TokenRequest } from '../db/companies/rate-buckets.ts'
import type { UnitAnswer, Verdict } from '../db/outbox/accept.ts'
import { type AcceptDeps, type AcceptRequest, type AcceptResult, acceptEmails } from '../pipeline/accept.ts'
import type { App } from './app.ts'
import { requireKey } from './auth.ts'
import { boundBodies, SEND_MEMORY } from './body-memory.ts'
import type { KeyRegistry } from './key-registry.ts'
import { BATCH_BODY_LIMIT, SEND_BODY_LIMIT } from './limits.ts'
import { problemAnswers } from './openapi.ts'
import { Problem, refusalProblem } from './problem.ts'
import { fieldProblems, REPORT_INPUT, validatorCompiler } from './validation.ts'

export type SendRouteDeps = {
  accept: AcceptDeps
  keys: KeyRegistry
  pepper: string
  tokens: { add(request: TokenRequest): Promise<Draw> }
}

const sendHeaders = z.object({
  'idempotency-key': z
    .string()
    .optional()
    .describe('1–256 characters; the same key and body within 24 hours get the same answer'),
})
const batchHeaders = sendHeaders.extend({
  'x-batch-validation': z.enum(['strict', 'permissive']).optional().describe('strict (default): all or none'),
})
const refusals = problemAnswers(400, 401, 403, 409, 413, 415, 422, 429, 503)

export function sendRoutes(app: App, deps: SendRouteDeps, memory = SEND_MEMORY): void {
  // In this order: whose turn it is depends on the company.
  const onRequest = [requireKey(deps.keys, deps.pepper, 'send'), boundBodies(memory, request => request.key!.companyId)]

  app.post(
    '/v1/email/send',
    {
      onRequest,
      bodyLimit: SEND_BODY_LIMIT,
      schema: {
        summary: 'Accept one e-mail',
        tags: ['E-mails'],
        headers: sendHeaders,
        body: sendBodySchema,
        response: { 202: acceptedSchema, ...refusals },
      },
    },
    async function send(request, reply) {
      if (request.key!.ratePerSecond !== null) await spendTokens(request, reply, 1, deps)
      const members = [{ index: 0, body: request.body as SendBody }]
      const outcome = await acceptEmails(toAccept(request, members, true, []), deps.accept)
      const answer = answered(outcome, refusal => refusalProblem(refusal), reply)
      const verdict = answer.verdicts[0]!
      if (verdict.verdict !== 'ACCEPTED') throw refusalProblem(refusalOf(verdict))
      return reply.code(202).header('location', `/v1/email/${verdict.outboxId}`).send(accepted(verdict, answer))
    },
  )

  app.post(
    '/v1/email/batch',
    {
      onRequest,
      bodyLimit: BATCH_BODY_LIMIT,
      // Members are validated one by one below, so that permissive can keep the good ones.
      validatorCompiler: route => (route.httpPart === 'body' ? asGiven : validatorCompiler(route as never)),
      schema: {
        summary: 'Accept up to 100 e-mails',
        tags: ['E-mails'],
        headers: batchHeaders,
        body: z
          .array(sendBodySchema)
          .min(1)
          .max(SEND_LIMITS.BATCH)
          .meta({ example: [SEND_EXAMPLE] }),
        response: { 202: batchAcceptedSchema, ...refusals },
      },
    },
    async function sendBatch(request, reply) {
      const bodies = batchMembers(request.body)
      if (request.key!.ratePerSecond !== null) await spendTokens(request, reply, bodies.length, deps)
      const strict = request.headers['x-batch-validation'] !== 'permissive'
      const { members, refused } = validateMembers(bodies)
      if (strict && refused.size > 0) throw batchProblem(refused)
      const before = [...refused].map(([index, refusal]) => batchError(index, refusal))
      if (members.length === 0) return reply.code(202).send({ data: [], errors: before })
      const outcome = await acceptEmails(toAccept(request, members, strict, before), deps.accept)
      if (outcome.kind === 'refused' && !strict) {
        return reply.code(202).send({
          data: [],
          errors: inOrder([...before, ...[...outcome.refusals].map(([index, refusal]) => batchError(index, refusal))]),
        })
      }
      return reply.code(202).send(
        batchAnswer(
          answered(outcome, (_, all) => batchProblem(all), reply),
          strict,
        ),
      )
    },
  )
}

const asGiven = (value: unknown) => ({ value })

function toAccept(
  request: FastifyRequest,
  members: AcceptRequest['members'],
  strict: boolean,
  refusedBefore: BatchError[],
): AcceptRequest {
  const key = request.key!
  const idempotencyKey = idempotencyKeyOf(request)
  return {
    caller: {
      keyId: key.keyId,
      companyId: key.companyId,
      test: key.mode === 'test',
      fromDomains: key.fromDomains,
      linkSchemes: key.linkSchemes,
      retryPolicy: key.retryPolicy,
    },
    requestId: request.id,
    members,
    strict,
    idempotency: idempotencyKey === undefined ? null : { key: idempotencyKey, writtenBody: request.writtenBody },
    refusedBefore,
  }
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !/^[\x20-\x7e]{1,256}$/.test(header)) throw new Problem('INVALID_IDEMPOTENCY_KEY')
  return header
}

/** Draws from the company's rate limit. */
async function spendTokens(
  request: FastifyRequest,
  reply: FastifyReply,
  amount: number,
  deps: SendRouteDeps,
): Promise<void> {
  const { companyId } = request.key!
  const ratePerSecond = request.key!.ratePerSecond!
  const draw = await deps.tokens.add({ companyId, ratePerSecond, amount })
  reply.headers({
    'ratelimit-limit': String(Math.max(1, Math.floor(ratePerSecond))),
    'ratelimit-remaining': String(draw.remaining),
    'ratelimit-reset': String(draw.granted ? 1 : draw.retryAfterSeconds),
  })
  if (draw.granted) return
  throw new Problem('RATE_LIMITED', {
    detail: `This company may send ${ratePerSecond} e-mails a second; try again in ${draw.retryAfterSeconds} s.`,
    headers: { 'retry-after': String(draw.retryAfterSeconds) },
  })
}

/** The answer to give, fresh or replayed; everything else is a problem. */
function answered(
  outcome: AcceptResult,
  problemOf: (first: Refusal, all: Map<number, Refusal>) => Problem,
  reply: FastifyReply,
): UnitAnswer {
  if (outcome.kind === 'key-used-for-another-body') throw new Problem('IDEMPOTENCY_KEY_REUSED')
  if (outcome.kind === 'key-still-running')
    throw new Problem('IDEMPOTENCY_IN_PROGRESS', { headers: { 'retry-after': '1' } })
  if (outcome.kind === 'busy') throw new Problem('SERVER_BUSY', { headers: { 'retry-after': '1' } })
  if (outcome.kind === 'refused') throw problemOf(outcome.refusals.values().next().value!, outcome.refusals)
  if (outcome.replayed) reply.header('idempotent-replayed', 'true')
  return outcome.answer
}

function refusalOf(verdict: Verdict): Refusal {
  if (verdict.verdict === 'SUPPRESSED') return { code: 'RECIPIENT_SUPPRESSED', recipient: verdict.suppressed[0]! }
  const message = 'there is no such recipient in this company, or it has another address'
  return {
    code: 'RECIPIENT_NOT_FOUND',
    errors: [{ path: 'recipient.recipientId', code: 'RECIPIENT_NOT_FOUND', message }],
  }
}

function accepted({ outboxId, suppressed }: Verdict, { requestId, queuedAt }: UnitAnswer) {
  const answer = { outboxId, jobId: outboxId, requestId, status: 'QUEUED' as const, queuedAt }
  return suppressed.length > 0 ? { ...answer, suppressed } : answer
}

function batchMembers(body: unknown): unknown[] {
  if (Array.isArray(body) && body.length >= 1 && body.length <= SEND_LIMITS.BATCH) return body
  const message = `must be an array of 1 to ${SEND_LIMITS.BATCH} e-mails`
  throw new Problem('INVALID_PAYLOAD', { errors: [{ path: '', code: 'INVALID_PAYLOAD', message }] })
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

/** A strict batch that is refused names every field of every member: `[3].to`. */
function batchProblem(refused: Map<number, Refusal>): Problem {
  const [first] = refused.values()
  const errors: FieldProblem[] = [...refused].flatMap(([index, refusal]) => {
    if (refusal.code === 'RECIPIENT_SUPPRESSED') {
      return [
        { path: `[${index}].to`, code: refusal.code, message: `is on the suppression list (${refusal.recipient})` },
      ]
    }
    return refusal.errors.map(error => ({ ...error, path: `[${index}].${error.path}` }))
  })
  const codes = new Set([...refused.values()].map(refusal => refusal.code))
  const recipient = first?.code === 'RECIPIENT_SUPPRESSED' ? { recipient: first.recipient } : {}
  return new Problem(codes.size === 1 ? first!.code : 'INVALID_PAYLOAD', { errors, ...recipient })
}

function batchAnswer(answer: UnitAnswer, strict: boolean) {
  const refused = answer.verdicts.filter(one => one.verdict !== 'ACCEPTED')
  if (strict && refused.length > 0) throw batchProblem(new Map(refused.map(one => [one.index, refusalOf(one)])))
  const data = answer.verdicts.filter(one => one.verdict === 'ACCEPTED').map(one => accepted(one, answer))
  const errors = inOrder([...answer.refusedBefore, ...refused.map(one => batchError(one.index, refusalOf(one)))])
  return errors.length > 0 ? { data, errors } : { data }
}

const inOrder = (errors: BatchError[]) => errors.sort((a, b) => a.index - b.index)
