import { expect, test } from 'vitest'
import { COUNTED, OVERVIEW_RANGES, rangeBegin } from '../companies/statistics.ts'
import { fillSeries, OVERVIEW_RANGE_NAMES } from './overview.ts'

const NOW = Date.parse('2026-11-17T10:31:05.120Z')
const figures = (accepted: number) => ({ accepted, sent: 0, delivered: 0, bounced: 0, complained: 0, failed: 1 })

test.each(OVERVIEW_RANGE_NAMES)(
  '%s covers its whole range at any moment, with the same number of buckets, the last of which holds now',
  range => {
    const { seconds, bucketSeconds } = OVERVIEW_RANGES[range]
    for (const nowMs of [NOW, NOW + 1, Date.parse('2026-11-17T00:00:00Z'), Date.parse('2026-11-16T23:59:59.999Z')]) {
      const { series } = fillSeries(range, nowMs, [])
      expect(series).toHaveLength(seconds / bucketSeconds + 1)
      expect(nowMs - Date.parse(series[0]!.at)).toBeGreaterThanOrEqual(seconds * 1000)
      expect(nowMs - Date.parse(series.at(-1)!.at)).toBeLessThan(bucketSeconds * 1000)
      expect(Date.parse(series[0]!.at)).toBe(rangeBegin(range, nowMs))
    }
  },
)

test('rows of one bucket are added up, rows outside are left out, and totals are the sums', () => {
  const rows = [
    { atMs: Date.parse('2026-11-17T10:00:00Z'), ...figures(3) },
    { atMs: Date.parse('2026-11-17T10:31:00Z'), ...figures(4) },
    { atMs: Date.parse('2026-11-16T12:00:00Z'), ...figures(5) },
    { atMs: Date.parse('2026-11-15T12:00:00Z'), ...figures(1000) },
  ]
  const { series, totals } = fillSeries('24h', NOW, rows)
  expect(series.at(-1)).toMatchObject({ at: '2026-11-17T10:00:00.000Z', accepted: 7, failed: 2 })
  expect(series.find(one => one.at === '2026-11-16T12:00:00.000Z')).toMatchObject({ accepted: 5 })
  expect(totals).toEqual({ ...figures(12), failed: 3 })
  expect(Object.keys(totals)).toEqual([...COUNTED])
})
