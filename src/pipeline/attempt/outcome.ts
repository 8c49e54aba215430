import type { EmailToSend } from '../../outbox/load.ts'
import { maskSensitive } from '../../platform/text/masking.ts'
import type { Provider, SendResult } from '../../providers/provider.ts'
import { MAX_PAUSE_MS } from '../../providers/throttle.ts'
import { decideAfterFailure, maxAttempts, policyAfter, type RetryPolicyName, withJitter } from '../../settings/retry.ts'

export type FailureFacts = {
  code: string
  category: string
  message: string
  /** The provider's own code for the failure. */
  originalCode?: string | null
  /** Whether another attempt could help; says nothing about whether one follows. */
  retryable?: boolean
}

/** What an attempt ended with. `settlement-by-outcome.ts` says what is written for each. */
export type Outcome =
  | SettledOutcome
  /** Nothing was sent and nothing is wrong with the e-mail. */
  | { kind: 'back-to-ready' }
  /** Nothing was started: the e-mail has ended, is not due yet, or another worker has it. */
  | { kind: 'not-ours' }

export type SettledOutcome =
  | { kind: 'sent'; messageId: string }
  | { kind: 'retry'; failure: FailureFacts; delayMs: number; maxAttempts?: number }
  | { kind: 'dead'; status: 'REJECTED' | 'FAILED' | 'DLQ'; failure: FailureFacts; validation?: string }
  | { kind: 'unknown'; failure: FailureFacts & { ambiguous?: boolean }; graceSeconds: number }
  | { kind: 'parked'; failure: FailureFacts }
  | { kind: 'postponed'; because: Postponed; failure: FailureFacts; delayMs: number }
  /** The call of an unknown send cannot be repeated: its provider is parked or gone, or a recipient is suppressed by now. */
  | { kind: 'cannot-repeat'; provider: string; reason: CannotRepeat }
  | { kind: 'suppressed'; hashes: string[] }
  | { kind: 'expired' }

export type CannotRepeat = 'PROVIDER_UNAVAILABLE' | 'RECIPIENT_SUPPRESSED'

/** throttled: the provider limits its send rate. unconnected: no connection could be made. Neither is a failure of the e-mail. */
type Postponed = 'throttled' | 'unconnected'

/** How soon the call is repeated at a provider that recognises the attempt: each time after twice as long. */
const REPEAT_AFTER_SECONDS = { first: 5, most: 600 }

/** When an e-mail that was postponed is due again; its provider's rate or breaker may make it wait longer. */
const POSTPONED_MS = 1_000

export const OUTCOME_UNKNOWN = {
  code: 'SEND_OUTCOME_UNKNOWN',
  category: 'TIMEOUT_ERROR',
  message:
    'Whether the provider took the message was never learnt: the connection or the worker was lost after it had left',
}

/** An unresolved attempt keeps its number. */
export const attemptNumber = (email: EmailToSend) => (email.unresolvedAttempt ? email.attempts : email.attempts + 1)

export type OutcomeSettings = {
  graceSeconds: number
  /** For e-mails for which neither the company nor the request chose one. */
  retryPolicy: RetryPolicyName
}

/** What the provider's answer means for the e-mail. */
export function decideOutcome(
  result: SendResult,
  email: EmailToSend,
  provider: Provider,
  settings: OutcomeSettings,
  random: () => number,
): SettledOutcome {
  if (result.kind === 'sent') return { kind: 'sent', messageId: result.messageId }
  const failure = { ...result.failure, message: maskSensitive(result.failure.message) }
  // When the call of an attempt is repeated, throttling or no connection says nothing about the attempt: it is repeated again.
  if (failure.ambiguous || (email.unresolvedAttempt && failure.retryable && !failure.openBreaker))
    return {
      kind: 'unknown',
      failure,
      graceSeconds: provider.recognisesAttempts ? repeatAfterSeconds(email) : settings.graceSeconds,
    }
  if (failure.openBreaker) return { kind: 'parked', failure }
  if (email.unresolvedAttempt) return { kind: 'dead', status: 'FAILED', failure: refusedRepetition(failure) }
  if (failure.throttled || failure.unconnected)
    return {
      kind: 'postponed',
      because: failure.throttled ? 'throttled' : 'unconnected',
      failure,
      delayMs: withJitter(Math.max(POSTPONED_MS, Math.min(MAX_PAUSE_MS, result.rate?.retryAfterMs ?? 0)), random),
    }
  const policy = policyAfter(failure, email.retryPolicy, settings.retryPolicy)
  // Nobody chose the persistent policy: the e-mail was accepted with the attempts of another one.
  const limit =
    policy === 'persistent' && !email.retryPolicy ? Math.max(email.maxAttempts, maxAttempts(policy)) : email.maxAttempts
  const next = decideAfterFailure(
    { retryable: failure.retryable, attempts: attemptNumber(email), maxAttempts: limit, policy },
    random,
  )
  if (next.kind === 'retry')
    return { kind: 'retry', failure, delayMs: next.delayMs, ...(limit > email.maxAttempts && { maxAttempts: limit }) }
  return { kind: 'dead', status: next.reason === 'EXHAUSTED' ? 'DLQ' : 'REJECTED', failure }
}

/** A refusal of the repeated call says nothing about the first one: a proxy, a revoked key or a removed domain refuses before the provider looks. */
function refusedRepetition({ message, originalCode, code }: FailureFacts): FailureFacts {
  return {
    ...OUTCOME_UNKNOWN,
    message: `Whether the provider took the message is not known: it refused the repeated call (${code}: ${message})`,
    ...(originalCode != null && { originalCode }),
  }
}

function repeatAfterSeconds({ unresolvedAttempt }: EmailToSend): number {
  const { first, most } = REPEAT_AFTER_SECONDS
  return Math.min(most, Math.max(first, 2 * (unresolvedAttempt?.calledSecondsAgo ?? 0)))
}
