import type { FastifyReply } from 'fastify'
import { type BatchError, batchError, type FieldProblem, type Refusal } from '../contracts/refusal.ts'
import type { MemberResult, RequestAnswer } from '../db/outbox/draft.ts'
import type { AcceptResult } from '../pipeline/accept.ts'
import { Problem, refusalProblem } from './problem.ts'

/** The body of the 202 for one e-mail. */
export function sendAnswer(outcome: AcceptResult, reply: FastifyReply) {
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
  reply: FastifyReply,
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
