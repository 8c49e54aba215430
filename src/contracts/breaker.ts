import type { ProviderFailure } from './provider-errors.ts'
import { RETRY_POLICIES, withJitter } from './retry.ts'

/** Failures without a success between them, of any e-mails, after which the provider and not the e-mail is at fault. */
export const FAILURES_IN_A_ROW = 10

/** A parked provider is tried after 1, 5, 30, 120 and then every 600 seconds (decision 6). */
export function probeDelayMs(failedProbes: number, random: () => number = Math.random): number {
  const { delaysSeconds } = RETRY_POLICIES.steps
  return withJitter(delaysSeconds[Math.min(failedProbes, delaysSeconds.length - 1)]! * 1000, random)
}

/** What an answer says about the provider itself. */
export type Verdict = 'works' | 'trouble' | 'parked' | 'says-nothing'

/**
 * Quota, a paused account, bad credentials: parked at once (decision 13). No answer, or its own error: trouble, when it
 * lasts. A refusal of this one e-mail is an answer like any other. Throttling only asks for patience.
 */
export function judgeProvider(failure: ProviderFailure | null): Verdict {
  if (!failure) return 'works'
  if (failure.openBreaker) return 'parked'
  if (failure.category === 'TRANSIENT_ERROR' || failure.category === 'TIMEOUT_ERROR') return 'trouble'
  return failure.category === 'QUOTA_ERROR' ? 'says-nothing' : 'works'
}
