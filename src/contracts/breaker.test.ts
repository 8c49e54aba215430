import { describe, expect, test } from 'vitest'
import { FAILURES_IN_A_ROW, judgeProvider, type ProviderHealth, probeDelayMs } from './breaker.ts'
import { classifyProviderError, type ProviderError, type ProviderFailure } from './provider-errors/classify.ts'
import type { ErrorCategory } from './provider-errors/rules.ts'

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

  test('comes a quarter earlier or later, so that many gateways do not knock at once', () => {
    expect([probeDelayMs(2, () => 0), probeDelayMs(2, () => 1)]).toEqual([22_500, 37_500])
    const delays = Array.from({ length: 100 }, () => probeDelayMs(4))
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(450_000)
    expect(Math.max(...delays)).toBeLessThanOrEqual(750_000)
    expect(new Set(delays).size).toBeGreaterThan(50)
  })
})

test('ten failures in a row are the provider’s and not the e-mails’', () => {
  expect(FAILURES_IN_A_ROW).toBe(10)
})

describe('what an answer says about the provider', () => {
  test('a success: it works', () => {
    expect(judgeProvider(null)).toBe('works')
  })

  test.each<[ErrorCategory, ProviderHealth]>([
    ['TRANSIENT_ERROR', 'trouble'],
    ['TIMEOUT_ERROR', 'trouble'],
    ['QUOTA_ERROR', 'says-nothing'],
    ['PERMANENT_ERROR', 'works'],
    ['VALIDATION_ERROR', 'works'],
  ])('%s: %s', (category, health) => {
    expect(judgeProvider(failure({ category }))).toBe(health)
  })

  test('whatever opens the breaker parks it, whichever category it has', () => {
    for (const category of ['TRANSIENT_ERROR', 'QUOTA_ERROR', 'PERMANENT_ERROR'] as const)
      expect(judgeProvider(failure({ category, openBreaker: true })), category).toBe('parked')
  })

  test.each<[name: string, error: ProviderError, health: ProviderHealth]>([
    ['SES throttles', { provider: 'ses', name: 'TooManyRequestsException' }, 'says-nothing'],
    ['the daily quota is used up', { provider: 'ses', name: 'LimitExceededException' }, 'parked'],
    ['the account is paused', { provider: 'ses', name: 'SendingPausedException' }, 'parked'],
    ['this message is refused', { provider: 'ses', name: 'MessageRejected' }, 'works'],
    ['nobody listens', { provider: 'smtp', networkCode: 'ECONNREFUSED' }, 'unconnected'],
    ['an SMTP server is closing', { provider: 'smtp', message: '421 4.3.2 shutting down' }, 'trouble'],
    ['an SMTP server puts one e-mail off', { provider: 'smtp', message: '451 4.7.1 greylisted' }, 'says-nothing'],
    ['no answer in time', { provider: 'resend', name: 'TimeoutError' }, 'trouble'],
    ['a 500', { provider: 'resend', statusCode: 500 }, 'trouble'],
  ])('%s', (_, error, health) => {
    expect(judgeProvider(classifyProviderError(error))).toBe(health)
  })
})
