import fc from 'fast-check'
import { expect, test } from 'vitest'
import { calculateRoundRobinPriority, EMAIL_JOB_FAIRNESS_CONFIG, type TenantFairnessMetrics } from './fairness.ts'

test('the configuration is the one seed 002 prints', () => {
  expect(EMAIL_JOB_FAIRNESS_CONFIG).toEqual({
    ENABLE_ROUND_ROBIN: true,
    MAX_JOBS_PER_TENANT_BATCH: 3,
    ROUND_ROBIN_BASE_PRIORITY: 5,
    PRIORITY_INCREMENT_PER_ROUND: 1,
    MAX_ROUND_ROBIN_PRIORITY: 1,
  })
})

test.each([
  [0, 5],
  [1, 4],
  [2, 3],
  [3, 2],
  [4, 1],
  [5, 1],
  [100, 1],
])('a company that waited %i rounds has priority %i', (rounds, priority) => {
  expect(calculateRoundRobinPriority(rounds)).toBe(priority)
})

test('waiting longer never lowers the urgency, and the priority stays between 1 and 5', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (a, b) => {
      const shorter = calculateRoundRobinPriority(Math.min(a, b))
      const longer = calculateRoundRobinPriority(Math.max(a, b))
      return longer <= shorter && longer >= 1 && shorter <= 5
    }),
  )
})

test('the metrics of a company that was never served have no lastProcessedAt', () => {
  const metrics: TenantFairnessMetrics = {
    companyId: '789e4567-e89b-12d3-a456-426614174999',
    roundsWithoutProcessing: 3,
    currentPriority: calculateRoundRobinPriority(3),
    totalProcessed: 0,
    consecutiveBatchCount: 0,
  }
  expect(metrics.currentPriority).toBe(2)
})
