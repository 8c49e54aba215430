import type { Logger } from 'pino'
import { maskSensitive } from '../contracts/masking.ts'
import type { ProviderFailure } from '../contracts/provider-errors.ts'
import { decideAfterFailure } from '../contracts/retry.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import type { AttemptStart, Claimed, Settlement } from '../db/line.ts'
import type { Ticket } from '../db/tickets.ts'
import type { OutgoingMessage, Provider, ProviderEvent } from '../providers/provider.ts'
import type { HtmlChecker } from './html-check.ts'
import { type Outcome, toSettlement } from './outcome.ts'
import { VALIDATIONS, validateEmail } from './validate-email.ts'

/** Seed 000: the call really ends after 30 seconds. */
const PROVIDER_TIMEOUT_MS = 30_000

export type AttemptDeps = {
  starts: { add(start: AttemptStart): Promise<boolean> }
  settlements: { add(settlement: Settlement): Promise<boolean> }
  providerFor: (ticket: Ticket) => Provider
  html: HtmlChecker
  recordFeedback: (outboxId: string, messageId: string, event: ProviderEvent) => Promise<void>
  random: () => number
  nowMs: () => number
  log: Logger
}

/** A claimed e-mail; ticket is null when its row is gone (a poison job). */
export type Received = Claimed & { leaseId: string; ticket: Ticket | null }

type Progress = { outcome: Outcome; provider: string | null; feedback: ProviderEvent[] }

/** Step 3 of the line, after RECEIVED: validate → SENT_ATTEMPT → provider → settle. */
export async function attemptEmail(received: Received, deps: AttemptDeps): Promise<void> {
  const startedMs = deps.nowMs()
  const progress = await progressOf(received, deps)
  if (!progress) return leaseLost(received, deps)
  const durationMs = Math.round(deps.nowMs() - startedMs)
  const facts = { ...received, attempt: received.attempts, maxAttempts: received.ticket?.maxAttempts ?? 0, durationMs }
  if (!(await deps.settlements.add(toSettlement(progress.outcome, facts)))) return leaseLost(received, deps)
  tell(received, progress, durationMs, deps)
  if (progress.outcome.kind === 'sent') {
    for (const event of progress.feedback)
      await deps.recordFeedback(received.outboxId, progress.outcome.messageId, event)
  }
}

/** null: the lease was lost before the call, and nothing was sent. */
async function progressOf(received: Received, deps: AttemptDeps): Promise<Progress | null> {
  const { ticket } = received
  if (!ticket) return ended({ kind: 'dead', status: 'FAILED', failure: GONE, validation: 'OUTBOX' })
  // It may have left already: the provider must be asked, whatever the clock and the rules say by now.
  if (received.resumedAttemptId) return trySending(received, ticket, deps)
  if (received.expired) return ended({ kind: 'expired' })
  if (received.exhausted) return ended({ kind: 'dead', status: 'DLQ', failure: CRASHES })
  const invalid = await validateEmail(ticket, received.companyId, deps.html)
  if (invalid) return ended({ kind: 'dead', status: 'FAILED', ...invalid })
  return trySending(received, ticket, deps)
}

const ended = (outcome: Outcome): Progress => ({ outcome, provider: null, feedback: [] })

const GONE = { code: 'OUTBOX_NOT_FOUND', category: 'PERMANENT_ERROR', message: 'The content of the e-mail is gone' }
const CRASHES = {
  code: 'ATTEMPTS_EXHAUSTED',
  category: 'PERMANENT_ERROR',
  message: 'Every attempt ended with the worker: it was stopped or crashed while working on this e-mail',
}

async function trySending(received: Received, ticket: Ticket, deps: AttemptDeps): Promise<Progress | null> {
  const provider = deps.providerFor(ticket)
  const attemptId = received.resumedAttemptId ?? uuidv7()
  const { outboxId, leaseId, attempts: attempt } = received
  const held = await deps.starts.add({
    outboxId,
    leaseId,
    attemptId,
    provider: provider.name,
    attempt,
    validations: [...VALIDATIONS],
  })
  if (!held) return null
  const text = ticket.text ?? (await deps.html.textOf(ticket.html!))
  const result = await provider.send(toMessage(ticket, attemptId, text), AbortSignal.timeout(PROVIDER_TIMEOUT_MS))
  if (result.kind === 'sent') {
    return { outcome: { kind: 'sent', messageId: result.messageId }, provider: provider.name, feedback: result.events }
  }
  return { outcome: afterFailure(result.failure, ticket, deps), provider: provider.name, feedback: [] }
}

function afterFailure(failure: ProviderFailure, ticket: Ticket, { random }: AttemptDeps): Outcome {
  const { attempts, maxAttempts, retryPolicy } = ticket
  const facts = { ...failure, message: maskSensitive(failure.message) }
  const next = decideAfterFailure({ retryable: failure.retryable, attempts, maxAttempts, policy: retryPolicy }, random)
  if (next.kind === 'retry') return { kind: 'retry', failure: facts, delayMs: next.delayMs }
  return { kind: 'dead', status: next.reason === 'EXHAUSTED' ? 'DLQ' : 'REJECTED', failure: facts }
}

function toMessage(ticket: Ticket, attemptId: string, text: string): OutgoingMessage {
  const only = (kind: string) => ticket.recipients.filter(one => one.kind === kind).map(one => addressed(one))
  return {
    outboxId: ticket.outboxId,
    attemptId,
    companyId: ticket.companyId,
    from: ticket.from,
    to: only('to'),
    cc: only('cc'),
    bcc: only('bcc'),
    replyTo: ticket.replyTo ?? [],
    subject: ticket.subject!,
    html: ticket.html,
    text,
    headers: ticket.headers ?? {},
    tags: ticket.tags,
    attachments: ticket.attachments,
  }
}

function addressed({ name, address }: { name: string | null; address: string }): string {
  return name ? `"${name.replace(/["\\]/g, '\\$&')}" <${address}>` : address
}

/** Seed 000's log fields. */
function tell(received: Received, { outcome, provider }: Progress, durationMs: number, { log }: AttemptDeps): void {
  const { outboxId, companyId, attempts: attempt, ticket } = received
  const { level, message, ...own } = logLine(outcome)
  const facts = {
    outboxId,
    jobId: outboxId,
    requestId: ticket?.requestId,
    companyId,
    attempt,
    maxAttempts: ticket?.maxAttempts,
  }
  log[level]({ ...facts, provider, durationMs, ...own }, message)
}

type LogLine = { level: 'info' | 'warn' | 'error'; message: string; state: string; [field: string]: unknown }

function logLine(outcome: Outcome): LogLine {
  switch (outcome.kind) {
    case 'sent':
      return { level: 'info', message: 'E-mail sent', state: 'SENT', messageId: outcome.messageId }
    case 'retry': {
      const { failure, delayMs } = outcome
      const error = {
        errorCode: failure.code,
        errorReason: failure.message,
        nextRetryDelay: delayMs,
        isRetryable: true,
      }
      return { level: 'warn', message: 'Attempt failed, retry scheduled', state: 'RETRY_SCHEDULED', ...error }
    }
    case 'dead': {
      const { failure, status } = outcome
      const error = { errorCode: failure.code, errorReason: failure.message, isRetryable: false }
      return { level: 'error', message: 'E-mail moved to the dead letter queue', state: status, ...error }
    }
    default:
      return { level: 'info', message: `E-mail ${outcome.kind}`, state: outcome.kind.toUpperCase() }
  }
}

function leaseLost({ outboxId, companyId, attempts }: Received, { log }: AttemptDeps): void {
  log.warn(
    { outboxId, jobId: outboxId, companyId, attempt: attempts },
    'Lease lost: another worker has this e-mail now',
  )
}
