export interface UnknownOutcome {
  /** The provider recognises the attempt id: asking again cannot send twice. */
  recognised: boolean
  onUnknown: 'resend' | 'hold'
  attempts: number
  maxAttempts: number
  /** 24 hours after its due time. */
  expired: boolean
}

export type UnknownDecision =
  | { kind: 'ask-again' }
  | { kind: 'resend' }
  | { kind: 'hold' }
  | { kind: 'give-up'; status: 'FAILED' | 'DLQ' }

/** Nobody could say in time whether the provider took it. What its policy wants (decisions 33 and 34). */
export function decideUnknown(outcome: UnknownOutcome): UnknownDecision {
  if (outcome.expired) return { kind: 'give-up', status: 'FAILED' }
  if (outcome.recognised) return { kind: 'ask-again' }
  if (outcome.onUnknown === 'hold') return { kind: 'hold' }
  return outcome.attempts < outcome.maxAttempts ? { kind: 'resend' } : { kind: 'give-up', status: 'DLQ' }
}
