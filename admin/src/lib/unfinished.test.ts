import { expect, test } from 'vitest'
import { firstUnfinished } from './unfinished.ts'

const HOURS = ['10', '11', '12'].map(hour => ({ at: `2026-11-18T${hour}:00:00.000Z` }))

test.each([
  ['2026-11-18T12:20:00.000Z', 2, 'the hour that runs'],
  ['2026-11-18T11:59:00.000Z', 1, 'with it the one before, while its last minutes are not counted yet'],
  ['2026-11-18T13:00:00.000Z', 3, 'none of those that have ended'],
])('counted until %s, the first unfinished bucket is number %s: %s', (until, first) => {
  expect(firstUnfinished(HOURS, 3_600, until)).toBe(first)
})
