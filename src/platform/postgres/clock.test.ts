import { expect, test } from 'vitest'
import { uuidv7Time } from '../text/uuid.ts'
import { DatabaseClock } from './clock.ts'

const DAY_MS = 86_400_000
const CLOSE_MS = 1_000

const distanceMs = (ms: number, days: number) => Math.abs(ms - (Date.now() + days * DAY_MS))

test('before the first measurement our own clock is used', () => {
  const clock = new DatabaseClock(() => new Promise(() => {}))
  expect(distanceMs(clock.nowMs(), 0)).toBeLessThan(CLOSE_MS)
  expect(distanceMs(uuidv7Time(clock.newId()).getTime(), 0)).toBeLessThan(CLOSE_MS)
})

test('times and ids follow the database, ahead of us and behind us', async () => {
  let days = 40
  const clock = new DatabaseClock(async () => Date.now() + days * DAY_MS)
  for (days of [40, -40, 0]) {
    await clock.measure()
    expect(distanceMs(clock.now().getTime(), days)).toBeLessThan(CLOSE_MS)
    const [first, second] = [clock.newId(), clock.newId()]
    expect(distanceMs(uuidv7Time(first).getTime(), days)).toBeLessThan(CLOSE_MS)
    expect(second > first).toBe(true)
  }
})

test('ids do not decrease after a small step back of the clock', async () => {
  let offMs = 0
  const clock = new DatabaseClock(async () => Date.now() + offMs)
  await clock.measure()
  const before = clock.newId()
  offMs = -500
  await clock.measure()
  expect(clock.newId() > before).toBe(true)
})

test('simultaneous calls share one query, and an unreachable database changes nothing', async () => {
  let asked = 0
  const clock = new DatabaseClock(async () => {
    asked++
    throw new Error('unreachable')
  })
  for (let count = 0; count < 10; count++) clock.nowMs()
  await Promise.resolve()
  expect(asked).toBe(1)
  expect(distanceMs(clock.nowMs(), 0)).toBeLessThan(CLOSE_MS)
})
