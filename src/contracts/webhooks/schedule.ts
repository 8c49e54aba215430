const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** After the first attempt, which is immediate; each counts from the one before it. */
export const WEBHOOK_RETRY_DELAYS_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
] as const
/** Receivers that were down together do not come back to a stampede. */
const JITTER = 0.1
/** What a receiver may ask for with Retry-After. */
const LONGEST_WISH_MS = HOUR

/** From this failure in a row on, an endpoint is left alone for a while, and what waits for it spends no attempt. */
const PATIENCE = 3
const LONGEST_COOLDOWN_MS = MINUTE

/** What a receiver did with one attempt. `status` null: no answer, and `error` says why. */
export type WebhookAnswer = { status: number | null; error: string | null; retryAfterMs: number | null }

export type DeliveryDecision =
  | { kind: 'delivered' }
  | { kind: 'retry'; delayMs: number; pauseMs: number }
  /** `gone`: the receiver wants no more. `ours`: there was nothing to send, which is no fault of the receiver. */
  | { kind: 'failed'; gone?: true; ours?: true; pauseMs: number }

export function decideAfterWebhook(answer: WebhookAnswer, attempts: number, random: () => number): DeliveryDecision {
  const { status } = answer
  if (status !== null && answer.error === null && status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === 410) return { kind: 'failed', gone: true, pauseMs: 0 }
  const pauseMs = status === 429 || status === 503 ? Math.min(answer.retryAfterMs ?? 0, LONGEST_WISH_MS) : 0
  const delayMs = WEBHOOK_RETRY_DELAYS_MS[attempts - 1]
  if (delayMs === undefined) return { kind: 'failed', pauseMs }
  return { kind: 'retry', delayMs: Math.max(pauseMs, Math.round(delayMs * (1 + JITTER * random()))), pauseMs }
}

/** How long an endpoint that failed so many times in a row is left alone. */
export function webhookCooldownMs(failures: number): number {
  return failures < PATIENCE ? 0 : Math.min(LONGEST_COOLDOWN_MS, SECOND * 2 ** (failures - PATIENCE))
}

/** Seconds or a date (RFC 9110 §10.2.3); anything else is no wish at all. */
export function parseRetryAfter(text: string | undefined, now: Date): number | null {
  if (text === undefined) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND
  const at = text.endsWith(' GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime())
}
