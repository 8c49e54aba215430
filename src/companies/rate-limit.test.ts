import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drawTokens } from './rate-limit.ts'

type Step = { elapsedSeconds: number; amounts: number[] }

const rates = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0.01, max: 1000, noNaN: true }))
const waits = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 10, noNaN: true }))
const steps = fc.array(
  fc.record({ elapsedSeconds: waits, amounts: fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 10 }) }),
  { maxLength: 30 },
)
const capacityOf = (rate: number) => Math.max(1, rate)
/** For the sum of a few hundred doubles. */
const ROUNDING = 1e-6

/** Plays the steps from a full bucket and records after each step what was granted so far. */
function live(rate: number, life: Step[], start = capacityOf(rate)) {
  let tokens = start
  let seconds = 0
  let granted = 0
  return life.map(({ elapsedSeconds, amounts }) => {
    const drawn = drawTokens({ tokens, elapsedSeconds }, rate, amounts)
    tokens = drawn.tokens
    seconds += elapsedSeconds
    granted += amounts.filter((_, index) => drawn.draws[index]!.granted).reduce((sum, amount) => sum + amount, 0)
    return { tokens, seconds, granted, draws: drawn.draws }
  })
}

describe('the law of the bucket', () => {
  test('never more than capacity + rate × time is granted, when nothing asked for is larger than the bucket', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 1000 }), steps, (rate, life) => {
        for (const { granted, seconds } of live(rate, life))
          expect(granted).toBeLessThanOrEqual(capacityOf(rate) + rate * seconds + ROUNDING)
      }),
    )
  })

  test('what is granted beyond that is a debt, to the last token', () => {
    fc.assert(
      fc.property(rates, steps, (rate, life) => {
        for (const { granted, seconds, tokens } of live(rate, life))
          expect(granted + tokens).toBeLessThanOrEqual(capacityOf(rate) + rate * seconds + ROUNDING)
      }),
    )
  })

  test('the debt is never more than one large batch beyond a full bucket', () => {
    fc.assert(
      fc.property(rates, steps, (rate, life) => {
        for (const { tokens } of live(rate, life))
          expect(tokens).toBeGreaterThanOrEqual(Math.min(0, capacityOf(rate) - 100) - ROUNDING)
      }),
    )
  })

  test('the bucket never holds more than one second of the rate, however long nothing is drawn', () => {
    fc.assert(
      fc.property(rates, fc.double({ min: 0, max: 1e9, noNaN: true }), (rate, elapsedSeconds) => {
        expect(drawTokens({ tokens: 0, elapsedSeconds }, rate, []).tokens).toBeLessThanOrEqual(capacityOf(rate))
      }),
    )
  })

  test('a refusal takes nothing and answers nothing remaining but what is there', () => {
    fc.assert(
      fc.property(rates, steps, (rate, life) => {
        for (const { draws } of live(rate, life))
          for (const { granted, remaining, retryAfterSeconds } of draws) {
            expect(Number.isInteger(remaining) && remaining >= 0).toBe(true)
            expect(granted ? retryAfterSeconds === 0 : retryAfterSeconds >= 1).toBe(true)
          }
      }),
    )
  })
})

describe('no starvation', () => {
  test('a caller that waits retryAfterSeconds is served, however large the batch', () => {
    fc.assert(
      fc.property(rates, steps, fc.integer({ min: 1, max: 100 }), (rate, life, amount) => {
        const tokens = live(rate, life).at(-1)?.tokens ?? 0
        const { draws } = drawTokens({ tokens, elapsedSeconds: 0 }, rate, [amount])
        const waited = draws[0]!.retryAfterSeconds + 0.001
        expect(drawTokens({ tokens, elapsedSeconds: waited }, rate, [amount]).draws[0]!.granted).toBe(true)
      }),
    )
  })

  test('retryAfterSeconds is never longer than refilling the debt and a full bucket takes', () => {
    fc.assert(
      fc.property(rates, steps, (rate, life) => {
        for (const { draws } of live(rate, life))
          for (const { retryAfterSeconds } of draws)
            expect(retryAfterSeconds).toBeLessThanOrEqual(Math.ceil((100 + capacityOf(rate)) / rate) + 1)
      }),
    )
  })

  test('a small one behind a refused large one still gets through', () => {
    const { draws } = drawTokens({ tokens: 5, elapsedSeconds: 0 }, 10, [8, 5])
    expect(draws.map(draw => draw.granted)).toEqual([false, true])
  })

  test('a database clock that steps back takes nothing away', () => {
    expect(drawTokens({ tokens: 10, elapsedSeconds: -3600 }, 10, [1])).toMatchObject({
      tokens: 9,
      draws: [{ granted: true }],
    })
  })
})

describe('by example', () => {
  test.each([
    { name: 'a full bucket of ten gives ten', tokens: 10, rate: 10, amounts: Array(11).fill(1), granted: 10, left: 0 },
    { name: 'one e-mail every two seconds', tokens: 1, rate: 0.5, amounts: [1, 1], granted: 1, left: 0 },
    { name: 'a batch of 100 at ten a second', tokens: 10, rate: 10, amounts: [100, 1], granted: 1, left: -90 },
  ])('$name', ({ tokens, rate, amounts, granted, left }) => {
    const drawn = drawTokens({ tokens, elapsedSeconds: 0 }, rate, amounts)
    expect(drawn.draws.filter(draw => draw.granted)).toHaveLength(granted)
    expect(drawn.tokens).toBe(left)
  })

  test('after a batch of 100 at ten a second, the next one waits until its token is available', () => {
    expect(drawTokens({ tokens: -90, elapsedSeconds: 0 }, 10, [1]).draws[0]).toEqual({
      granted: false,
      remaining: 0,
      retryAfterSeconds: 10,
    })
    expect(drawTokens({ tokens: -90, elapsedSeconds: 9 }, 10, [1]).draws[0]!.granted).toBe(false)
    expect(drawTokens({ tokens: -90, elapsedSeconds: 9.1 }, 10, [1]).draws[0]!.granted).toBe(true)
  })
})
