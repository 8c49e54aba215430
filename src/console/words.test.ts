import { expect, test } from 'vitest'
import { momentOf, rangeOf } from './words.ts'

const NOW_MS = Date.parse('2026-11-18T10:00:00Z')
const range = (since?: string, until?: string) =>
  rangeOf(momentOf(since, '--since'), momentOf(until, '--until'), NOW_MS)

test('a range is made of times, of durations before now, or of nothing', () => {
  expect(range('2h', '1h')).toEqual({ since: '2026-11-18T08:00:00.000Z', until: '2026-11-18T09:00:00.000Z' })
  expect(range('2026-11-18')).toEqual({ since: '2026-11-18T00:00:00.000Z', until: null })
  expect(range()).toEqual({ since: null, until: null })
  expect(range(undefined, '1h')).toEqual({ since: null, until: '2026-11-18T09:00:00.000Z' })
})

test.each([
  ['1h', '2h', '--since (2026-11-18T09:00:00.000Z) must be before --until (2026-11-18T08:00:00.000Z)'],
  ['2026-11-15', '2026-11-15', '--since (2026-11-15T00:00:00.000Z) must be before --until (2026-11-15T00:00:00.000Z)'],
  ['2027-01-01', undefined, '--since (2027-01-01T00:00:00.000Z) must be before now'],
])('%s to %s holds no moment, and is refused', (since, until, message) => {
  expect(() => range(since, until)).toThrow(message)
})
