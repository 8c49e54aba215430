/** The names and values are part of the published contract. The claim goes by the setting MAX_JOBS_PER_TENANT_BATCH. */
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

/** 1 is the most urgent. Only for the metric `tenant_current_priority`: the claim decides the order of sending. */
export function calculateRoundRobinPriority(roundsWithoutProcessing: number): number {
  const { ROUND_ROBIN_BASE_PRIORITY, PRIORITY_INCREMENT_PER_ROUND, MAX_ROUND_ROBIN_PRIORITY } =
    EMAIL_JOB_FAIRNESS_CONFIG
  const rounds = Math.max(0, Math.floor(roundsWithoutProcessing))
  return Math.max(MAX_ROUND_ROBIN_PRIORITY, ROUND_ROBIN_BASE_PRIORITY - rounds * PRIORITY_INCREMENT_PER_ROUND)
}

/** A company may use four times as many slots as stay free, so a single company gets four fifths and another one can always start. */
const SHARE_OF_FREE = 4

/**
 * How many more e-mails of a company may be in flight, so that slow recipients of one company cannot occupy every slot. Each further
 * slow company gets a share of the slots that the others left free; the last free slot goes to a company that uses none.
 */
export function inFlightAllowance({ own, free }: { own: number; free: number }): number {
  const share = Math.floor((SHARE_OF_FREE * free - own) / (1 + SHARE_OF_FREE))
  return Math.max(own === 0 && free > 0 ? 1 : 0, share)
}
