import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Provider } from './provider.ts'
import { type RateOptions, sendRate } from './rate.ts'

const CATCH_UP_MS = 100
const ses = { name: 'ses' } as Provider
const smtp = { name: 'smtp' } as Provider

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The timeline that all workers share, as Postgres keeps it. Answering takes a moment. */
function timeline(answerMs = 2) {
  const free = new Map<string, number>()
  const asked: number[] = []
  const reserve: RateOptions['reserve'] = async (name, recipients, rate) => {
    asked.push(recipients)
    await new Promise(resolve => setTimeout(resolve, answerMs))
    const place = Math.max(free.get(name) ?? 0, Date.now() - CATCH_UP_MS)
    free.set(name, place + (recipients / rate) * 1000)
    return Math.max(0, place - Date.now())
  }
  return { reserve, asked }
}

/** Recipients in the fullest second. */
function fullestSecond(sent: { atMs: number; recipients: number }[]): number {
  return Math.max(
    ...sent.map(({ atMs: from }) =>
      sent
        .filter(({ atMs }) => atMs >= from && atMs < from + 1000)
        .reduce((sum, { recipients }) => sum + recipients, 0),
    ),
  )
}

describe('an even pace', () => {
  test.each([
    [1, 1, 50],
    [4, 1, 200],
    [3, 3, 100],
    [10, 2, 14],
  ])(
    '%i workers, %i recipients each time, %i a second: no second has more than a tenth beyond the rate',
    async (workers, recipients, rate) => {
      const { reserve } = timeline()
      const sent: { atMs: number; recipients: number }[] = []
      const paces = Array.from({ length: workers }, () =>
        sendRate({ slowdowns: () => 0, ratePerSecond: () => rate, reserve }),
      )
      const send = async (pace: (typeof paces)[number]) => {
        await pace(ses, recipients)
        sent.push({ atMs: Date.now(), recipients })
      }
      // Five seconds' worth: half of it at once, the rest in bursts with pauses in which nothing is wanted.
      const messages = Math.ceil((5 * rate) / recipients)
      const all = Array.from({ length: messages }, async (_, index) => {
        await new Promise(resolve => setTimeout(resolve, index < messages / 2 ? 0 : 4000 + (index % 3) * 1700))
        await send(paces[index % workers]!)
      })
      await vi.advanceTimersByTimeAsync(30_000)
      await Promise.all(all)
      expect(sent).toHaveLength(messages)
      expect(fullestSecond(sent)).toBeLessThanOrEqual(rate * 1.1 + recipients)
      const [first, last] = [sent[0]!.atMs, sent.at(-1)!.atMs]
      expect(last - first, 'and the rate is used').toBeLessThan(((messages * recipients) / rate) * 1000 + 4500)
    },
  )

  test('those who came first go first', async () => {
    const { reserve } = timeline()
    const pace = sendRate({ slowdowns: () => 0, ratePerSecond: () => 20, reserve })
    const order: number[] = []
    const all = Array.from({ length: 30 }, async (_, index) => {
      await new Promise(resolve => setTimeout(resolve, index * 3))
      await pace(ses, 1 + (index % 3))
      order.push(index)
    })
    await vi.advanceTimersByTimeAsync(10_000)
    await Promise.all(all)
    expect(order).toEqual(Array.from({ length: 30 }, (_, index) => index))
  })

  test('two workers have their places on the same timeline, one after the other', async () => {
    const { reserve } = timeline()
    const times: Record<string, number[]> = { a: [], b: [] }
    const worker = async (name: string) => {
      const pace = sendRate({ slowdowns: () => 0, ratePerSecond: () => 10, reserve })
      for (let sent = 0; sent < 10; sent++) {
        await pace(ses, 1)
        times[name]!.push(Date.now())
      }
    }
    const both = Promise.all([worker('a'), worker('b')])
    await vi.advanceTimersByTimeAsync(5000)
    await both
    expect(Math.abs(times.a!.at(-1)! - times.b!.at(-1)!), 'neither is ahead').toBeLessThanOrEqual(200)
  })
})

describe('reservations', () => {
  test('those who come while one is under way share the next one', async () => {
    const { reserve, asked } = timeline(10)
    const pace = sendRate({ slowdowns: () => 0, ratePerSecond: () => 1000, reserve })
    const all = [pace(ses, 1), pace(ses, 2), pace(ses, 3), pace(ses, 4)]
    await vi.advanceTimersByTimeAsync(1000)
    await Promise.all(all)
    expect(asked).toEqual([1, 9])
  })

  test('a provider without a rate is not waited for, and nothing is reserved', async () => {
    const { reserve, asked } = timeline()
    const pace = sendRate({ slowdowns: () => 0, ratePerSecond: name => (name === 'ses' ? 1 : null), reserve })
    const turns = await Promise.all(Array.from({ length: 100 }, () => pace(smtp, 50)))
    expect(turns.every(turn => turn)).toBe(true)
    expect(asked).toEqual([])
  })

  test('a slow provider does not hold up another', async () => {
    const { reserve } = timeline()
    const pace = sendRate({ slowdowns: () => 0, ratePerSecond: name => (name === 'ses' ? 1 : 1000), reserve })
    const slow = Array.from({ length: 5 }, () => pace(ses, 1))
    let quick = false
    void pace(smtp, 1).then(() => {
      quick = true
    })
    await vi.advanceTimersByTimeAsync(50)
    expect(quick).toBe(true)
    await vi.advanceTimersByTimeAsync(10_000)
    await Promise.all(slow)
  })

  test('one that fails rejects those who shared it, and nobody else', async () => {
    const { reserve } = timeline()
    let calls = 0
    const pace = sendRate({
      slowdowns: () => 0,
      ratePerSecond: () => 1000,
      reserve: async (...asked) => {
        const call = ++calls
        const waitMs = await reserve(...asked)
        if (call === 2) throw new Error('no connection')
        return waitMs
      },
    })
    const outcome = (sending: Promise<boolean>) =>
      sending.then(
        () => 'sent',
        error => error.message,
      )
    const first = outcome(pace(ses, 1))
    const shared = [outcome(pace(ses, 1)), outcome(pace(ses, 1))]
    await vi.advanceTimersByTimeAsync(3)
    const later = outcome(pace(ses, 1))
    await vi.advanceTimersByTimeAsync(1000)
    const much = outcome(pace(ses, 1))
    await vi.advanceTimersByTimeAsync(1000)
    expect(await Promise.all([first, ...shared, later, much])).toEqual([
      'sent',
      'no connection',
      'no connection',
      'sent',
      'sent',
    ])
  })

  test('a rate that is lifted meanwhile lets those who wait go', async () => {
    let rate: number | null = 1
    const { reserve } = timeline(10)
    const pace = sendRate({ slowdowns: () => 0, ratePerSecond: () => rate, reserve })
    const first = pace(ses, 1)
    const second = pace(ses, 1)
    rate = null
    await vi.advanceTimersByTimeAsync(50)
    await Promise.all([first, second])
  })

  test('a place too far away is not waited for', async () => {
    const pace = sendRate({ slowdowns: () => 0, ratePerSecond: () => 1, reserve: async () => null })
    expect(await pace(ses, 1)).toBe(false)
  })

  test('a slowdown voids the places of those who wait: they ask again at the lower rate', async () => {
    let [rate, slowdowns] = [10, 0]
    const { reserve, asked } = timeline()
    const pace = sendRate({ slowdowns: () => slowdowns, ratePerSecond: () => rate, reserve })
    const wentAtMs: number[] = []
    const all = Array.from({ length: 6 }, async () => {
      await pace(ses, 1)
      wentAtMs.push(Date.now())
    })
    await vi.advanceTimersByTimeAsync(150)
    const before = wentAtMs.length
    rate = 1
    slowdowns++
    await vi.advanceTimersByTimeAsync(20_000)
    await Promise.all(all)
    expect(asked.length).toBeGreaterThan(1)
    const later = wentAtMs.slice(before)
    for (let place = 1; place < later.length; place++)
      expect(later[place]! - later[place - 1]!).toBeGreaterThanOrEqual(900)
  })
})
