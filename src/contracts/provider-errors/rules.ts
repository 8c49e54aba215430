export type ErrorCategory =
  | 'PERMANENT_ERROR'
  | 'CONFIGURATION_ERROR'
  | 'QUOTA_ERROR'
  | 'TRANSIENT_ERROR'
  | 'TIMEOUT_ERROR'
  | 'VALIDATION_ERROR'

export interface ErrorRule {
  /** The gateway's own name for it. A leading * stands for the provider: SES, RESEND, SMTP, CAPTURE. */
  readonly code: string
  readonly category: ErrorCategory
  readonly retryable: boolean
  /**
   * What the answer means for the provider. In each case the e-mail has not failed: it waits and spends no attempt.
   * open-breaker: quota, pause or credentials, the provider is parked at once. slow-down: it limits the send rate.
   * no-connection: no connection could be made, so nothing left; a few in a row park the provider.
   */
  readonly effect?: 'open-breaker' | 'slow-down' | 'no-connection'
  /** The provider may have accepted the e-mail all the same (decision 33). */
  readonly ambiguous?: true
}

const BEHAVIOURS = {
  final: { retryable: false },
  retry: { retryable: true },
  'retry-slower': { retryable: true, effect: 'slow-down' },
  'retry-unconnected': { retryable: true, effect: 'no-connection' },
  'final-parked': { retryable: false, effect: 'open-breaker' },
  'retry-parked': { retryable: true, effect: 'open-breaker' },
  'final-ambiguous': { retryable: false, ambiguous: true },
  'retry-ambiguous': { retryable: true, ambiguous: true },
} as const

export type Behaviour = keyof typeof BEHAVIOURS

/** One line of a table: what the provider says, what we call it, of which kind it is, what follows from it. */
export type ErrorRow = readonly [said: string, code: string, category: ErrorCategory, behaviour: Behaviour]

/** A saying that means several things, told apart by the message that comes with it. */
export interface Refinement {
  readonly said: readonly string[]
  readonly message: RegExp
  readonly rule: ErrorRule
}

export function errorRule(code: string, category: ErrorCategory, behaviour: Behaviour): ErrorRule {
  return { code, category, ...BEHAVIOURS[behaviour] }
}

export function rulesBySaying(rows: readonly ErrorRow[]): ReadonlyMap<string, ErrorRule> {
  return new Map(rows.map(([said, code, category, behaviour]) => [said, errorRule(code, category, behaviour)]))
}
