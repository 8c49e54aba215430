import { expect, test } from 'vitest'
import { cachedQuery } from './cache.ts'

test('asks once for all who want to know, and again when the answer is old', async () => {
  let [asked, now] = [0, 0]
  const read = cachedQuery(1000, async () => ++asked, { nowMs: () => now })
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1])
  now = 999
  expect(await read()).toBe(1)
  now = 1001
  expect(await read()).toBe(2)
})

test('a dear answer is kept longer', async () => {
  let [asked, now] = [0, 0]
  const read = cachedQuery(
    1000,
    async () => {
      now += 100
      return ++asked
    },
    { nowMs: () => now },
  )
  await read()
  now = 5000
  expect(await read()).toBe(1)
  now = 5101
  expect(await read()).toBe(2)
})

test('a failure is not cached', async () => {
  let asked = 0
  const read = cachedQuery(1000, async () => {
    if (++asked === 1) throw new Error('away')
    return asked
  })
  await expect(read()).rejects.toThrow('away')
  expect(await read()).toBe(2)
})
