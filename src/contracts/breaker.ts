import type { ProviderFailure } from './provider-errors/classify.ts'
import { withJitter } from './retry.ts'

/** After so many failures in a row, of any e-mails, the provider is considered broken and is parked. */
export const FAILURES_IN_A_ROW = 10

/** After so many calls in a row without a connection the provider is parked, even if all were for one e-mail. */
export const UNCONNECTED_IN_A_ROW = 3

/** When a parked provider is probed: after the first failure, the second, … The last delay is used for all further probes. */
const PROBE_DELAYS_SECONDS = [1, 5, 30, 120, 600] as const

export function probeDelayMs(failedProbes: number, random: () => number = Math.random): number {
  const last = PROBE_DELAYS_SECONDS.length - 1
  return withJitter(PROBE_DELAYS_SECONDS[Math.min(failedProbes, last)]! * 1000, random)
}

/** What an answer shows about the provider itself. */
export type ProviderHealth = 'works' | 'failing' | 'unconnected' | 'park' | 'inconclusive'

/**
 * park: quota, paused account or bad credentials affect every e-mail. failing: no answer, or an error of the provider itself.
 * works: also when it refused this one e-mail. inconclusive: a rate limit, or an SMTP server that defers one e-mail, because
 * greylisted recipients must not park a relay; 421 and silence are the exceptions, since they may be about the server.
 */
export function assessProvider(failure: ProviderFailure | null): ProviderHealth {
  if (!failure) return 'works'
  if (failure.openBreaker) return 'park'
  if (failure.unconnected) return 'unconnected'
  const isAboutServer = failure.originalCode?.startsWith('421') || failure.category === 'TIMEOUT_ERROR'
  if (failure.throttled || (failure.deferred && !isAboutServer)) return 'inconclusive'
  if (failure.category === 'TRANSIENT_ERROR' || failure.category === 'TIMEOUT_ERROR') return 'failing'
  return failure.category === 'QUOTA_ERROR' ? 'inconclusive' : 'works'
}
