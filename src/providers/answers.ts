import type { ProviderName } from '../settings/settings.ts'
import { classifyProviderError, type ProviderError, type ProviderFailure, ruleForName } from './errors/classify.ts'
import { TLS_HANDSHAKE } from './errors/network.ts'

type ErrorLike = { name?: string; code?: unknown; message?: string; cause?: unknown; errors?: unknown[] }

/**
 * Describes the error of a call without a response with the fields of the error tables. fetch puts the reason into `cause`, a host with
 * several addresses into `errors`; the outer errors carry no information.
 */
export function describeThrown(error: unknown): Pick<ProviderError, 'name' | 'networkCode' | 'message'> {
  const chain = chainOf(error)
  const coded = chain.find(({ code }) => typeof code === 'string')
  // The innermost message shows at which step the connection failed.
  const message = chain.findLast(link => link.message)?.message ?? String(error)
  return { name: chain[0]?.name, networkCode: coded?.code as string | undefined, message }
}

const MAX_DEPTH = 5

function chainOf(error: unknown): ErrorLike[] {
  const chain: ErrorLike[] = []
  let next: unknown = error
  while (typeof next === 'object' && next !== null && chain.length < MAX_DEPTH) {
    const link: ErrorLike = next
    chain.push(link)
    next = link.cause ?? link.errors?.[0]
  }
  return chain
}

/**
 * Sets the code of an error before the end of the TLS handshake, unless its own code already proves that nothing was sent (no
 * connection, a bad certificate).
 */
export function markHandshakeError(error: Error & { code?: string; syscall?: string }): void {
  const rule = ruleForName(error.code ?? '')
  const isHandshake = error.syscall !== 'connect' && !(error instanceof AggregateError)
  if (isHandshake && (!rule || rule.ambiguous)) error.code = TLS_HANDSHAKE
}

/**
 * The call was ended by its signal. left: the message may have been sent. unconnected: there was no connection, or no credentials for
 * one. unsent: connected, but the message was not sent.
 */
export function timedOut(provider: ProviderName, when: 'left' | 'unconnected' | 'unsent'): ProviderFailure {
  const mayHaveLeft = when === 'left'
  const message = mayHaveLeft ? 'No answer within the time limit' : 'Not handed over within the time limit'
  const failure = classifyProviderError({ provider, name: 'AbortError', message })
  return { ...failure, ambiguous: mayHaveLeft, unconnected: when === 'unconnected' }
}

/** Rejects as soon as the signal is aborted, even if the work ignores it. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** The rate limits stated in a provider's response. */
export interface RateHint {
  retryAfterMs: number | null
  /** Messages per second. */
  limit: number | null
}

type HeaderOf = (name: string) => string | null | undefined

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
