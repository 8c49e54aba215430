export type ErrorCategory =
  | 'PERMANENT_ERROR'
  | 'CONFIGURATION_ERROR'
  | 'QUOTA_ERROR'
  | 'TRANSIENT_ERROR'
  | 'TIMEOUT_ERROR'
  | 'VALIDATION_ERROR'

export interface ErrorRule {
  /** The gateway's own error code. A leading * is replaced by the provider: SES, RESEND, SMTP, CAPTURE. */
  readonly code: string
  readonly category: ErrorCategory
  readonly retryable: boolean
  /**
   * What the error means for the provider. In each case the e-mail has not failed: it waits and no attempt is counted.
   * open-breaker: quota, pause or credentials, the provider is parked at once. slow-down: it limits the send rate.
   * no-connection: no connection could be made, so nothing left; a few in a row park the provider.
   */
  readonly effect?: 'open-breaker' | 'slow-down' | 'no-connection'
  /** The provider may have accepted the e-mail although the call failed: the outcome is unknown. */
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

/** One row of a table: the provider's code, the gateway's code, its category, and what the gateway does. */
export type ErrorRow = readonly [reportedCode: string, code: string, category: ErrorCategory, behaviour: Behaviour]

/** For a reported code with several meanings, distinguished by the message of the error. */
export interface Refinement {
  readonly reportedCodes: readonly string[]
  readonly message: RegExp
  readonly rule: ErrorRule
}

export function errorRule(code: string, category: ErrorCategory, behaviour: Behaviour): ErrorRule {
  return { code, category, ...BEHAVIOURS[behaviour] }
}

export function rulesByReportedCode(rows: readonly ErrorRow[]): ReadonlyMap<string, ErrorRule> {
  return new Map(
    rows.map(([reportedCode, code, category, behaviour]) => [reportedCode, errorRule(code, category, behaviour)]),
  )
}
