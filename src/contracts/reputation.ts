/**
 * Above these rates a company endangers the sending reputation of all companies; see docs/provider-events.md. `pauseAt` is the
 * rate at which Amazon SES itself stops an account. The minimums keep small samples from counting.
 */
export const REPUTATION_LIMITS = {
  windowHours: 24,
  /** A company that is still above the limit so long after its warning is paused. */
  graceMinutes: 60,
  bounce: { warnAt: 0.05, pauseAt: 0.1, minSent: 100, minEvents: 5 },
  complaint: { warnAt: 0.001, pauseAt: 0.005, minSent: 100, minEvents: 3 },
} as const

/** Recipients within the window. */
export type ReputationCounts = { sent: number; bounced: number; complained: number }

export type ReputationLevel =
  /** Below half of every limit: good enough to end a warning. */
  { kind: 'good' } | { kind: 'between' } | { kind: 'above'; severe: boolean; reason: string }

/** `bounced` counts permanent bounces only. */
export function assessReputation({ sent, bounced, complained }: ReputationCounts): ReputationLevel {
  const { bounce, complaint, windowHours } = REPUTATION_LIMITS
  const found = [
    { ...bounce, events: bounced, what: 'bounced for good' },
    { ...complaint, events: complained, what: 'complained' },
  ].map(one => ({ ...one, rate: rateOf(one.events, sent) }))
  const above = found.filter(one => sent >= one.minSent && one.events >= one.minEvents && one.rate >= one.warnAt)
  if (above.length > 0) {
    // The admin UI recognises this form to translate it (admin/src/lib/reputation-reason.ts).
    const sentences = above.map(
      one =>
        `${percent(one.rate)} ${one.what} (${one.events} of ${sent} recipients in ${windowHours} hours, the limit is ${percent(one.warnAt)})`,
    )
    return { kind: 'above', severe: above.some(one => one.rate >= one.pauseAt), reason: sentences.join('; ') }
  }
  return found.every(one => one.rate < one.warnAt / 2) ? { kind: 'good' } : { kind: 'between' }
}

export type CompanyReputation = ReputationCounts & {
  /** Minutes since the warning; null without one. */
  warnedMinutes: number | null
  paused: boolean
}

export type ReputationStep = 'warn' | 'pause' | 'end-warning' | null

/** Warns first; pauses at once if severe, or later if the warning did not help. Only administrators resume a company. */
export function decideReputation(company: CompanyReputation): { steps: ReputationStep[]; reason: string } {
  const level = assessReputation(company)
  if (level.kind !== 'above')
    return { steps: level.kind === 'good' && company.warnedMinutes !== null ? ['end-warning'] : [], reason: '' }
  const { severe, reason } = level
  const steps: ReputationStep[] = company.warnedMinutes === null ? ['warn'] : []
  const overdue = company.warnedMinutes !== null && company.warnedMinutes >= REPUTATION_LIMITS.graceMinutes
  if (!company.paused && (severe || overdue)) steps.push('pause')
  return { steps, reason }
}

export const rateOf = (events: number, sent: number) =>
  sent === 0 ? (events === 0 ? 0 : 1) : Math.min(1, events / sent)

const percent = (rate: number) => `${(rate * 100).toFixed(rate < 0.01 ? 2 : 1)} %`
