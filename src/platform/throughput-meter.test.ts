import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ThroughputMeter } from './throughput-meter.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** So many a millisecond, looked at after each. */
function goOn(meter: ThroughputMeter, ms: number, perMs: number): number {
  for (let passed = 0; passed < ms; passed++) {
    vi.advanceTimersByTime(1)
    for (let one = 0; one < perMs; one++) meter.count()
    meter.perMs()
  }
  return meter.perMs()
}

test('when work begins, its throughput is known after some milliseconds', () => {
  const meter = new ThroughputMeter()
  meter.begin()
  expect(goOn(meter, 9, 20)).toBe(0)
  expect(goOn(meter, 1, 20)).toBeCloseTo(20)
  expect(goOn(meter, 500, 20)).toBeCloseTo(20)
})

test('a burst of some milliseconds among slow work does not count as throughput', () => {
  const meter = new ThroughputMeter()
  meter.begin()
  goOn(meter, 1_000, 0)
  goOn(meter, 10, 10)
  expect(goOn(meter, 40, 0)).toBeLessThan(1)
})

test('a few answers within the first milliseconds do not count as throughput either', () => {
  const meter = new ThroughputMeter()
  meter.begin()
  expect(goOn(meter, 15, 1)).toBe(0)
})

test('a throughput that changes is followed within a second', () => {
  const meter = new ThroughputMeter()
  meter.begin()
  goOn(meter, 1_000, 20)
  expect(goOn(meter, 1_500, 2)).toBeCloseTo(2, 0)
})

test('what was before a pause is forgotten when work begins again', () => {
  const meter = new ThroughputMeter()
  meter.begin()
  goOn(meter, 1_000, 20)
  vi.advanceTimersByTime(60_000)
  meter.begin()
  expect(meter.perMs()).toBe(0)
  expect(goOn(meter, 20, 1)).toBeCloseTo(1)
})
