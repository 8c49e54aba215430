import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { bufferedCounts } from './counters.ts'

const quiet = pino({ level: 'silent' })

test('the counts between two writes are written as one row per label', async () => {
  const written: [string, number][][] = []
  const counts = bufferedCounts('test', async batch => void written.push(batch), quiet)
  for (let n = 0; n < 1000; n++) counts.count('one')
  counts.count('two', 100)
  counts.count('none', 0)
  await counts.close()
  expect(written).toEqual([
    [
      ['one', 1000],
      ['two', 100],
      ['none', 0],
    ],
  ])
})

test('while Postgres is away it goes on adding up, and loses nothing', async () => {
  vi.useFakeTimers()
  const written: [string, number][] = []
  let unavailable = true
  const counts = bufferedCounts(
    'test',
    async batch => {
      if (unavailable) throw new Error('unavailable')
      written.push(...batch)
    },
    quiet,
  )
  counts.count('one', 3)
  await vi.advanceTimersByTimeAsync(1_000)
  counts.count('one', 2)
  unavailable = false
  await counts.close()
  vi.useRealTimers()
  expect(written).toEqual([['one', 5]])
})

test('a slow write is not overlapped by another one, and closing waits for it', async () => {
  vi.useFakeTimers()
  const writing: (() => void)[] = []
  const counts = bufferedCounts('test', () => new Promise<void>(resolve => writing.push(resolve)), quiet)
  counts.count('one')
  await vi.advanceTimersByTimeAsync(1_000)
  counts.count('one')
  await vi.advanceTimersByTimeAsync(5_000)
  expect(writing).toHaveLength(1)
  const closed = counts.close()
  writing[0]!()
  await vi.waitFor(() => expect(writing).toHaveLength(2))
  writing[1]!()
  await closed
  vi.useRealTimers()
})
