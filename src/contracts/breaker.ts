import type { ProviderFailure } from './provider-errors/classify.ts'
import { RETRY_POLICIES, withJitter } from './retry.ts'

/** Failures without a success between them, of any e-mails, after which the provider and not the e-mail is at fault. */
export const FAILURES_IN_A_ROW = 10

/** So many calls in a row that found no connection park the provider, also when they are all of one e-mail. */
export const UNCONNECTED_IN_A_ROW = 3

/** A parked provider is tried after 1, 5, 30, 120 and then every 600 seconds (decision 6). */
export function probeDelayMs(failedProbes: number, random: () => number = Math.random): number {
  const { delaysSeconds } = RETRY_POLICIES.steps
  return withJitter(delaysSeconds[Math.min(failedProbes, delaysSeconds.length - 1)]! * 1000, random)
}

/** What an answer says about the provider itself. */
export type ProviderHealth = 'works' | 'trouble' | 'unconnected' | 'parked' | 'says-nothing'

/**
 * Quota, a paused account, bad credentials: parked at once (decision 13). No connection: parked after a few. No answer, or its own
 * error: trouble, when it lasts. A refusal of this one e-mail is an answer like any other. A limit of the rate, and an SMTP server
 * that puts one e-mail off (421 apart, which is about the server), say nothing: greylisted recipients must not park a relay.
 */
export function judgeProvider(failure: ProviderFailure | null): ProviderHealth {
  if (!failure) return 'works'
  if (failure.openBreaker) return 'parked'
  if (failure.unconnected) return 'unconnected'
  if (failure.throttled || (failure.deferred && !failure.originalCode?.startsWith('421'))) return 'says-nothing'
  if (failure.category === 'TRANSIENT_ERROR' || failure.category === 'TIMEOUT_ERROR') return 'trouble'
  return failure.category === 'QUOTA_ERROR' ? 'says-nothing' : 'works'
}
