/** Seed 002, "Fairness por Tenant". */
export const EMAIL_JOB_FAIRNESS_CONFIG = {
  ENABLE_ROUND_ROBIN: true,
  MAX_JOBS_PER_TENANT_BATCH: 3,
  ROUND_ROBIN_BASE_PRIORITY: 5,
  PRIORITY_INCREMENT_PER_ROUND: 1,
  MAX_ROUND_ROBIN_PRIORITY: 1,
} as const

export interface TenantFairnessMetrics {
  companyId: string
  /** ISO 8601. */
  lastProcessedAt?: string
  roundsWithoutProcessing: number
  currentPriority: number
  totalProcessed: number
  consecutiveBatchCount: number
}

/** 1 is the most urgent. The order of service is made by the claim; this feeds the metric `tenant_current_priority`. */
export function calculateRoundRobinPriority(roundsWithoutProcessing: number): number {
  const { ROUND_ROBIN_BASE_PRIORITY, PRIORITY_INCREMENT_PER_ROUND, MAX_ROUND_ROBIN_PRIORITY } =
    EMAIL_JOB_FAIRNESS_CONFIG
  const rounds = Math.max(0, Math.floor(roundsWithoutProcessing))
  return Math.max(MAX_ROUND_ROBIN_PRIORITY, ROUND_ROBIN_BASE_PRIORITY - rounds * PRIORITY_INCREMENT_PER_ROUND)
}

/** A company may have four times as many in hand as are still free: alone four fifths, and there is always room for another. */
const SHARE_OF_FREE = 4

/**
 * How many more of a company may be taken in hand, so that its slow recipients cannot fill the engine. Dynamic: each further
 * slow company gets a part of what the others left, and the last free hand goes to one that has none.
 */
export function inFlightAllowance({ own, free }: { own: number; free: number }): number {
  const share = Math.floor((SHARE_OF_FREE * free - own) / (1 + SHARE_OF_FREE))
  return Math.max(own === 0 && free > 0 ? 1 : 0, share)
}
