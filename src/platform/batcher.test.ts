import { describe, expect, test } from 'vitest'
import { Batcher, type BatcherOptions } from './batcher.ts'

type Flush = { items: number[]; answer: (outcomes?: string[]) => void; fail: (error: Error) => void }

const answerTo = (item: number) => `done ${item}`
const turn = () => new Promise(resolve => setImmediate(resolve))

/** A flush that ends when the test says so. */
function manual(options: Partial<BatcherOptions<number, string>> = {}) {
  const flushes: Flush[] = []
  const batcher = new Batcher<number, string>({
    maxItems: 100,
    concurrency: 1,
    weigh: item => item,
    ...options,
    flush: items =>
      new Promise((resolve, reject) => {
        flushes.push({ items, answer: (outcomes = items.map(answerTo)) => resolve(outcomes), fail: reject })
      }),
  })
  const addAll = (...items: number[]) => items.map(item => batcher.add(item))
  return { batcher, flushes, addAll, taken: () => flushes.map(flush => flush.items) }
}

describe('self-clocking', () => {
  test('a lone item goes at once, in the same turn of the event loop', async () => {
    const { batcher, flushes, taken } = manual()
    const outcome = batcher.add(7)
    await turn()
    expect(taken()).toEqual([[7]])
    flushes[0]!.answer()
    expect(await outcome).toBe('done 7')
  })

  test('what arrives together travels together', async () => {
    const { addAll, taken } = manual()
    addAll(1, 2, 3)
    await turn()
    expect(taken()).toEqual([[1, 2, 3]])
  })

  test('what arrives during a flush shares the next one, which starts when the first ends', async () => {
    const { addAll, flushes, taken } = manual()
    const first = addAll(1)
    await turn()
    const late = addAll(2, 3)
    await turn()
    late.push(...addAll(4))
    await turn()
    expect(taken()).toEqual([[1]])
    flushes[0]!.answer()
    expect(await Promise.all(first)).toEqual(['done 1'])
    expect(taken()).toEqual([[1], [2, 3, 4]])
    flushes[1]!.answer()
    expect(await Promise.all(late)).toEqual(['done 2', 'done 3', 'done 4'])
  })

  test('works again after it had nothing to do', async () => {
    const { addAll, flushes, taken } = manual()
    for (const item of [1, 2]) {
      const [outcome] = addAll(item)
      await turn()
      flushes.at(-1)!.answer()
      expect(await outcome).toBe(answerTo(item))
    }
    expect(taken()).toEqual([[1], [2]])
  })
})

describe('in order', () => {
  const inOrder = () => manual({ concurrency: 2, inOrder: true })

  test('a flush that overtakes another is settled after it', async () => {
    const { addAll, flushes, taken } = inOrder()
    const outcomes: string[] = []
    const record = (outcome: string) => void outcomes.push(outcome)
    for (const outcome of addAll(1, 2)) void outcome.then(record)
    await turn()
    for (const outcome of addAll(3)) void outcome.then(record)
    await turn()
    expect(taken()).toEqual([[1, 2], [3]])
    flushes[1]!.answer()
    await turn()
    expect(outcomes).toEqual([])
    flushes[0]!.answer()
    await turn()
    expect(outcomes).toEqual(['done 1', 'done 2', 'done 3'])
  })

  test('what fails is rejected in its turn, and keeps nobody behind it waiting', async () => {
    const { addAll, flushes } = inOrder()
    const outcomes: string[] = []
    for (const outcome of addAll(1)) outcome.catch(error => outcomes.push(error.message))
    await turn()
    for (const outcome of addAll(2)) void outcome.then(text => outcomes.push(text))
    await turn()
    flushes[1]!.answer()
    await turn()
    flushes[0]!.fail(new Error('broken'))
    await turn()
    expect(outcomes).toEqual(['broken', 'done 2'])
  })
})

describe('gathering', () => {
  test('a lone item waits for company, and goes without when none comes in time', async () => {
    const { addAll, taken } = manual({ waitForMore: { ms: 20, enough: 10 } })
    addAll(1)
    await turn()
    addAll(2)
    await turn()
    expect(taken()).toEqual([])
    await new Promise(resolve => setTimeout(resolve, 40))
    expect(taken()).toEqual([[1, 2]])
  })

  test('enough of them wait for nobody', async () => {
    const { addAll, taken } = manual({ waitForMore: { ms: 60_000, enough: 3 } })
    addAll(1, 2)
    await turn()
    expect(taken()).toEqual([])
    addAll(3)
    await turn()
    expect(taken()).toEqual([[1, 2, 3]])
  })

  test('those that came during a flush are gathered anew when it ends', async () => {
    const { addAll, flushes, taken } = manual({ waitForMore: { ms: 20, enough: 2 } })
    const first = addAll(1, 2)
    await turn()
    addAll(3)
    flushes[0]!.answer()
    await Promise.all(first)
    addAll(4)
    await turn()
    expect(taken()).toEqual([
      [1, 2],
      [3, 4],
    ])
  })
})

describe('order and bounds', () => {
  test('items are flushed in the order they came, never more than maxItems at once', async () => {
    const { addAll, flushes, taken } = manual({ maxItems: 3 })
    const outcomes = addAll(1, 2, 3, 4, 5, 6, 7)
    for (let flush = 0; flush < 3; flush++) {
      await turn()
      flushes[flush]!.answer()
    }
    await Promise.all(outcomes)
    expect(taken()).toEqual([[1, 2, 3], [4, 5, 6], [7]])
  })

  test.each([
    { name: 'fills up to maxWeight exactly', items: [4, 3, 3, 1], expected: [[4, 3, 3], [1]] },
    { name: 'lets an item that is too heavy alone through, alone', items: [99, 1, 1], expected: [[99], [1, 1]] },
    { name: 'keeps the order around a heavy one', items: [1, 99, 2, 3], expected: [[1], [99], [2, 3]] },
    { name: 'splits heavy ones one by one', items: [50, 60, 70], expected: [[50], [60], [70]] },
  ])('with a maxWeight of 10 it $name', async ({ items, expected }) => {
    const { addAll, flushes, taken } = manual({ maxWeight: 10 })
    const outcomes = addAll(...items)
    for (let flush = 0; flush < expected.length; flush++) {
      await turn()
      flushes[flush]!.answer()
    }
    expect(await Promise.all(outcomes)).toEqual(items.map(answerTo))
    expect(taken()).toEqual(expected)
  })

  test('as many flushes as allowed are under way at once, and no more', async () => {
    const { addAll, flushes, taken } = manual({ maxItems: 1, concurrency: 2 })
    const outcomes = addAll(1, 2, 3, 4)
    await turn()
    expect(taken()).toEqual([[1], [2]])
    flushes[1]!.answer()
    await outcomes[1]
    expect(taken()).toEqual([[1], [2], [3]])
    flushes[0]!.answer()
    flushes[2]!.answer()
    await Promise.all([outcomes[0], outcomes[2]])
    expect(taken()).toEqual([[1], [2], [3], [4]])
    flushes[3]!.answer()
    await outcomes[3]
  })
})

describe('failure', () => {
  test('a failing flush rejects its own items only, and the next one works', async () => {
    const { addAll, flushes } = manual()
    const doomed = Promise.allSettled(addAll(1, 2))
    await turn()
    const [survivor] = addAll(3)
    flushes[0]!.fail(new Error('the disk is full'))
    expect((await doomed).map(one => one.status === 'rejected' && one.reason.message)).toEqual([
      'the disk is full',
      'the disk is full',
    ])
    flushes[1]!.answer()
    expect(await survivor).toBe('done 3')
  })

  test.each([
    { name: 'too few', outcomes: ['one'] },
    { name: 'too many', outcomes: ['one', 'two', 'three'] },
    { name: 'no', outcomes: [] },
  ])(
    'a flush that gives $name outcomes is an error for all its items: nobody gets an answer not their own',
    async ({ outcomes }) => {
      const { addAll, flushes } = manual()
      const both = Promise.allSettled(addAll(1, 2))
      await turn()
      flushes[0]!.answer(outcomes)
      for (const one of await both)
        expect(one).toMatchObject({
          status: 'rejected',
          reason: { message: `flush answered ${outcomes.length} of 2 items` },
        })
      const [next] = addAll(3)
      await turn()
      flushes[1]!.answer()
      expect(await next).toBe('done 3')
    },
  )

  test('a flush that throws before it promised anything rejects its items too', async () => {
    const batcher = new Batcher<number, string>({
      maxItems: 10,
      concurrency: 1,
      flush: () => {
        throw new Error('not even started')
      },
    })
    await expect(batcher.add(1)).rejects.toThrow('not even started')
    await expect(batcher.add(2)).rejects.toThrow('not even started')
  })

  test('an error given as an outcome rejects that item, and no other', async () => {
    const batcher = new Batcher<number, string>({
      maxItems: 10,
      concurrency: 1,
      flush: async items => items.map(item => (item === 2 ? new Error('only mine') : answerTo(item))),
    })
    const outcomes = await Promise.allSettled([1, 2, 3].map(item => batcher.add(item)))
    expect(outcomes.map(one => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message))).toEqual([
      'done 1',
      'only mine',
      'done 3',
    ])
  })
})

test('ten thousand at once get their own answers, in few flushes', async () => {
  let flushes = 0
  const batcher = new Batcher<number, string>({
    maxItems: 128,
    concurrency: 2,
    flush: async items => {
      flushes++
      await turn()
      return items.map(answerTo)
    },
  })
  const items = Array.from({ length: 10_000 }, (_, index) => index)
  expect(await Promise.all(items.map(item => batcher.add(item)))).toEqual(items.map(answerTo))
  expect(flushes).toBe(Math.ceil(10_000 / 128))
})
