export interface UnknownOutcome {
  /** The provider recognises the attempt id, so the same request again cannot send twice. */
  recognised: boolean
  onUnknown: 'resend' | 'hold'
  attempts: number
  maxAttempts: number
  /** More than 24 hours after its due time. */
  expired: boolean
}

export type UnknownDecision =
  | { kind: 'repeat-call' }
  | { kind: 'send-again' }
  | { kind: 'hold' }
  | { kind: 'give-up'; status: 'FAILED' | 'DLQ' }

/** What to do when no provider event has resolved an unknown send in time; see docs/sending.md. */
export function decideUnknown(outcome: UnknownOutcome): UnknownDecision {
  if (outcome.expired) return { kind: 'give-up', status: 'FAILED' }
  if (outcome.recognised) return { kind: 'repeat-call' }
  if (outcome.onUnknown === 'hold') return { kind: 'hold' }
  return outcome.attempts < outcome.maxAttempts ? { kind: 'send-again' } : { kind: 'give-up', status: 'DLQ' }
}
