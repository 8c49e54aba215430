import { expect, test } from 'vitest'
import { sleepUnlessAborted } from './sleep.ts'

const HOUR_MS = 3_600_000

test('an abort wakes those who sleep, and nobody falls asleep after it', async () => {
  const stopping = new AbortController()
  const asleep = [sleepUnlessAborted(HOUR_MS, stopping.signal), sleepUnlessAborted(HOUR_MS, stopping.signal)]
  stopping.abort()
  expect(await Promise.all([...asleep, sleepUnlessAborted(HOUR_MS, stopping.signal)])).toHaveLength(3)
})

test('without an abort it ends after its time', async () => {
  const startedMs = performance.now()
  await sleepUnlessAborted(20, new AbortController().signal)
  expect(performance.now() - startedMs).toBeGreaterThan(15)
})
