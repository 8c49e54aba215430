export const SUPPRESSION_REASONS = ['HARD_BOUNCE', 'MANUAL', 'COMPLAINT'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]

/**
 * A complaint is the recipient's own refusal and final (LGPD, CAN-SPAM). MANUAL is a person's request and outlives the
 * ninety days of a bounce, so a later bounce must not shorten it. A hard bounce is an observation, and may be cured.
 */
export const SUPPRESSION_SEVERITY: Readonly<Record<SuppressionReason, number>> = {
  HARD_BOUNCE: 1,
  MANUAL: 2,
  COMPLAINT: 3,
}

/** Days; 0 is for ever. */
export type SuppressionTtlDays = Readonly<Record<SuppressionReason, number>>

export const DEFAULT_SUPPRESSION_TTL_DAYS: SuppressionTtlDays = { HARD_BOUNCE: 90, COMPLAINT: 0, MANUAL: 365 }

const DAY_MS = 24 * 60 * 60 * 1000

/** `null` is for ever. Days of 24 hours: seed 004's local calendar days would shift with daylight saving time. */
export function calculateExpiration(
  reason: string,
  ttlDays: SuppressionTtlDays = DEFAULT_SUPPRESSION_TTL_DAYS,
  now: Date = new Date(),
): Date | null {
  if (!isSuppressionReason(reason)) throw new Error(`Unknown suppression reason: ${reason}`)
  const days = ttlDays[reason]
  return days === 0 ? null : new Date(now.getTime() + days * DAY_MS)
}

export function isSuppressionReason(reason: string): reason is SuppressionReason {
  return (SUPPRESSION_REASONS as readonly string[]).includes(reason)
}

/** Refused for everybody, administrators included (decision 26). */
export function mayRemoveSuppression(reason: SuppressionReason): boolean {
  return reason !== 'COMPLAINT'
}

export interface Suppression {
  reason: SuppressionReason
  expiresAt: Date | null
}

/**
 * What holds after `b` is added to `a`: the graver reason and the later end, so that neither is ever weakened by the
 * other (decision 24). An expired one counts for nothing.
 */
export function strongerSuppression(a: Suppression, b: Suppression, now: Date = new Date()): Suppression {
  if (hasExpired(a, now)) return b
  if (hasExpired(b, now)) return a
  return {
    reason: SUPPRESSION_SEVERITY[a.reason] >= SUPPRESSION_SEVERITY[b.reason] ? a.reason : b.reason,
    expiresAt: laterEnd(a.expiresAt, b.expiresAt),
  }
}

function hasExpired(suppression: Suppression, now: Date): boolean {
  return suppression.expiresAt !== null && suppression.expiresAt <= now
}

function laterEnd(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return null
  return a > b ? a : b
}
