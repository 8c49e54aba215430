import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RateHint } from './answers.ts'
import type { Provider, SendResult } from './provider.ts'
import type { ProviderRow, SlowDown } from './state.ts'
import { Throttles } from './throttle.ts'

const smtp = { name: 'smtp' } as Provider
const SENT: SendResult = { kind: 'sent', messageId: 'm', events: [] }
const throttled = (rate?: Partial<RateHint>): SendResult => ({
  kind: 'failed',
  failure: {
    code: 'SMTP_THROTTLING',
    category: 'QUOTA_ERROR',
    retryable: true,
    openBreaker: false,
    throttled: true,
    unconnected: false,
    deferred: false,
    ambiguous: false,
    originalCode: null,
    message: 'slow down',
  },
  ...(rate && { rate: { retryAfterMs: null, limit: null, ...rate } }),
})

let shared: SlowDown[]
let reported: number[]
beforeEach(() => {
  vi.useFakeTimers()
  shared = []
  reported = []
})
afterEach(() => void vi.useRealTimers())

function worker(base: number | null = null): Throttles {
  const store = {
    slow: async (change: SlowDown) => shared.push(change) === 1,
    learnRate: async (_: string, rate: number) => void reported.push(rate),
  }
  const least = (rate: number | null) => (rate === null || base === null ? (rate ?? base) : Math.min(rate, base))
  return new Throttles(['smtp'], (_, known) => least(known), store, pino({ level: 'silent' }))
}
const row = (change: Partial<ProviderRow>): ProviderRow => ({
  name: 'smtp',
  state: 'closed',
  openedAt: null,
  reasonCode: null,
  reason: null,
  probes: 0,
  probeInMs: null,
  ratePerSecond: null,
  slowFrom: null,
  slowTo: null,
  slowedAgoMs: null,
  freeInMs: 0,
  ...change,
})

describe('throttled', () => {
  test('thirty times at once: the rate is halved once, at once, and shared once', () => {
    const rates = worker(20)
    for (let call = 0; call < 30; call++) rates.report(smtp, throttled(), { callMs: 50, amount: 1 })
    expect(rates.rateOf('smtp')).toBe(10)
    expect(rates.slowdowns('smtp')).toBe(1)
    expect(shared).toEqual([{ name: 'smtp', from: 20, to: 10, pauseMs: 100, sameWithinMs: 1050 }])
  })

  test('by a call that began at the lower rate: halved again', async () => {
    const rates = worker(20)
    rates.report(smtp, throttled(), { callMs: 50, amount: 1 })
    await vi.advanceTimersByTimeAsync(1_000)
    rates.report(smtp, throttled(), { callMs: 50, amount: 1 })
    expect(rates.slowdowns('smtp'), 'it may have begun before every worker knew').toBe(1)
    await vi.advanceTimersByTimeAsync(1_000)
    rates.report(smtp, throttled(), { callMs: 50, amount: 1 })
    expect(rates.slowdowns('smtp')).toBe(2)
    expect(rates.rateOf('smtp')).toBeCloseTo(6)
  })

  test('grows back to what it was, and no further than that', async () => {
    const rates = worker(20)
    rates.report(smtp, throttled(), { callMs: 50, amount: 1 })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(rates.rateOf('smtp')).toBeCloseTo(15)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(rates.rateOf('smtp')).toBe(20)
  })

  test('without a rate limit: half of what was accepted in the last second', () => {
    const rates = worker()
    for (let call = 0; call < 8; call++) rates.report(smtp, SENT, { callMs: 10, amount: 1 })
    rates.report(smtp, throttled(), { callMs: 50, amount: 1 })
    expect(rates.rateOf('smtp')).toBe(4)
  })

  test('a message to several recipients counts as so many, as where the rate is spent', () => {
    const rates = worker()
    for (let call = 0; call < 8; call++) rates.report(smtp, SENT, { callMs: 10, amount: 3 })
    rates.report(smtp, throttled(), { callMs: 50, amount: 3 })
    expect(rates.rateOf('smtp')).toBe(12)
  })

  test('with Retry-After: nothing is claimed during a long pause', async () => {
    const rates = worker()
    rates.report(smtp, throttled({ retryAfterMs: 30_000 }), { callMs: 50, amount: 1 })
    expect(rates.isBusy('smtp')).toBe(true)
    expect(shared[0]!.pauseMs).toBe(30_000)
    rates.report(smtp, throttled({ retryAfterMs: 30_000 }), { callMs: 50, amount: 1 })
    expect(shared, 'the same pause is not shared again').toHaveLength(1)
    rates.report(smtp, throttled({ retryAfterMs: 60_000 }), { callMs: 50, amount: 1 })
    expect(shared, 'a longer one is').toHaveLength(2)
    await vi.advanceTimersByTimeAsync(51_000)
    expect(rates.isBusy('smtp')).toBe(false)
  })

  test('with its limit: that is the rate from now on, also where a higher one is configured', async () => {
    const rates = worker(100)
    rates.report(smtp, throttled({ limit: 10 }), { callMs: 50, amount: 1 })
    expect(rates.rateOf('smtp')).toBe(9)
    expect(reported).toEqual([9])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(rates.rateOf('smtp')).toBe(9)
  })
})

describe('a slowdown of another worker', () => {
  test('applies here too, and invalidates reserved slots', () => {
    const rates = worker(20)
    rates.refresh([row({ slowFrom: 20, slowTo: 10, slowedAgoMs: 0, freeInMs: 40_000 })], performance.now())
    expect([rates.rateOf('smtp'), rates.slowdowns('smtp'), rates.isBusy('smtp')]).toEqual([10, 1, true])
    rates.refresh([row({ slowFrom: 20, slowTo: 10, slowedAgoMs: 0 })], performance.now())
    expect([rates.slowdowns('smtp'), rates.isBusy('smtp')]).toEqual([1, false])
  })

  test('does not overwrite a newer one of this worker', () => {
    const rates = worker(20)
    const readMs = performance.now()
    rates.report(smtp, throttled(), { callMs: 50, amount: 1 })
    rates.refresh([row({})], readMs)
    expect(rates.rateOf('smtp')).toBe(10)
  })
})
