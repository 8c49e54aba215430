import { expect, test } from 'vitest'
import { WeightedSemaphore } from './semaphores.ts'

/** Spends as wanted, and answers who was at work together with how much, each time somebody began. */
async function spendAll(total: number, wanted: number[]): Promise<number[][]> {
  const semaphore = new WeightedSemaphore(total)
  const atWork: number[] = []
  const seen: number[][] = []
  await Promise.all(
    wanted.map(amount =>
      semaphore.runWith(amount, async () => {
        atWork.push(amount)
        seen.push([...atWork])
        await new Promise(resolve => setTimeout(resolve, 1))
        atWork.splice(atWork.indexOf(amount), 1)
      }),
    ),
  )
  return seen
}

test('no more is spent at once than there is, and nobody is left waiting', async () => {
  const wanted = Array.from({ length: 100 }, (_, index) => 1 + ((index * 7) % 10))
  const seen = await spendAll(16, wanted)
  expect(seen).toHaveLength(100)
  for (const together of seen) expect(together.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(16)
})

test('who wants more than there is works alone', async () => {
  const seen = await spendAll(10, [4, 1000, 4, 4])
  expect(seen).toEqual([[4], [1000], [4], [4, 4]])
})

test('a small one does not overtake a large one, which would wait for ever', async () => {
  const seen = await spendAll(10, [6, 8, 2])
  expect(seen.map(together => together.at(-1))).toEqual([6, 8, 2])
})

test('what fails gives back what it had', async () => {
  const semaphore = new WeightedSemaphore(1)
  await expect(semaphore.runWith(1, async () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await semaphore.runWith(1, async () => 'next')).toBe('next')
})
