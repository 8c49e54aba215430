import { expect, test } from 'vitest'
import { uuidv7Time } from '../contracts/uuid.ts'
import { DatabaseClock } from './clock.ts'

const DAY_MS = 86_400_000
const CLOSE_MS = 1_000

const distanceMs = (ms: number, days: number) => Math.abs(ms - (Date.now() + days * DAY_MS))

test('before it was measured, our own clock has to do', () => {
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

test('a small step back is waited for: ids never decrease', async () => {
  let offMs = 0
  const clock = new DatabaseClock(async () => Date.now() + offMs)
  await clock.measure()
  const before = clock.newId()
  offMs = -500
  await clock.measure()
  expect(clock.newId() > before).toBe(true)
})

test('many who ask at once share one question, and a database that is away changes nothing', async () => {
  let asked = 0
  const clock = new DatabaseClock(async () => {
    asked++
    throw new Error('away')
  })
  for (let count = 0; count < 10; count++) clock.nowMs()
  await Promise.resolve()
  expect(asked).toBe(1)
  expect(distanceMs(clock.nowMs(), 0)).toBeLessThan(CLOSE_MS)
})
