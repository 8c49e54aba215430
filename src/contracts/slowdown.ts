/**
 * How the send rate of a provider that throttles is lowered and grows back. All rates are recipients per second, or messages per second
 * for a provider that limits messages.
 */
export interface LowerRate {
  /** The rate at which it was throttled. */
  from: number
  /** The rate it was lowered to. */
  to: number
}

export interface Slowdown extends LowerRate {
  agoMs: number
}

/** The rate is back at its old value after this time, and doubles in each further period, because the limit may have been raised. */
const RECOVERY_MS = 10_000
/** A provider that throttles everything is still tried once a minute. */
const SLOWEST = 1 / 60
/** Above this rate a slowdown has ended. */
const FASTEST = 1_000
/** The provider counts its limit in windows that differ from ours, so keep a margin. */
const SHARE_OF_LIMIT = 0.9

/** Until every worker knows of a slowdown; a call that began before then shows nothing about the lower rate. */
export const SLOWDOWN_SPREADS_MS = 1_000
/** The longest pause that a provider can cause; then one e-mail tries again. */
export const MAX_PAUSE_MS = 300_000

/** The rate that the slowdown still allows, null when it has ended. `agoMs` is negative after a clock was set back. */
export function rateAfter({ from, to, agoMs }: Slowdown): number | null {
  if (agoMs < 0) return null
  if (agoMs < RECOVERY_MS) return to + ((from - to) * agoMs) / RECOVERY_MS
  const rate = from * 2 ** ((agoMs - RECOVERY_MS) / RECOVERY_MS)
  return rate > FASTEST ? null : rate
}

export interface Throttled {
  /** The current rate, null without a limit. */
  rate: number | null
  /** Recipients (messages) accepted in the last second: the starting point when there was no limit. */
  accepted: number
  /** The limit stated in the provider's answer. */
  limit: number | null
}

/** Half of the current rate; or the stated limit if the rate was above it. */
export function slowerThan({ rate, accepted, limit }: Throttled): LowerRate {
  if (limit !== null && (rate === null || rate > limit)) return { from: withinLimit(limit), to: withinLimit(limit) }
  const from = Math.max(SLOWEST, rate ?? Math.max(1, accepted))
  return { from, to: Math.max(SLOWEST, from / 2) }
}

export const withinLimit = (limit: number) => limit * SHARE_OF_LIMIT

/** The pause before the next message: the requested Retry-After, or the time of one message at the lower rate. */
export function pauseMs(retryAfterMs: number | null, to: number): number {
  return Math.min(MAX_PAUSE_MS, retryAfterMs ?? 1_000 / to)
}
