import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Provider } from './provider.ts'
import { type RateOptions, sendRate } from './rate.ts'

const CATCH_UP_MS = 100
const ses = { name: 'ses' } as Provider
const smtp = { name: 'smtp' } as Provider

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The time slots that all workers share in Postgres. A reservation takes `answerMs`. */
function timeline(answerMs = 2) {
  const free = new Map<string, number>()
  const asked: number[] = []
  const reserve: RateOptions['reserve'] = async (name, recipients, rate) => {
    asked.push(recipients)
    await new Promise(resolve => setTimeout(resolve, answerMs))
    const slot = Math.max(free.get(name) ?? 0, Date.now() - CATCH_UP_MS)
    free.set(name, slot + (recipients / rate) * 1000)
    return Math.max(0, slot - Date.now())
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

describe('an even rate', () => {
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
      const limiters = Array.from({ length: workers }, () =>
        sendRate({ slowdowns: () => 0, ratePerSecond: () => rate, reserve }),
      )
      const send = async (limit: (typeof limiters)[number]) => {
        await limit(ses, recipients)
        sent.push({ atMs: Date.now(), recipients })
      }
      // Five seconds' worth: half of it at once, the rest in bursts with pauses between them.
      const messages = Math.ceil((5 * rate) / recipients)
      const all = Array.from({ length: messages }, async (_, index) => {
        await new Promise(resolve => setTimeout(resolve, index < messages / 2 ? 0 : 4000 + (index % 3) * 1700))
        await send(limiters[index % workers]!)
      })
      await vi.advanceTimersByTimeAsync(30_000)
      await Promise.all(all)
      expect(sent).toHaveLength(messages)
      expect(fullestSecond(sent)).toBeLessThanOrEqual(rate * 1.1 + recipients)
      const [first, last] = [sent[0]!.atMs, sent.at(-1)!.atMs]
      expect(last - first, 'and the rate is used').toBeLessThan(((messages * recipients) / rate) * 1000 + 4500)
    },
  )

  test('messages are sent in the order in which they arrived', async () => {
    const { reserve } = timeline()
    const limit = sendRate({ slowdowns: () => 0, ratePerSecond: () => 20, reserve })
    const order: number[] = []
    const all = Array.from({ length: 30 }, async (_, index) => {
      await new Promise(resolve => setTimeout(resolve, index * 3))
      await limit(ses, 1 + (index % 3))
      order.push(index)
    })
    await vi.advanceTimersByTimeAsync(10_000)
    await Promise.all(all)
    expect(order).toEqual(Array.from({ length: 30 }, (_, index) => index))
  })

  test('two workers share the time slots evenly', async () => {
    const { reserve } = timeline()
    const times: Record<string, number[]> = { a: [], b: [] }
    const worker = async (name: string) => {
      const limit = sendRate({ slowdowns: () => 0, ratePerSecond: () => 10, reserve })
      for (let sent = 0; sent < 10; sent++) {
        await limit(ses, 1)
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
  test('messages that arrive during a reservation share the next one', async () => {
    const { reserve, asked } = timeline(10)
    const limit = sendRate({ slowdowns: () => 0, ratePerSecond: () => 1000, reserve })
    const all = [limit(ses, 1), limit(ses, 2), limit(ses, 3), limit(ses, 4)]
    await vi.advanceTimersByTimeAsync(1000)
    await Promise.all(all)
    expect(asked).toEqual([1, 9])
  })

  test('a provider without a rate is not waited for, and nothing is reserved', async () => {
    const { reserve, asked } = timeline()
    const limit = sendRate({ slowdowns: () => 0, ratePerSecond: name => (name === 'ses' ? 1 : null), reserve })
    const turns = await Promise.all(Array.from({ length: 100 }, () => limit(smtp, 50)))
    expect(turns.every(turn => turn)).toBe(true)
    expect(asked).toEqual([])
  })

  test('a slow provider does not delay another', async () => {
    const { reserve } = timeline()
    const limit = sendRate({ slowdowns: () => 0, ratePerSecond: name => (name === 'ses' ? 1 : 1000), reserve })
    const slow = Array.from({ length: 5 }, () => limit(ses, 1))
    let quick = false
    void limit(smtp, 1).then(() => {
      quick = true
    })
    await vi.advanceTimersByTimeAsync(50)
    expect(quick).toBe(true)
    await vi.advanceTimersByTimeAsync(10_000)
    await Promise.all(slow)
  })

  test('one that fails rejects the messages that shared it, and no others', async () => {
    const { reserve } = timeline()
    let calls = 0
    const limit = sendRate({
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
    const first = outcome(limit(ses, 1))
    const shared = [outcome(limit(ses, 1)), outcome(limit(ses, 1))]
    await vi.advanceTimersByTimeAsync(3)
    const later = outcome(limit(ses, 1))
    await vi.advanceTimersByTimeAsync(1000)
    const much = outcome(limit(ses, 1))
    await vi.advanceTimersByTimeAsync(1000)
    expect(await Promise.all([first, ...shared, later, much])).toEqual([
      'sent',
      'no connection',
      'no connection',
      'sent',
      'sent',
    ])
  })

  test('a rate limit that is removed releases the waiting messages', async () => {
    let rate: number | null = 1
    const { reserve } = timeline(10)
    const limit = sendRate({ slowdowns: () => 0, ratePerSecond: () => rate, reserve })
    const first = limit(ses, 1)
    const second = limit(ses, 1)
    rate = null
    await vi.advanceTimersByTimeAsync(50)
    await Promise.all([first, second])
  })

  test('a slot too far away is not waited for', async () => {
    const limit = sendRate({ slowdowns: () => 0, ratePerSecond: () => 1, reserve: async () => null })
    expect(await limit(ses, 1)).toBe(false)
  })

  test('a slowdown invalidates the reserved slots: waiting messages reserve again at the lower rate', async () => {
    let [rate, slowdowns] = [10, 0]
    const { reserve, asked } = timeline()
    const limit = sendRate({ slowdowns: () => slowdowns, ratePerSecond: () => rate, reserve })
    const wentAtMs: number[] = []
    const all = Array.from({ length: 6 }, async () => {
      await limit(ses, 1)
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
    for (let index = 1; index < later.length; index++)
      expect(later[index]! - later[index - 1]!).toBeGreaterThanOrEqual(900)
  })
})
