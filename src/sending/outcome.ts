import { maskSensitive } from '../contracts/masking.ts'
import { decideAfterFailure, maxAttempts, policyAfter, type RetryPolicyName, withJitter } from '../contracts/retry.ts'
import { MAX_PAUSE_MS } from '../contracts/slowdown.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import type { Settlement } from '../db/outbox/settle.ts'
import type { Provider, SendResult } from '../providers/provider.ts'

export type FailureFacts = {
  code: string
  category: string
  message: string
  /** What the provider called it. */
  originalCode?: string | null
  /** Of the error itself, whether or not another attempt follows. */
  retryable?: boolean
}

/** How an attempt ended. Values, not exceptions: settling is a table. */
export type Outcome =
  | { kind: 'sent'; messageId: string }
  | { kind: 'retry'; failure: FailureFacts; delayMs: number; maxAttempts?: number }
  | { kind: 'dead'; status: 'REJECTED' | 'FAILED' | 'DLQ'; failure: FailureFacts; validation?: string }
  | { kind: 'unknown'; failure: FailureFacts & { ambiguous?: boolean }; graceSeconds: number }
  | { kind: 'parked'; failure: FailureFacts }
  | { kind: 'postponed'; because: Postponed; failure: FailureFacts; delayMs: number }
  | { kind: 'unasked'; provider: string }
  | { kind: 'suppressed'; hashes: string[] }
  | { kind: 'expired' }

/** throttled: the provider limits its send rate. unconnected: no connection could be made. Neither is a failure of the e-mail. */
export type Postponed = 'throttled' | 'unconnected'

export type AttemptFacts = {
  outboxId: string
  guard: Settlement['guard']
  requestId: string
  attempt: number
  /** Spent before this one. */
  before: number
  maxAttempts: number
  durationMs: number
  /** Set once the attempt has started. */
  attemptId?: string
  provider?: string
  /** The provider was asked what became of an attempt whose outcome was unknown. */
  resumed?: boolean
  leftOut?: { ordinal: number; hash: string }[]
}

/** How soon a provider that recognises the attempt is asked again what became of it: each time after twice as long. */
const ASK_AGAIN_SECONDS = { first: 5, most: 600 }

/** When an e-mail that was postponed is due again; its provider's rate or breaker may make it wait longer. */
const POSTPONED_MS = 1_000

export const attemptOf = (email: EmailToSend) => (email.resumed ? email.attempts : email.attempts + 1)

/** What the provider's answer means for the e-mail. */
export function outcomeOf(
  result: SendResult,
  email: EmailToSend,
  provider: Provider,
  deps: { graceSeconds: number; retryPolicy: RetryPolicyName; random: () => number },
): Outcome {
  if (result.kind === 'sent') return { kind: 'sent', messageId: result.messageId }
  const failure = { ...result.failure, message: maskSensitive(result.failure.message) }
  // Asked what became of an attempt, throttling or no connection is no answer about it: it is asked again.
  if (failure.ambiguous || (email.resumed && failure.retryable && !failure.openBreaker))
    return {
      kind: 'unknown',
      failure,
      graceSeconds: provider.recognisesAttempts ? askAgainSeconds(email) : deps.graceSeconds,
    }
  if (failure.openBreaker) return { kind: 'parked', failure }
  if (failure.throttled || failure.unconnected)
    return {
      kind: 'postponed',
      because: failure.throttled ? 'throttled' : 'unconnected',
      failure,
      delayMs: withJitter(Math.max(POSTPONED_MS, Math.min(MAX_PAUSE_MS, result.rate?.retryAfterMs ?? 0)), deps.random),
    }
  const policy = policyAfter(failure, email.retryPolicy, deps.retryPolicy)
  // Nobody chose the persistent policy: the e-mail was accepted with the attempts of another one.
  const limit =
    policy === 'persistent' && !email.retryPolicy ? Math.max(email.maxAttempts, maxAttempts(policy)) : email.maxAttempts
  const next = decideAfterFailure(
    { retryable: failure.retryable, attempts: attemptOf(email), maxAttempts: limit, policy },
    deps.random,
  )
  if (next.kind === 'retry')
    return { kind: 'retry', failure, delayMs: next.delayMs, ...(limit > email.maxAttempts && { maxAttempts: limit }) }
  return { kind: 'dead', status: next.reason === 'EXHAUSTED' ? 'DLQ' : 'REJECTED', failure }
}

function askAgainSeconds({ resumed }: EmailToSend): number {
  const { first, most } = ASK_AGAIN_SECONDS
  return Math.min(most, Math.max(first, 2 * (resumed?.askedSeconds ?? 0)))
}

/** How soon it is looked whether the provider is back that can tell what became of an attempt. */
const UNASKED_SECONDS = 30

type Event = Settlement['events'][number]
type Draft = Omit<Settlement, 'outboxId' | 'guard' | 'attempts'> & { attempts?: number }

/** What is written for each way an attempt can end. Event metadata carries both spellings of the source documents. */
export function toSettlement(outcome: Outcome, facts: AttemptFacts): Settlement {
  const { guard, resumed, leftOut } = facts
  if (outcome.kind === 'sent' && !('waiting' in guard) && !resumed && !leftOut?.length)
    return plainlySent(outcome.messageId, facts)
  const { attempts = facts.attempt, events, ...draft } = draftOf(outcome, facts)
  const before = [...receivedNow(outcome, facts), ...resolvedNow(outcome, facts)]
  return {
    outboxId: facts.outboxId,
    guard,
    attempts,
    ...draft,
    ...(leftOut && leftOut.length > 0 && { leftOut: leftOut.map(one => one.ordinal) }),
    ...(resolvedNow(outcome, facts).length > 0 && {
      count: ['unknown_resolved', 'idempotency-key'] as [string, string],
    }),
    events: [...before, ...events],
  }
}

/** Nearly every one: as a literal, it costs a tenth of the general way. */
function plainlySent(messageId: string, facts: AttemptFacts): Settlement {
  const { outboxId, guard, attempt, durationMs } = facts
  const event = { type: 'SENT' as const, metadata: sentMetadata(messageId, attempt, durationMs) }
  return { outboxId, guard, status: 'SENT', attempts: attempt, messageId, durationMs, events: [event] }
}

/** An e-mail that ends without a call has had no RECEIVED yet. */
function receivedNow({ kind }: Outcome, { guard, attempt, requestId }: AttemptFacts): Event[] {
  return 'waiting' in guard && kind !== 'unasked' ? [{ type: 'RECEIVED', metadata: { attempt, requestId } }] : []
}

function resolvedNow({ kind }: Outcome, { resumed, attemptId }: AttemptFacts): Event[] {
  if (!resumed || kind === 'unknown' || kind === 'parked') return []
  return [{ type: 'RESOLVED', metadata: { by: 'idempotency-key', attemptId } }]
}

function draftOf(outcome: Outcome, facts: AttemptFacts): Draft {
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
    case 'unasked':
      return unasked(facts)
    case 'suppressed':
      return suppressed(outcome.hashes, facts)
    case 'expired':
      return expired(facts)
  }
}

function sent(messageId: string, { attempt, durationMs, leftOut = [] }: AttemptFacts): Draft {
  const metadata = {
    ...sentMetadata(messageId, attempt, durationMs),
    ...(leftOut.length > 0 && { suppressed: leftOut.map(one => one.hash) }),
  }
  return { status: 'SENT', messageId, durationMs, events: [{ type: 'SENT', metadata }] }
}

/** Both spellings of each fact are documented. */
const sentMetadata = (messageId: string, attempt: number, durationMs: number) => ({
  messageId,
  sesMessageId: messageId,
  attempt,
  attempts: attempt,
  durationMs,
  processingTimeMs: durationMs,
})

function retry(
  { failure, delayMs, maxAttempts }: Outcome & { kind: 'retry' },
  { attempt, durationMs }: AttemptFacts,
): Draft {
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
  { status, failure, validation }: Outcome & { kind: 'dead' },
  { attempt, durationMs }: AttemptFacts,
): Draft {
  const events: Event[] = []
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

/** The request left and no answer came: evidence decides, or the e-mail's policy when there is none in time. */
function unknown(
  failure: FailureFacts & { ambiguous?: boolean },
  graceSeconds: number,
  { attempt, durationMs, attemptId, provider }: AttemptFacts,
): Draft {
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

/** No failure of the e-mail: it goes back into the line with its attempt given back (decision 13). */
function parked(failure: FailureFacts, { attempt, durationMs, resumed, provider }: AttemptFacts): Draft {
  const attempts = resumed ? attempt : attempt - 1
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
    ...(resumed && { sameAttempt: true }),
    events: [{ type: 'RETRY_SCHEDULED', metadata }],
  }
}

/** No failure of the e-mail either: its attempt is given back, and it is tried again soon, for as long as it lives. */
function postponed(
  { because, failure, delayMs }: Outcome & { kind: 'postponed' },
  { attempt, before, durationMs, provider }: AttemptFacts,
): Draft {
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
    attempts: before,
    retryDelayMs: delayMs,
    error: failure,
    events: [{ type: 'RETRY_SCHEDULED', metadata }],
  }
}

/** The provider that could tell is parked or gone: in doubt again, which ends with the e-mail's time. No attempt was made. */
function unasked({ before }: AttemptFacts): Draft {
  const unknown = { reason: 'PROVIDER_UNAVAILABLE', graceSeconds: UNASKED_SECONDS }
  return { status: 'UNKNOWN', attempts: before, unknown, events: [] }
}

/** Decision 8: rejected, without a dead letter. */
function suppressed(hashes: string[], { attempt }: AttemptFacts): Draft {
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

function expired({ before }: AttemptFacts): Draft {
  const failure = { code: 'EXPIRED', category: 'TIMEOUT_ERROR', message: 'Not sent within 24 hours of its due time' }
  return {
    status: 'EXPIRED',
    attempts: before,
    error: failure,
    events: [{ type: 'EXPIRED', metadata: { attempts: before } }],
  }
}

function errorFields(failure: FailureFacts) {
  return {
    errorCode: failure.code,
    errorCategory: failure.category,
    errorMessage: failure.message,
    providerCode: failure.originalCode ?? null,
    // The name that it had before.
    originalCode: failure.originalCode ?? null,
  }
}
