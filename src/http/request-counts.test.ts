import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import type { SendRequests } from '../db/statistics.ts'
import { RequestCounts } from './request-counts.ts'

const quiet = pino({ level: 'silent' })

test('the counts between two writes are written as one row per company', async () => {
  const written: SendRequests[][] = []
  const counts = new RequestCounts(async batch => void written.push(batch), quiet)
  for (let n = 0; n < 1000; n++) counts.count('one', 1, n % 10 === 0 ? 1 : 0)
  counts.count('two', 100, 0)
  await counts.close()
  expect(written).toEqual([
    [
      { companyId: 'one', requests: 1000, suppressed: 100 },
      { companyId: 'two', requests: 100, suppressed: 0 },
    ],
  ])
})

test('while Postgres is away it goes on adding up, and loses nothing', async () => {
  vi.useFakeTimers()
  const written: SendRequests[] = []
  let unavailable = true
  const counts = new RequestCounts(async batch => {
    if (unavailable) throw new Error('unavailable')
    written.push(...batch)
  }, quiet)
  counts.count('one', 3, 1)
  await vi.advanceTimersByTimeAsync(1_000)
  counts.count('one', 2, 0)
  unavailable = false
  await counts.close()
  vi.useRealTimers()
  expect(written).toEqual([{ companyId: 'one', requests: 5, suppressed: 1 }])
})

test('a slow write is not overlapped by another one, and closing waits for it', async () => {
  vi.useFakeTimers()
  const writing: (() => void)[] = []
  const counts = new RequestCounts(() => new Promise<void>(resolve => writing.push(resolve)), quiet)
  counts.count('one', 1, 0)
  await vi.advanceTimersByTimeAsync(1_000)
  counts.count('one', 1, 0)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(writing).toHaveLength(1)
  const closed = counts.close()
  writing[0]!()
  await vi.waitFor(() => expect(writing).toHaveLength(2))
  writing[1]!()
  await closed
  vi.useRealTimers()
})
