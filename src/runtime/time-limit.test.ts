import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { timeLimit } from './time-limit.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a call is ended when its time is over, never before, and at most a tenth of a second late', () => {
  const limit = timeLimit(30_000)
  const calls: { beganMs: number; signal: AbortSignal }[] = []
  for (let ms = 0; ms < 32_000; ms += 61) {
    if (ms < 500) calls.push({ beganMs: ms, signal: limit() })
    for (const { beganMs, signal } of calls) {
      if (ms < beganMs + 30_000) expect(signal.aborted, `${beganMs} at ${ms}`).toBe(false)
      if (ms > beganMs + 30_100) expect(signal.aborted, `${beganMs} at ${ms}`).toBe(true)
    }
    vi.advanceTimersByTime(61)
  }
  expect(calls[0]!.signal.reason).toMatchObject({ name: 'TimeoutError' })
})

test('calls that begin together share a signal, later ones do not', () => {
  const limit = timeLimit(30_000)
  const first = limit()
  vi.advanceTimersByTime(50)
  expect(limit()).toBe(first)
  vi.advanceTimersByTime(60)
  expect(limit()).not.toBe(first)
})

test('a hundred calls may listen to it without Node taking them for a leak', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const limit = timeLimit(30_000)
  for (let call = 0; call < 100; call++) limit().addEventListener('abort', () => {})
  expect(warned).not.toHaveBeenCalled()
  warned.mockRestore()
})
