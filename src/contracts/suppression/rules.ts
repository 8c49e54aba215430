/** From the mildest to the gravest. */
export const SUPPRESSION_REASONS = ['MANUAL', 'HARD_BOUNCE', 'COMPLAINT'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]

/**
 * MANUAL is somebody's wish, a hard bounce is evidence, a complaint is the recipient's own refusal and final (LGPD, CAN-SPAM).
 * The end of an entry is judged apart: a bounce of ninety days does not shorten a wish for a year.
 */
export const SUPPRESSION_SEVERITY: Readonly<Record<SuppressionReason, number>> = {
  MANUAL: 1,
  HARD_BOUNCE: 2,
  COMPLAINT: 3,
}

/** Days; 0 is for ever. */
export type SuppressionTtlDays = Readonly<Record<SuppressionReason, number>>

export const DEFAULT_SUPPRESSION_TTL_DAYS: SuppressionTtlDays = { HARD_BOUNCE: 90, COMPLAINT: 0, MANUAL: 365 }

/** global: one list for all companies. company: a list for each, and the administrators' global one above them. */
export const SUPPRESSION_SCOPES = ['global', 'company'] as const
export type SuppressionScope = (typeof SUPPRESSION_SCOPES)[number]

export type SuppressionPolicy = Readonly<{
  ttlDays: SuppressionTtlDays
  /** What a provider's report suppresses by itself. */
  automatic: Readonly<Record<'HARD_BOUNCE' | 'COMPLAINT', boolean>>
  scope: SuppressionScope
}>

export const DEFAULT_SUPPRESSION_POLICY: SuppressionPolicy = {
  ttlDays: DEFAULT_SUPPRESSION_TTL_DAYS,
  automatic: { HARD_BOUNCE: true, COMPLAINT: true },
  scope: 'global',
}

/** companyId null: the global list. expiresInDays 0: for ever. */
export type AutomaticSuppression = { companyId: string | null; reason: SuppressionReason; expiresInDays: number }

/** What a report about an e-mail of this company adds to the list; null when the settings say nothing. A soft bounce is no reason. */
export function decideAutomaticSuppression(
  reason: 'HARD_BOUNCE' | 'COMPLAINT',
  companyId: string,
  policy: SuppressionPolicy = DEFAULT_SUPPRESSION_POLICY,
): AutomaticSuppression | null {
  if (!policy.automatic[reason]) return null
  return { companyId: listOf(companyId, policy.scope), reason, expiresInDays: policy.ttlDays[reason] }
}

/** The list that a company's own entries are on; null is the global one. */
export function listOf(companyId: string, scope: SuppressionScope): string | null {
  return scope === 'company' ? companyId : null
}

const DAY_MS = 24 * 60 * 60 * 1000

/** A repeated event or import moves an end by minutes, which is worth neither a write nor a line in the audit. */
export const WORTH_PROLONGING_MS = DAY_MS

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
