import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideReputation, judgeReputation } from './reputation.ts'

const standing = { sent: 0, bounced: 0, complained: 0, warnedMinutes: null, paused: false }

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
    ['in good standing again below it', { sent: 1000, bounced: 24, warnedMinutes: 5 }, ['end-warning']],
  ])('%s', (_, change, steps) => expect(decideReputation({ ...standing, ...change }).steps).toEqual(steps))
})

test('more bounces or complaints never make it better, more mail never worse', () => {
  const figures = fc.record({ sent: fc.nat(100_000), bounced: fc.nat(20_000), complained: fc.nat(500) })
  const gravity = (verdict: ReturnType<typeof judgeReputation>) =>
    verdict.kind === 'above' ? (verdict.grave ? 3 : 2) : verdict.kind === 'unsure' ? 1 : 0
  fc.assert(
    fc.property(figures, fc.nat(100), (one, more) => {
      const now = gravity(judgeReputation(one))
      expect(gravity(judgeReputation({ ...one, bounced: one.bounced + more }))).toBeGreaterThanOrEqual(now)
      expect(gravity(judgeReputation({ ...one, complained: one.complained + more }))).toBeGreaterThanOrEqual(now)
      if (one.sent >= 100) expect(gravity(judgeReputation({ ...one, sent: one.sent + more }))).toBeLessThanOrEqual(now)
    }),
  )
})

test('says in a sentence what is wrong', () => {
  const { reason } = decideReputation({ ...standing, sent: 1000, bounced: 100, complained: 5 })
  expect(reason).toBe(
    '10.0 % bounced for good (100 of 1000 recipients in 24 hours, the limit is 5.0 %); 0.50 % complained (5 of 1000 recipients in 24 hours, the limit is 0.10 %)',
  )
})
