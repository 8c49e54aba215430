import { expect, test } from 'vitest'
import { firstUnfinished, labelledPoints, ticksUpTo } from './points.ts'

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [7, [0, 2, 4, 6, 8]],
  [40, [0, 10, 20, 30, 40]],
  [41, [0, 20, 40, 60]],
  [12_340, [0, 5_000, 10_000, 15_000]],
])('the axis for values up to %i has round whole numbers', (max, ticks) => {
  expect(ticksUpTo(max)).toEqual(ticks)
})

test('labels of the time axis keep their distance', () => {
  expect(labelledPoints(24, 960, 80)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22])
  expect(labelledPoints(24, 240, 80)).toEqual([0, 8, 16])
  expect(labelledPoints(0, 960, 80)).toEqual([])
})

const HOURS = ['10', '11', '12'].map(hour => ({ at: `2026-11-18T${hour}:00:00.000Z` }))

test.each([
  ['2026-11-18T12:20:00.000Z', 2, 'the hour that runs'],
  ['2026-11-18T11:59:00.000Z', 1, 'with it the one before, while its last minutes are not counted yet'],
  ['2026-11-18T13:00:00.000Z', 3, 'none of those that have ended'],
])('counted until %s, the first unfinished bucket is number %s: %s', (until, first) => {
  expect(firstUnfinished(HOURS, 3_600, until)).toBe(first)
})
