const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Delays after the first attempt, which is immediate. Each counts from the attempt before it. */
export const WEBHOOK_RETRY_DELAYS_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
] as const
/** Spreads the retries of receivers that were down at the same time. */
const JITTER = 0.1
/** The longest Retry-After that is respected. */
const MAX_RETRY_AFTER_MS = HOUR

/** From this failure in a row on, an endpoint is paused, and its waiting webhooks spend no attempt. */
const FAILURES_BEFORE_COOLDOWN = 3
const MAX_COOLDOWN_MS = MINUTE

/**
 * The receiver's response to one attempt. `status` null: there was none, and `error` says why. `ourFault`: body or signature could not
 * be made, which is not the receiver's failure.
 */
export type WebhookAnswer = {
  status: number | null
  error: string | null
  retryAfterMs: number | null
  ourFault?: true
}

export type DeliveryDecision =
  | { kind: 'delivered' }
  | { kind: 'retry'; delayMs: number; ourFault?: true; pauseMs: number }
  /** `gone`: status 410, the endpoint is disabled. */
  | { kind: 'failed'; gone?: true; ourFault?: true; pauseMs: number }

export function decideAfterWebhook(answer: WebhookAnswer, attempts: number, random: () => number): DeliveryDecision {
  const { status } = answer
  if (status !== null && answer.error === null && status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === 410) return { kind: 'failed', gone: true, pauseMs: 0 }
  const pauseMs = status === 429 || status === 503 ? Math.min(answer.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
  const rest = { pauseMs, ...(answer.ourFault && { ourFault: answer.ourFault }) }
  const delayMs = WEBHOOK_RETRY_DELAYS_MS[attempts - 1]
  if (delayMs === undefined) return { kind: 'failed', ...rest }
  return { kind: 'retry', delayMs: Math.max(pauseMs, Math.round(delayMs * (1 + JITTER * random()))), ...rest }
}

/** How long an endpoint is paused after so many failures in a row. */
export function webhookCooldownMs(failures: number): number {
  if (failures < FAILURES_BEFORE_COOLDOWN) return 0
  return Math.min(MAX_COOLDOWN_MS, SECOND * 2 ** (failures - FAILURES_BEFORE_COOLDOWN))
}

/** Seconds or a date (RFC 9110 §10.2.3); anything else is ignored. */
export function parseRetryAfter(text: string | undefined, now: Date): number | null {
  if (text === undefined) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND
  const at = text.endsWith(' GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime())
}
