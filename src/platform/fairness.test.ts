import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  calculateRoundRobinPriority,
  EMAIL_JOB_FAIRNESS_CONFIG,
  inFlightAllowance,
  type TenantFairnessMetrics,
} from './fairness.ts'

test('the configuration has the published names and values', () => {
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

describe('how many more e-mails of a company may be in flight', () => {
  const slots = fc.integer({ min: 0, max: 1000 })

  test('a company with nothing in flight is never passed over; another only if one more would exceed four times the slots that stay free', () => {
    fc.assert(
      fc.property(slots, slots, (own, free) => {
        const isPassedOver = inFlightAllowance({ own, free }) === 0
        return isPassedOver === (own === 0 ? free === 0 : own + 1 > 4 * (free - 1))
      }),
    )
  })

  /** Companies come one after the other, and each takes all it may until nothing changes. */
  function greedy(total: number, companies: number): number[] {
    const own = Array.from({ length: companies }, () => 0)
    const free = () => total - own.reduce((sum, count) => sum + count, 0)
    for (let company = 0; company < companies; company++) {
      for (let more = 1; more > 0; own[company]! += more) more = inFlightAllowance({ own: own[company]!, free: free() })
    }
    return own
  }

  test('is never negative, and never more than are free', () => {
    fc.assert(
      fc.property(slots, slots, (own, free) => {
        const more = inFlightAllowance({ own, free })
        return more >= 0 && more <= free && Number.isInteger(more)
      }),
    )
  })

  test('more slots in use never allow more; more free slots never allow less', () => {
    fc.assert(
      fc.property(slots, slots, (own, free) => {
        const more = inFlightAllowance({ own, free })
        return inFlightAllowance({ own: own + 1, free }) <= more && inFlightAllowance({ own, free: free + 1 }) >= more
      }),
    )
  })

  test('one company alone gets four fifths, and leaves a slot for another if there are at least two', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 1000 }), total => {
        const [own] = greedy(total, 1)
        return own! > (4 * total) / 5 - 1 && own! <= (4 * total) / 5 && own! < total
      }),
    )
    expect([greedy(10, 1), greedy(100, 1)]).toEqual([[8], [80]])
  })

  test('the last free slot goes only to a company that uses none', () => {
    expect(inFlightAllowance({ own: 0, free: 1 })).toBe(1)
    for (let own = 1; own < 50; own++) expect(inFlightAllowance({ own, free: 1 }), `has ${own}`).toBe(0)
  })

  test('a company that uses no slot gets one as long as one is free', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 1000 }), free => inFlightAllowance({ own: 0, free }) >= 1))
  })

  test('slow companies share what the others left free: each next one gets about a fifth of the one before', () => {
    expect(greedy(100, 4)).toEqual([80, 16, 3, 1])
    expect(greedy(11, 3), 'with the default concurrency, and one ahead').toEqual([8, 2, 1])
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 1000 }), fc.integer({ min: 2, max: 5 }), (total, companies) => {
        const own = greedy(total, companies)
        let left = total
        return own.every(count => {
          const share = Math.max(1, Math.floor((4 * left) / 5))
          left -= count
          return count <= share
        })
      }),
    )
  })
})
