/**
 * Where a company endangers the sender's reputation for all of them (PRODUCT, Suppression). The second figures are those at which
 * Amazon SES itself stops an account. A company with a handful of mails is judged by none of them.
 */
export const REPUTATION_LIMITS = {
  windowHours: 24,
  /** Still above the limit so long after the warning: paused. */
  graceMinutes: 60,
  bounce: { warnAt: 0.05, pauseAt: 0.1, minSent: 100, minEvents: 5 },
  complaint: { warnAt: 0.001, pauseAt: 0.005, minSent: 100, minEvents: 3 },
} as const

/** Counted in recipients, over the window. */
export type Standing = { sent: number; bounced: number; complained: number }

export type Verdict =
  | { kind: 'good' }
  /** Neither good enough to end a warning nor bad enough for one. */
  | { kind: 'unsure' }
  | { kind: 'above'; grave: boolean; reason: string }

/** `bounced` are permanent bounces only. */
export function judgeReputation({ sent, bounced, complained }: Standing): Verdict {
  const { bounce, complaint, windowHours } = REPUTATION_LIMITS
  const found = [
    { ...bounce, events: bounced, what: 'bounced for good' },
    { ...complaint, events: complained, what: 'complained' },
  ].map(one => ({ ...one, rate: rateOf(one.events, sent) }))
  const above = found.filter(one => sent >= one.minSent && one.events >= one.minEvents && one.rate >= one.warnAt)
  if (above.length > 0) {
    const sentences = above.map(
      one =>
        `${percent(one.rate)} ${one.what} (${one.events} of ${sent} recipients in ${windowHours} hours, the limit is ${percent(one.warnAt)})`,
    )
    return { kind: 'above', grave: above.some(one => one.rate >= one.pauseAt), reason: sentences.join('; ') }
  }
  return found.every(one => one.rate < one.warnAt / 2) ? { kind: 'good' } : { kind: 'unsure' }
}

export type CompanyStanding = Standing & {
  /** Since when it has been warned; null when it has not. */
  warnedMinutes: number | null
  paused: boolean
}

export type ReputationStep = 'warn' | 'pause' | 'end-warning' | null

/** Warned first, always; paused with it where it is grave, or later where the warning did not help. Only people resume. */
export function decideReputation(company: CompanyStanding): { steps: ReputationStep[]; reason: string } {
  const verdict = judgeReputation(company)
  if (verdict.kind !== 'above')
    return { steps: verdict.kind === 'good' && company.warnedMinutes !== null ? ['end-warning'] : [], reason: '' }
  const { grave, reason } = verdict
  const steps: ReputationStep[] = company.warnedMinutes === null ? ['warn'] : []
  const overdue = company.warnedMinutes !== null && company.warnedMinutes >= REPUTATION_LIMITS.graceMinutes
  if (!company.paused && (grave || overdue)) steps.push('pause')
  return { steps, reason }
}

export const rateOf = (events: number, sent: number) =>
  sent === 0 ? (events === 0 ? 0 : 1) : Math.min(1, events / sent)

const percent = (rate: number) => `${(rate * 100).toFixed(rate < 0.01 ? 2 : 1)} %`
