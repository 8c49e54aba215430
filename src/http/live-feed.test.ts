import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Changes } from '../db/admin/changed-emails.ts'
import { ALIVE, LIVE_LIMITS, LiveFeed } from './live-feed.ts'

const COUNTS = { ready: 1, held: 0, scheduled: 0, unknown: 0, oldestWaitingSeconds: null, deadLetters: 0 }
const email = (outboxId: string, status: 'PENDING' | 'SENT') => ({ outboxId, companyId: 'c', status, isNew: true })

let changes: Changes
let asked: number
let fails: boolean

beforeEach(() => {
  vi.useFakeTimers()
  changes = { until: 't', emails: [], more: false }
  asked = 0
  fails = false
})
afterEach(() => vi.useRealTimers())

function feedOf(limits: Partial<typeof LIVE_LIMITS> = {}) {
  const source = {
    readQueue: async () => {
      asked++
      if (fails) throw new Error('away')
      return COUNTS
    },
    readChanges: async () => changes,
  }
  return new LiveFeed(source, () => {}, { ...LIVE_LIMITS, ...limits })
}

function listener(options: { person?: string; keepsUp?: boolean; isAllowed?: () => Promise<boolean> } = {}) {
  const received: string[] = []
  const state = { received, ended: false }
  const { person = 'ana', keepsUp = true, isAllowed = async () => true } = options
  const send = (text: string) => {
    received.push(text)
    return keepsUp
  }
  const end = () => {
    state.ended = true
  }
  return { person, state, send, isAllowed, end }
}

test('asks once for everybody who listens, and no longer when nobody does', async () => {
  const feed = feedOf()
  const leave = [feed.add(listener()), feed.add(listener())]
  await vi.advanceTimersByTimeAsync(4 * LIVE_LIMITS.tickMs)
  expect(asked).toBe(5)
  for (const one of leave) one()
  await vi.advanceTimersByTimeAsync(10 * LIVE_LIMITS.tickMs)
  expect(asked).toBe(5)
  feed.add(listener())
  await vi.advanceTimersByTimeAsync(0)
  expect(asked).toBe(6)
  feed.close()
})

test('sends each status of an e-mail once, and nothing from before', async () => {
  const feed = feedOf()
  const one = listener()
  changes.emails = [email('old', 'SENT')]
  feed.add(one)
  await vi.advanceTimersByTimeAsync(0)
  for (const status of ['PENDING', 'PENDING', 'SENT'] as const) {
    changes.emails = [email('new', status), email('old', 'SENT')]
    await vi.advanceTimersByTimeAsync(LIVE_LIMITS.tickMs)
  }
  const sent = one.state.received.filter(text => text.startsWith('event: emails'))
  expect(sent.map(text => JSON.parse(text.split('data: ')[1]!).emails)).toEqual([
    [email('new', 'PENDING')],
    [email('new', 'SENT')],
  ])
  feed.close()
})

test('ends whoever does not keep up or is signed out, and everybody when the process stops', async () => {
  const feed = feedOf({ listeners: 3 })
  const slow = listener({ keepsUp: false })
  const signedOut = listener({ isAllowed: async () => false })
  const unsure = listener({ isAllowed: () => Promise.reject(new Error('the database is away')) })
  for (const one of [slow, signedOut, unsure]) feed.add(one)
  expect(feed.isFullFor('somebody')).toBe(true)
  await vi.advanceTimersByTimeAsync(LIVE_LIMITS.checkMs)
  expect([slow, signedOut, unsure].map(one => one.state.ended)).toEqual([true, true, false])
  feed.close()
  expect([unsure.state.ended, feed.size]).toEqual([true, 0])
})

test('one person has a share of the streams, and the others keep theirs', () => {
  const feed = feedOf({ listeners: 3, perPerson: 2 })
  feed.add(listener({ person: 'vera' }))
  expect(feed.isFullFor('vera')).toBe(false)
  feed.add(listener({ person: 'vera' }))
  expect([feed.isFullFor('vera'), feed.isFullFor('sam')]).toEqual([true, false])
  feed.close()
})

test('says that it is alive while the database keeps it waiting', async () => {
  const source = { readQueue: () => new Promise<never>(() => {}), readChanges: async () => changes }
  const feed = new LiveFeed(source, () => {})
  const one = listener()
  feed.add(one)
  await vi.advanceTimersByTimeAsync(2 * LIVE_LIMITS.aliveMs)
  expect(one.state.received).toEqual([ALIVE, ALIVE])
  feed.close()
})

test('says so when the database does not answer, and goes on', async () => {
  const feed = feedOf()
  const one = listener()
  fails = true
  feed.add(one)
  await vi.advanceTimersByTimeAsync(0)
  expect(one.state.received).toEqual(['event: unavailable\ndata: {}\n\n'])
  fails = false
  await vi.advanceTimersByTimeAsync(LIVE_LIMITS.tickMs)
  expect(one.state.received.at(-1)).toMatch(/^event: counts\ndata: \{"ready":1/)
  feed.close()
})
