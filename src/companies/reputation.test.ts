import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assessReputation, decideReputation } from './reputation.ts'

const company = { sent: 0, bounced: 0, complained: 0, warnedMinutes: null, paused: false }

describe('a company is', () => {
  test.each([
    ['left alone with nothing sent', {}, []],
    ['left alone below the volume', { sent: 99, bounced: 99, complained: 99 }, []],
    ['warned at 5 % of bounces', { sent: 100, bounced: 5 }, ['warn']],
    ['warned and paused at 10 %', { sent: 100, bounced: 10 }, ['warn', 'pause']],
    ['warned at 0.1 % of complaints', { sent: 3000, complained: 3 }, ['warn']],
    ['warned and paused at 0.5 %', { sent: 600, complained: 3 }, ['warn', 'pause']],
    ['not warned twice', { sent: 100, bounced: 5, warnedMinutes: 59 }, []],
    ['paused when an hour has not helped', { sent: 100, bounced: 5, warnedMinutes: 60 }, ['pause']],
    ['not paused twice', { sent: 100, bounced: 50, warnedMinutes: 90, paused: true }, []],
    ['still warned at more than half of the limit', { sent: 100, bounced: 3, warnedMinutes: 600 }, []],
    ['no longer warned below half of the limit', { sent: 1000, bounced: 24, warnedMinutes: 5 }, ['end-warning']],
  ])('%s', (_, change, steps) => expect(decideReputation({ ...company, ...change }).steps).toEqual(steps))
})

test('more bounces or complaints never improve the level, more mail never makes it worse', () => {
  const figures = fc.record({ sent: fc.nat(100_000), bounced: fc.nat(20_000), complained: fc.nat(500) })
  const severity = (level: ReturnType<typeof assessReputation>) =>
    level.kind === 'above' ? (level.severe ? 3 : 2) : level.kind === 'between' ? 1 : 0
  fc.assert(
    fc.property(figures, fc.nat(100), (one, more) => {
      const now = severity(assessReputation(one))
      expect(severity(assessReputation({ ...one, bounced: one.bounced + more }))).toBeGreaterThanOrEqual(now)
      expect(severity(assessReputation({ ...one, complained: one.complained + more }))).toBeGreaterThanOrEqual(now)
      if (one.sent >= 100)
        expect(severity(assessReputation({ ...one, sent: one.sent + more }))).toBeLessThanOrEqual(now)
    }),
  )
})

test('the reason is a sentence with both rates', () => {
  const { reason } = decideReputation({ ...company, sent: 1000, bounced: 100, complained: 5 })
  expect(reason).toBe(
    '10.0 % bounced for good (100 of 1000 recipients in 24 hours, the limit is 5.0 %); 0.50 % complained (5 of 1000 recipients in 24 hours, the limit is 0.10 %)',
  )
})
