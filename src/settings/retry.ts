/** The names and values are part of the published contract. The gateway's own delays are in RETRY_POLICIES. */
export const EMAIL_JOB_RETRY_CONFIG = {
  MAX_ATTEMPTS: 5,
  BASE_DELAY_MS: 1000,
  MAX_DELAY_MS: 60000,
  JITTER_FACTOR: 0.25,
  DLQ_TTL_MS: 604800000,
  DLQ_NAME: 'email:send:dlq',
  DLQ_MAX_SIZE: 10000,
} as const

export const RETRY_POLICY_NAMES = ['steps', 'exponential', 'patient', 'persistent'] as const
export type RetryPolicyName = (typeof RETRY_POLICY_NAMES)[number]

export interface RetryPolicy {
  /** The delay after the first failure, the second, … The last one is used for all further failures. */
  readonly delaysSeconds: readonly number[]
  readonly maxAttempts: number
}

/** Never reached: at most 36 attempts fit into the 24 hours after which an e-mail expires. */
const ATTEMPTS_IN_MORE_THAN_A_DAY = 48

/** persistent is for SMTP servers that defer mail, because greylisting can take hours. */
export const RETRY_POLICIES: Readonly<Record<RetryPolicyName, RetryPolicy>> = {
  // Five attempts have four waits: the later delays are part of the published tables, and are never waited.
  steps: { delaysSeconds: [1, 5, 30, 120, 600], maxAttempts: EMAIL_JOB_RETRY_CONFIG.MAX_ATTEMPTS },
  exponential: { delaysSeconds: [1, 2, 4, 8, 16, 32, 60], maxAttempts: EMAIL_JOB_RETRY_CONFIG.MAX_ATTEMPTS },
  patient: { delaysSeconds: [60, 300, 900], maxAttempts: 4 },
  persistent: { delaysSeconds: [60, 300, 900, 1800, 3600], maxAttempts: ATTEMPTS_IN_MORE_THAN_A_DAY },
}

export const DEFAULT_RETRY_POLICY: RetryPolicyName = 'steps'

/** 1, 2, 4 … seconds, at most 60, each ± 25 %. For users of the contract; the gateway calls retryDelayMs. */
export function calculateBackoffDelay(attempt: number, random: () => number = Math.random): number {
  const { BASE_DELAY_MS, MAX_DELAY_MS } = EMAIL_JOB_RETRY_CONFIG
  return withJitter(Math.min(BASE_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS), random)
}

export function retryDelayMs(
  policy: RetryPolicyName,
  failedAttempts: number,
  random: () => number = Math.random,
): number {
  const { delaysSeconds } = RETRY_POLICIES[policy]
  const step = Math.min(Math.max(failedAttempts, 1), delaysSeconds.length) - 1
  return withJitter(delaysSeconds[step]! * 1000, random)
}

export function maxAttempts(policy: RetryPolicyName): number {
  return RETRY_POLICIES[policy].maxAttempts
}

export function withJitter(delayMs: number, random: () => number): number {
  const range = delayMs * EMAIL_JOB_RETRY_CONFIG.JITTER_FACTOR
  return Math.max(0, Math.round(delayMs + (random() * 2 - 1) * range))
}

/** Mail deferred by an SMTP server (4xx) is retried for hours, unless the company or the request chose a policy. */
export function policyAfter(
  { deferred }: { deferred: boolean },
  chosen: RetryPolicyName | null,
  usual: RetryPolicyName,
): RetryPolicyName {
  return chosen ?? (deferred ? 'persistent' : usual)
}

export interface FailedAttempt {
  retryable: boolean
  /** Attempts spent, the failed one included. */
  attempts: number
  maxAttempts: number
  policy: RetryPolicyName
}

export type AfterFailure = { kind: 'retry'; delayMs: number } | { kind: 'dead'; reason: 'EXHAUSTED' | 'PERMANENT' }

export function decideAfterFailure(failure: FailedAttempt, random: () => number = Math.random): AfterFailure {
  if (!failure.retryable) return { kind: 'dead', reason: 'PERMANENT' }
  if (failure.attempts >= failure.maxAttempts) return { kind: 'dead', reason: 'EXHAUSTED' }
  return { kind: 'retry', delayMs: retryDelayMs(failure.policy, failure.attempts, random) }
}
