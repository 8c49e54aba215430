import { describe, expect, test } from 'vitest'
import { assessProvider, FAILURES_IN_A_ROW, type ProviderHealth, probeDelayMs } from './breaker.ts'
import { classifyProviderError, type ProviderError, type ProviderFailure } from './errors/classify.ts'
import type { ErrorCategory } from './errors/rules.ts'

const failure = (change: Partial<ProviderFailure>): ProviderFailure => ({
  code: 'X',
  category: 'TRANSIENT_ERROR',
  retryable: true,
  openBreaker: false,
  throttled: false,
  unconnected: false,
  deferred: false,
  ambiguous: false,
  originalCode: null,
  message: 'x',
  ...change,
})

describe('the next probe of a parked provider', () => {
  const exactly = () => 0.5

  test.each([
    [0, 1],
    [1, 5],
    [2, 30],
    [3, 120],
    [4, 600],
    [5, 600],
    [1000, 600],
  ])('after %i failed probes leaves in %i seconds', (failedProbes, seconds) => {
    expect(probeDelayMs(failedProbes, exactly)).toBe(seconds * 1000)
  })

  test('varies by a quarter, so that many gateways do not probe at the same time', () => {
    expect([probeDelayMs(2, () => 0), probeDelayMs(2, () => 1)]).toEqual([22_500, 37_500])
    const delays = Array.from({ length: 100 }, () => probeDelayMs(4))
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(450_000)
    expect(Math.max(...delays)).toBeLessThanOrEqual(750_000)
    expect(new Set(delays).size).toBeGreaterThan(50)
  })
})

test('ten failures in a row park the provider', () => {
  expect(FAILURES_IN_A_ROW).toBe(10)
})

describe('what an answer shows about the provider', () => {
  test('a success: it works', () => {
    expect(assessProvider(null)).toBe('works')
  })

  test.each<[ErrorCategory, ProviderHealth]>([
    ['TRANSIENT_ERROR', 'failing'],
    ['TIMEOUT_ERROR', 'failing'],
    ['QUOTA_ERROR', 'inconclusive'],
    ['PERMANENT_ERROR', 'works'],
    ['VALIDATION_ERROR', 'works'],
  ])('%s: %s', (category, health) => {
    expect(assessProvider(failure({ category }))).toBe(health)
  })

  test('an error that opens the breaker parks the provider, whichever its category', () => {
    for (const category of ['TRANSIENT_ERROR', 'QUOTA_ERROR', 'PERMANENT_ERROR'] as const)
      expect(assessProvider(failure({ category, openBreaker: true })), category).toBe('park')
  })

  test.each<[name: string, error: ProviderError, health: ProviderHealth]>([
    ['SES throttles', { provider: 'ses', name: 'TooManyRequestsException' }, 'inconclusive'],
    ['the daily quota is used up', { provider: 'ses', name: 'LimitExceededException' }, 'park'],
    ['the account is paused', { provider: 'ses', name: 'SendingPausedException' }, 'park'],
    ['this message is refused', { provider: 'ses', name: 'MessageRejected' }, 'works'],
    ['the connection is refused', { provider: 'smtp', networkCode: 'ECONNREFUSED' }, 'unconnected'],
    ['an SMTP server is closing', { provider: 'smtp', message: '421 4.3.2 shutting down' }, 'failing'],
    ['an SMTP server defers one e-mail', { provider: 'smtp', message: '451 4.7.1 greylisted' }, 'inconclusive'],
    ['no answer in time', { provider: 'resend', name: 'TimeoutError' }, 'failing'],
    ['a 500', { provider: 'resend', statusCode: 500 }, 'failing'],
  ])('%s', (_, error, health) => {
    expect(assessProvider(classifyProviderError(error))).toBe(health)
  })
})
