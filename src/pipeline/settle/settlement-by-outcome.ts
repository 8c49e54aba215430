import type { Settlement } from '../../outbox/settle.ts'
import type { CannotRepeat, FailureFacts, SettledOutcome } from '../attempt/outcome.ts'

/** What a settlement says about its attempt, beside the outcome. */
export type AttemptFacts = {
  outboxId: string
  guard: Settlement['guard']
  requestId: string
  attempt: number
  /** Attempts spent before this one. */
  attemptsBefore: number
  maxAttempts: number
  durationMs: number
  /** Set when a provider was called, as are the fields below. */
  attemptId?: string
  provider?: string
  /** The call repeated an attempt whose outcome was unknown. */
  isUnresolved?: boolean
  /** Address hashes of recipients that got no copy, because they have been suppressed since the e-mail was accepted. */
  suppressedHashes?: string[]
}

/** How soon an unknown send is looked at again when its call cannot be repeated. */
const CANNOT_REPEAT_SECONDS: Record<CannotRepeat, number> = { PROVIDER_UNAVAILABLE: 30, RECIPIENT_SUPPRESSED: 600 }

export type SettlementEvent = Settlement['events'][number]
/** What depends on the outcome alone. `attempts` is set when it is not the number of this attempt. */
export type PartialSettlement = Omit<Settlement, 'outboxId' | 'guard' | 'attempts'> & { attempts?: number }

export function partialSettlementOf(outcome: SettledOutcome, facts: AttemptFacts): PartialSettlement {
  switch (outcome.kind) {
    case 'sent':
      return sent(outcome.messageId, facts)
    case 'retry':
      return retry(outcome, facts)
    case 'dead':
      return dead(outcome, facts)
    case 'unknown':
      return unknown(outcome.failure, outcome.graceSeconds, facts)
    case 'parked':
      return parked(outcome.failure, facts)
    case 'postponed':
      return postponed(outcome, facts)
    case 'cannot-repeat':
      return cannotRepeat(outcome.reason, facts)
    case 'suppressed':
      return suppressed(outcome.hashes, facts)
    case 'expired':
      return expired(facts)
  }
}

function sent(messageId: string, { attempt, durationMs, suppressedHashes = [] }: AttemptFacts): PartialSettlement {
  // Both spellings of each fact are documented.
  const metadata = {
    messageId,
    sesMessageId: messageId,
    attempt,
    attempts: attempt,
    durationMs,
    processingTimeMs: durationMs,
    ...(suppressedHashes.length > 0 && { suppressed: suppressedHashes }),
  }
  return { status: 'SENT', messageId, durationMs, events: [{ type: 'SENT', metadata }] }
}

function retry(
  { failure, delayMs, maxAttempts }: SettledOutcome & { kind: 'retry' },
  { attempt, durationMs }: AttemptFacts,
): PartialSettlement {
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
    ...(maxAttempts !== undefined && { maxAttempts }),
    error: failure,
    events: [{ type: 'RETRY_SCHEDULED', metadata }],
  }
}

function dead(
  { status, failure, validation }: SettledOutcome & { kind: 'dead' },
  { attempt, durationMs }: AttemptFacts,
): PartialSettlement {
  const events: SettlementEvent[] = []
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
    metadata: {
      attempts: attempt,
      lastError: failure.message,
      lastErrorCode: failure.code,
      lastProviderCode: failure.originalCode ?? null,
    },
  })
  return {
    status,
    durationMs,
    error: failure,
    events,
    dead: {
      failedAttempts: attempt,
      reason: failure.message,
      code: failure.code,
      providerCode: failure.originalCode ?? null,
    },
  }
}

/** The request left and no answer came: evidence decides, or the e-mail's `onUnknown` when none comes in time. */
function unknown(
  failure: FailureFacts & { ambiguous?: boolean },
  graceSeconds: number,
  { attempt, durationMs, attemptId, provider }: AttemptFacts,
): PartialSettlement {
  const reason =
    failure.ambiguous === false ? 'NO_ANSWER' : failure.category === 'TIMEOUT_ERROR' ? 'TIMEOUT' : 'CONNECTION_LOST'
  const metadata = { reason, ...errorFields(failure), attempt, attemptId, provider, durationMs, graceSeconds }
  return {
    status: 'UNKNOWN',
    durationMs,
    error: failure,
    unknown: { reason, graceSeconds },
    count: ['unknown_sends', reason],
    events: [{ type: 'UNKNOWN', metadata }],
  }
}

/** Not a failure of the e-mail: it returns to ready and the attempt is not counted. */
function parked(
  failure: FailureFacts,
  { attempt, durationMs, isUnresolved, provider }: AttemptFacts,
): PartialSettlement {
  const attempts = isUnresolved ? attempt : attempt - 1
  const metadata = {
    ...errorFields(failure),
    willRetry: true,
    parked: true,
    provider,
    attempt,
    nextAttemptNumber: attempts + 1,
    durationMs,
  }
  return {
    status: 'PENDING',
    attempts,
    error: failure,
    ...(isUnresolved && { sameAttempt: true }),
    events: [{ type: 'RETRY_SCHEDULED', metadata }],
  }
}

/** Not a failure of the e-mail either: the attempt is not counted, and it is tried again until it expires. */
function postponed(
  { because, failure, delayMs }: SettledOutcome & { kind: 'postponed' },
  { attempt, attemptsBefore, durationMs, provider }: AttemptFacts,
): PartialSettlement {
  const metadata = {
    ...errorFields(failure),
    willRetry: true,
    [because]: true,
    provider,
    attempt,
    nextAttemptNumber: attempt,
    backoffDelay: delayMs,
    durationMs,
  }
  return {
    status: 'RETRY_SCHEDULED',
    attempts: attemptsBefore,
    retryDelayMs: delayMs,
    error: failure,
    events: [{ type: 'RETRY_SCHEDULED', metadata }],
  }
}

/** Still unknown, at the latest until the e-mail expires. No attempt was made. */
function cannotRepeat(reason: CannotRepeat, { attemptsBefore }: AttemptFacts): PartialSettlement {
  const unknown = { reason, graceSeconds: CANNOT_REPEAT_SECONDS[reason] }
  return { status: 'UNKNOWN', attempts: attemptsBefore, unknown, events: [] }
}

/** A suppressed e-mail is rejected, and makes no dead letter. */
function suppressed(hashes: string[], { attempt }: AttemptFacts): PartialSettlement {
  const failure = {
    code: 'RECIPIENT_SUPPRESSED',
    category: 'PERMANENT_ERROR',
    message: 'The recipient was put on the suppression list before the e-mail was sent',
  }
  const metadata = {
    ...errorFields(failure),
    reason: failure.message,
    recipient: hashes[0],
    suppressed: hashes,
    attempt,
    willRetry: false,
  }
  return { status: 'REJECTED', error: failure, events: [{ type: 'REJECTED', metadata }] }
}

function expired({ attemptsBefore }: AttemptFacts): PartialSettlement {
  const failure = { code: 'EXPIRED', category: 'TIMEOUT_ERROR', message: 'Not sent within 24 hours of its due time' }
  return {
    status: 'EXPIRED',
    attempts: attemptsBefore,
    error: failure,
    events: [{ type: 'EXPIRED', metadata: { attempts: attemptsBefore } }],
  }
}

function errorFields(failure: FailureFacts) {
  return {
    errorCode: failure.code,
    errorCategory: failure.category,
    errorMessage: failure.message,
    providerCode: failure.originalCode ?? null,
    // The public name of the field before it became providerCode.
    originalCode: failure.originalCode ?? null,
  }
}
