import type { Settings, SuppressionScope } from '../settings/settings.ts'
/** In order of severity, the least severe first. */
export const SUPPRESSION_REASONS = ['MANUAL', 'HARD_BOUNCE', 'COMPLAINT'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]

/**
 * A manual entry is a decision, a hard bounce is evidence, a complaint is the recipient's own refusal and final (LGPD, CAN-SPAM).
 * Expiry is decided separately: a 90-day bounce does not shorten a manual entry of one year.
 */
export const SUPPRESSION_SEVERITY: Readonly<Record<SuppressionReason, number>> = {
  MANUAL: 1,
  HARD_BOUNCE: 2,
  COMPLAINT: 3,
}

/** In days; 0 means never. */
export type SuppressionTtlDays = Readonly<Record<SuppressionReason, number>>

export const DEFAULT_SUPPRESSION_TTL_DAYS: SuppressionTtlDays = { HARD_BOUNCE: 90, COMPLAINT: 0, MANUAL: 365 }

export type SuppressionPolicy = Readonly<{
  ttlDays: SuppressionTtlDays
  /** Which provider events add an entry automatically. */
  automatic: Readonly<Record<'HARD_BOUNCE' | 'COMPLAINT', boolean>>
  scope: SuppressionScope
}>

export const DEFAULT_SUPPRESSION_POLICY: SuppressionPolicy = {
  ttlDays: DEFAULT_SUPPRESSION_TTL_DAYS,
  automatic: { HARD_BOUNCE: true, COMPLAINT: true },
  scope: 'global',
}

/** companyId null: the global list. expiresInDays 0: never. */
export type AutomaticSuppression = { companyId: string | null; reason: SuppressionReason; expiresInDays: number }

/** The entry that a provider event adds; null when the setting is off. Soft bounces do not suppress. */
export function decideAutomaticSuppression(
  reason: 'HARD_BOUNCE' | 'COMPLAINT',
  companyId: string,
  policy: SuppressionPolicy = DEFAULT_SUPPRESSION_POLICY,
): AutomaticSuppression | null {
  if (!policy.automatic[reason]) return null
  return { companyId: listOf(companyId, policy.scope), reason, expiresInDays: policy.ttlDays[reason] }
}

/** The list for a company's own entries; null is the global list. */
export function listOf(companyId: string, scope: SuppressionScope): string | null {
  return scope === 'company' ? companyId : null
}

const DAY_MS = 24 * 60 * 60 * 1000

/** A repeated event or import would extend an entry by minutes, which is not worth a write and an audit row. */
export const WORTH_PROLONGING_MS = DAY_MS

/** `null` means never. Counts days of 24 hours, because calendar days would depend on daylight saving time. */
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

/** A complaint is final, for administrators too; see docs/suppression.md. */
export function mayRemoveSuppression(reason: SuppressionReason): boolean {
  return reason !== 'COMPLAINT'
}

export interface Suppression {
  reason: SuppressionReason
  expiresAt: Date | null
}

/**
 * The result of adding `b` to `a`: the more severe reason and the later expiry, so that no entry weakens another. Expired entries
 * are ignored.
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

export function suppressionPolicy(settings: Settings): SuppressionPolicy {
  return {
    ttlDays: {
      HARD_BOUNCE: settings.SUPPRESSION_TTL_HARD_BOUNCE,
      COMPLAINT: settings.SUPPRESSION_TTL_COMPLAINT,
      MANUAL: settings.SUPPRESSION_TTL_MANUAL,
    },
    automatic: {
      HARD_BOUNCE: settings.SUPPRESSION_AUTO_BOUNCE_ENABLED,
      COMPLAINT: settings.SUPPRESSION_AUTO_COMPLAINT_ENABLED,
    },
    scope: settings.SUPPRESSION_SCOPE,
  }
}
