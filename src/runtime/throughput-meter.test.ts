import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ThroughputMeter } from './throughput-meter.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** So many a millisecond, looked at after each. */
function goOn(pace: ThroughputMeter, ms: number, perMs: number): number {
  for (let passed = 0; passed < ms; passed++) {
    vi.advanceTimersByTime(1)
    for (let one = 0; one < perMs; one++) pace.count()
    pace.perMs()
  }
  return pace.perMs()
}

test('when work begins, its pace is known after some milliseconds', () => {
  const pace = new ThroughputMeter()
  pace.begin()
  expect(goOn(pace, 9, 20)).toBe(0)
  expect(goOn(pace, 1, 20)).toBeCloseTo(20)
  expect(goOn(pace, 500, 20)).toBeCloseTo(20)
})

test('a burst of some milliseconds among slow work is no pace', () => {
  const pace = new ThroughputMeter()
  pace.begin()
  goOn(pace, 1_000, 0)
  goOn(pace, 10, 10)
  expect(goOn(pace, 40, 0)).toBeLessThan(1)
})

test('a few answers within the first milliseconds are no pace either', () => {
  const pace = new ThroughputMeter()
  pace.begin()
  expect(goOn(pace, 15, 1)).toBe(0)
})

test('a pace that changes is followed within a second', () => {
  const pace = new ThroughputMeter()
  pace.begin()
  goOn(pace, 1_000, 20)
  expect(goOn(pace, 1_500, 2)).toBeCloseTo(2, 0)
})

test('what was before a pause is forgotten when work begins again', () => {
  const pace = new ThroughputMeter()
  pace.begin()
  goOn(pace, 1_000, 20)
  vi.advanceTimersByTime(60_000)
  pace.begin()
  expect(pace.perMs()).toBe(0)
  expect(goOn(pace, 20, 1)).toBeCloseTo(1)
})
