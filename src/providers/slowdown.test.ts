import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_PAUSE_MS, pauseMs, rateAfter, slowerThan } from './throttle.ts'

const throttled = (change: object) => slowerThan({ rate: null, accepted: 0, limit: null, ...change })

describe('a provider that throttles', () => {
  test.each([
    ['is halved', { rate: 14 }, { from: 14, to: 7 }],
    ['without a rate in force: half of what it took in the last second', { accepted: 6 }, { from: 6, to: 3 }],
    ['that took nothing: every two seconds', {}, { from: 1, to: 0.5 }],
    ['states its limit: that, with a margin', { rate: 100, limit: 2 }, { from: 1.8, to: 1.8 }],
    ['states its limit without a configured rate', { accepted: 50, limit: 10 }, { from: 9, to: 9 }],
    ['states a limit that is kept already: halved', { rate: 1.8, limit: 2 }, { from: 1.8, to: 0.9 }],
    ['throttles everything: once a minute, not less', { rate: 1 / 60 }, { from: 1 / 60, to: 1 / 60 }],
  ])('%s', (_, change, expected) => {
    expect(throttled(change)).toEqual(expected)
  })

  test('is not called again before its Retry-After, nor before the time of one message at the lower rate', () => {
    expect([pauseMs(1_500, 7), pauseMs(null, 0.5), pauseMs(null, 4)]).toEqual([1_500, 2_000, 250])
    expect(pauseMs(86_400_000, 1)).toBe(MAX_PAUSE_MS)
  })
})

describe('the rate grows back', () => {
  test.each([
    [0, 5],
    [5_000, 7.5],
    [10_000, 10],
    [20_000, 20],
    [30_000, 40],
  ])('%i ms after 10 was halved it is %d', (agoMs, rate) => {
    expect(rateAfter({ from: 10, to: 5, agoMs })).toBeCloseTo(rate)
  })

  test('until nothing is left of the slowdown', () => {
    expect(rateAfter({ from: 10, to: 5, agoMs: 100_000 })).toBeNull()
    expect(rateAfter({ from: 1 / 60, to: 1 / 60, agoMs: 300_000 })).toBeNull()
  })

  test('a clock that was set back does not keep it for ever', () => {
    expect(rateAfter({ from: 10, to: 5, agoMs: -60_000 })).toBeNull()
  })

  test('steadily, whatever it was', () => {
    const rates = fc.double({ min: 1 / 60, max: 500, noNaN: true })
    fc.assert(
      fc.property(rates, fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 1, max: 1000 }), (rate, ago, more) => {
        const { from, to } = slowerThan({ rate, accepted: 0, limit: null })
        const [before, after] = [rateAfter({ from, to, agoMs: ago }), rateAfter({ from, to, agoMs: ago + more })]
        expect(after ?? 1e9).toBeGreaterThanOrEqual(before ?? 1e9)
        // No jump: in a second at most a tenth of the rate more.
        if (before !== null && after !== null) expect(after - before).toBeLessThanOrEqual((before * more) / 9_000)
      }),
    )
  })
})
