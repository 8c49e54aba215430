import type { EmailStatus } from '../contracts/states.ts'
import type { Settlement } from '../db/line.ts'

export type FailureFacts = { code: string; category: string; message: string; originalCode?: string | null }

/** How an attempt ended. Values, not exceptions: settling is a table. */
export type Outcome =
  | { kind: 'sent'; messageId: string }
  | { kind: 'retry'; failure: FailureFacts; delayMs: number }
  | { kind: 'dead'; status: 'REJECTED' | 'FAILED' | 'DLQ'; failure: FailureFacts; validation?: string }
  | { kind: 'expired' }

export type AttemptFacts = {
  outboxId: string
  leaseId: string
  attempt: number
  maxAttempts: number
  durationMs: number
}

type Draft = Omit<Settlement, 'outboxId' | 'leaseId'>

/** What is written for each way an attempt can end. Event metadata carries both spellings of the source documents. */
export function toSettlement(outcome: Outcome, facts: AttemptFacts): Settlement {
  return { outboxId: facts.outboxId, leaseId: facts.leaseId, ...draft(outcome, facts) }
}

function draft(outcome: Outcome, facts: AttemptFacts): Draft {
  switch (outcome.kind) {
    case 'sent':
      return sent(outcome.messageId, facts)
    case 'retry':
      return retry(outcome.failure, outcome.delayMs, facts)
    case 'dead':
      return dead(outcome, facts)
    case 'expired':
      return expired(facts)
  }
}

function sent(messageId: string, { attempt, durationMs }: AttemptFacts): Draft {
  const metadata = {
    messageId,
    sesMessageId: messageId,
    attempt,
    attempts: attempt,
    durationMs,
    processingTimeMs: durationMs,
  }
  return { status: 'SENT', messageId, durationMs, events: [{ type: 'SENT', metadata }] }
}

function retry(failure: FailureFacts, delayMs: number, { attempt, durationMs }: AttemptFacts): Draft {
  const metadata = {
    ...errorFields(failure),
    willRetry: true,
    attempt,
    nextAttemptNumber: attempt + 1,
    backoffDelay: delayMs,
    durationMs,
  }
  return {
    status: 'RETRY_SCHEDULED',
    retryDelayMs: delayMs,
    error: failure,
    events: [{ type: 'RETRY_SCHEDULED', metadata }],
  }
}

function dead(
  { status, failure, validation }: Outcome & { kind: 'dead' },
  { attempt, durationMs }: AttemptFacts,
): Draft {
  const events: Settlement['events'] = []
  if (validation) events.push({ type: 'VALIDATION_FAILED', metadata: { validation, ...errorFields(failure), attempt } })
  const own = status === 'REJECTED' ? 'REJECTED' : 'FAILED'
  const metadata = {
    ...errorFields(failure),
    willRetry: false,
    attempt,
    durationMs,
    reason: failure.message,
    sesError: failure.originalCode ?? null,
  }
  events.push({ type: own, metadata })
  events.push({
    type: 'DLQ_MOVED',
    metadata: { attempts: attempt, lastError: failure.message, lastErrorCode: failure.code },
  })
  return {
    status,
    durationMs,
    error: failure,
    events,
    dead: { failedAttempts: attempt, reason: failure.message, code: failure.originalCode ?? failure.code },
  }
}

function expired({ attempt }: AttemptFacts): Draft {
  const failure = { code: 'EXPIRED', category: 'TIMEOUT_ERROR', message: 'Not sent within 24 hours of its due time' }
  return {
    status: 'EXPIRED' satisfies EmailStatus,
    error: failure,
    events: [{ type: 'EXPIRED', metadata: { attempts: attempt } }],
  }
}

function errorFields(failure: FailureFacts) {
  return {
    errorCode: failure.code,
    errorCategory: failure.category,
    errorMessage: failure.message,
    originalCode: failure.originalCode ?? null,
  }
}
