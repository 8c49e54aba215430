import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { oneAtATime, periodically } from './periodic-task.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a task that takes longer than its interval is not started a second time', async () => {
  let running = 0
  let runs = 0
  let finish = () => {}
  const stop = periodically(
    1_000,
    async () => {
      runs++
      expect(++running).toBe(1)
      await new Promise<void>(resolve => (finish = resolve))
      running--
    },
    () => {},
  )
  await vi.advanceTimersByTimeAsync(38_000)
  expect(runs).toBe(1)
  finish()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toBe(2)
  finish()
  await stop()
})

test('a task that fails is reported and runs again', async () => {
  const errors: unknown[] = []
  const stop = periodically(
    1_000,
    () => Promise.reject(new Error('no')),
    error => void errors.push(error),
  )
  await vi.advanceTimersByTimeAsync(2_000)
  await stop()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(errors).toHaveLength(2)
})

test('after a failure it may run again sooner', async () => {
  let failures = 0
  const stop = periodically(
    1_000,
    () => Promise.reject(new Error('no')),
    () => void failures++,
    100,
  )
  await vi.advanceTimersByTimeAsync(1_300)
  expect(failures).toBe(4)
  await stop()
})

test('stopping waits for the run that is under way, and none follows it', async () => {
  let runs = 0
  let finish = () => {}
  const stop = periodically(
    1_000,
    () => {
      runs++
      return new Promise<void>(resolve => (finish = resolve))
    },
    () => {},
  )
  await vi.advanceTimersByTimeAsync(1_000)
  let stopped = false
  const stopping = stop().then(() => (stopped = true))
  await vi.advanceTimersByTimeAsync(5_000)
  expect(stopped).toBe(false)
  finish()
  await stopping
  await vi.advanceTimersByTimeAsync(5_000)
  expect(runs).toBe(1)
})

test('a task for several callers runs once at a time, and again for who comes after its end', async () => {
  const ends: (() => void)[] = []
  const task = oneAtATime(() => new Promise<void>(resolve => void ends.push(resolve)))
  const both = [task(), task()]
  expect(ends).toHaveLength(1)
  ends[0]!()
  await Promise.all(both)
  const failing = oneAtATime(() => Promise.reject(new Error('no')))
  await expect(failing()).rejects.toThrow('no')
  await expect(failing()).rejects.toThrow('no')
  void task()
  expect(ends).toHaveLength(2)
})
