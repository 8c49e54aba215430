import { expect, test } from 'vitest'
import { labelledPoints, ticksUpTo } from './ticks.ts'

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
