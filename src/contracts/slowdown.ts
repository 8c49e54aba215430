/** How the send rate of a provider that throttles is lowered and grows back. All rates are recipients per second. */
export interface LowerRate {
  /** The rate at which it was throttled. */
  from: number
  /** The rate it was lowered to. */
  to: number
}

export interface Slowdown extends LowerRate {
  agoMs: number
}

/** The rate has grown back after so long, and doubles in as long from there on: the limit may have been raised. */
const RECOVERY_MS = 10_000
/** A provider that throttles everything is asked once a minute. */
const SLOWEST = 1 / 60
/** Faster than this, nothing is left of a slowdown. */
const FASTEST = 1_000
/** A limit that was told is counted in windows that are not ours. */
const SHARE_OF_LIMIT = 0.9

/** A call that began before every worker knew of the last slowdown says nothing about the lower rate. */
export const SLOWDOWN_SPREADS_MS = 1_000
/** No answer makes mail wait longer than this: then one e-mail asks again. */
export const MAX_PAUSE_MS = 300_000

/** What the slowdown still allows; null: it is over. A time in the future is one of a clock that was set back. */
export function rateAfter({ from, to, agoMs }: Slowdown): number | null {
  if (agoMs < 0) return null
  if (agoMs < RECOVERY_MS) return to + ((from - to) * agoMs) / RECOVERY_MS
  const rate = from * 2 ** ((agoMs - RECOVERY_MS) / RECOVERY_MS)
  return rate > FASTEST ? null : rate
}

export interface Throttled {
  /** The rate in force; null: none. */
  rate: number | null
  /** Messages accepted in the last second: what the provider takes, where no rate was in force. */
  accepted: number
  /** The limit that came with the answer. */
  limit: number | null
}

/** Half of what it was; or the limit, where the provider told it and the rate was above it. */
export function slowerThan({ rate, accepted, limit }: Throttled): LowerRate {
  if (limit !== null && (rate === null || rate > limit)) return { from: withinLimit(limit), to: withinLimit(limit) }
  const from = Math.max(SLOWEST, rate ?? Math.max(1, accepted))
  return { from, to: Math.max(SLOWEST, from / 2) }
}

export const withinLimit = (limit: number) => limit * SHARE_OF_LIMIT

/** Until the next message: as long as the provider asks, or the time of one message at the lower rate. */
export function pauseMs(retryAfterMs: number | null, to: number): number {
  return Math.min(MAX_PAUSE_MS, retryAfterMs ?? 1_000 / to)
}
