import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  calculateBackoffDelay,
  decideAfterFailure,
  EMAIL_JOB_RETRY_CONFIG,
  maxAttempts,
  policyAfter,
  RETRY_POLICIES,
  RETRY_POLICY_NAMES,
  retryDelayMs,
} from './retry.ts'

const shortest = () => 0
const middle = () => 0.5
const longest = () => 1 - Number.EPSILON

const policies = fc.constantFrom(...RETRY_POLICY_NAMES)
const failures = fc.integer({ min: 1, max: 50 })
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('the configuration has the published names and values', () => {
  expect(EMAIL_JOB_RETRY_CONFIG).toEqual({
    MAX_ATTEMPTS: 5,
    BASE_DELAY_MS: 1000,
    MAX_DELAY_MS: 60000,
    JITTER_FACTOR: 0.25,
    DLQ_TTL_MS: 604800000,
    DLQ_NAME: 'email:send:dlq',
    DLQ_MAX_SIZE: 10000,
  })
})

describe('calculateBackoffDelay', () => {
  test.each([
    [1, 750, 1250],
    [2, 1500, 2500],
    [3, 3000, 5000],
    [4, 6000, 10000],
    [5, 12000, 20000],
    [6, 24000, 40000],
    [7, 45000, 75000],
    [2000, 45000, 75000],
  ])('attempt %i waits between %i and %i ms', (attempt, low, high) => {
    expect(calculateBackoffDelay(attempt, shortest)).toBe(low)
    expect(calculateBackoffDelay(attempt, longest)).toBe(high)
  })

  test('without a second argument it draws its own jitter', () => {
    const delays = new Set(Array.from({ length: 50 }, () => calculateBackoffDelay(5)))
    expect(delays.size).toBeGreaterThan(1)
  })
})

describe('the named policies', () => {
  test.each([
    ['steps', [1, 5, 30, 120, 600, 600]],
    ['exponential', [1, 2, 4, 8, 16, 32, 60, 60]],
    ['patient', [60, 300, 900, 900]],
    ['persistent', [60, 300, 900, 1800, 3600, 3600, 3600]],
  ] as const)('%s has the documented delays', (policy, seconds) => {
    expect(seconds.map((_, index) => retryDelayMs(policy, index + 1, middle) / 1000)).toEqual(seconds)
  })

  test('five attempts, four for patient (three retries), and more for persistent than fit into a day', () => {
    expect(RETRY_POLICY_NAMES.map(maxAttempts)).toEqual([5, 5, 4, 48])
    let seconds = 0
    for (let failed = 1; failed < maxAttempts('persistent'); failed++)
      seconds += retryDelayMs('persistent', failed, shortest) / 1000
    expect(seconds).toBeGreaterThan(24 * 60 * 60)
  })

  test('mail deferred by an SMTP server is retried for hours, unless a policy was chosen', () => {
    expect(policyAfter({ deferred: true }, null, 'steps')).toBe('persistent')
    expect(policyAfter({ deferred: true }, 'patient', 'steps')).toBe('patient')
    expect(policyAfter({ deferred: false }, null, 'exponential')).toBe('exponential')
  })

  test('the names are the keys of the table', () => {
    expect(Object.keys(RETRY_POLICIES)).toEqual([...RETRY_POLICY_NAMES])
  })

  test('exponential is the formula of calculateBackoffDelay', () => {
    fc.assert(
      fc.property(failures, randoms, (failed, drawn) => {
        expect(retryDelayMs('exponential', failed, () => drawn)).toBe(calculateBackoffDelay(failed, () => drawn))
      }),
    )
  })

  test('the jitter stays within a quarter of the base', () => {
    fc.assert(
      fc.property(policies, failures, randoms, (policy, failed, drawn) => {
        const base = retryDelayMs(policy, failed, middle)
        const delay = retryDelayMs(policy, failed, () => drawn)
        return delay >= base * 0.75 && delay <= base * 1.25
      }),
    )
  })

  test('the base never decreases from one failure to the next', () => {
    fc.assert(
      fc.property(
        policies,
        failures,
        (policy, failed) => retryDelayMs(policy, failed + 1, middle) >= retryDelayMs(policy, failed, middle),
      ),
    )
  })

  test('a delay is a whole number of milliseconds and never negative, whatever the count', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: -5, max: 1_000_000 }), randoms, (policy, failed, drawn) => {
        const delay = retryDelayMs(policy, failed, () => drawn)
        return Number.isInteger(delay) && delay >= 0
      }),
    )
  })
})

describe('decideAfterFailure', () => {
  const failure = { retryable: true, attempts: 1, maxAttempts: 5, policy: 'steps' } as const

  test('a temporary failure is tried again after the delay of its policy', () => {
    expect(decideAfterFailure({ ...failure, attempts: 3 }, middle)).toEqual({ kind: 'retry', delayMs: 30_000 })
  })

  test('a permanent failure is dead at once', () => {
    expect(decideAfterFailure({ ...failure, retryable: false })).toEqual({ kind: 'dead', reason: 'PERMANENT' })
  })

  test('a permanent failure on the last attempt is still named permanent', () => {
    expect(decideAfterFailure({ ...failure, retryable: false, attempts: 5 })).toMatchObject({ reason: 'PERMANENT' })
  })

  test('the fifth failed attempt ends it', () => {
    expect(decideAfterFailure({ ...failure, attempts: 4 }).kind).toBe('retry')
    expect(decideAfterFailure({ ...failure, attempts: 5 })).toEqual({ kind: 'dead', reason: 'EXHAUSTED' })
  })

  test('every e-mail that keeps failing is dead after exactly the attempts it was given', () => {
    fc.assert(
      fc.property(policies, policy => {
        const allowed = maxAttempts(policy)
        const kinds = Array.from(
          { length: allowed },
          (_, index) => decideAfterFailure({ retryable: true, attempts: index + 1, maxAttempts: allowed, policy }).kind,
        )
        expect(kinds).toEqual([...Array(allowed - 1).fill('retry'), 'dead'])
      }),
    )
  })
})
