/** The rate limits stated in a provider's response. */
export interface RateHint {
  retryAfterMs: number | null
  /** Messages per second. */
  limit: number | null
}

export type HeaderOf = (name: string) => string | null | undefined

/** `Retry-After` (RFC 9110) and the `RateLimit` headers of the IETF drafts, as Resend sends them. */
export function readRateHeaders(header: HeaderOf, nowMs: number): RateHint {
  return { retryAfterMs: readRetryAfter(header, nowMs), limit: readLimit(header) }
}

function readRetryAfter(header: HeaderOf, nowMs: number): number | null {
  const text = header('retry-after')?.trim() ?? ''
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text) * 1000
  const at = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(at)) return Math.max(0, at - nowMs)
  const [remaining, reset] = [numberIn(header('ratelimit-remaining')), numberIn(header('ratelimit-reset'))]
  return remaining === 0 && reset !== null ? reset * 1000 : null
}

/** Reads `2`, `2;w=1` and `"default";q=2;w=1`. The default window is one second. */
function readLimit(header: HeaderOf): number | null {
  const policy = header('ratelimit-policy') ?? ''
  const limit = numberIn(header('ratelimit-limit')) ?? numberIn(/\bq=(\d+)/.exec(policy)?.[1])
  const seconds = numberIn(/\bw=(\d+)/.exec(policy)?.[1]) ?? 1
  return limit !== null && limit > 0 && seconds > 0 ? limit / seconds : null
}

function numberIn(text: string | null | undefined): number | null {
  const found = /^\s*(\d{1,9})\b/.exec(text ?? '')
  return found ? Number(found[1]) : null
}
