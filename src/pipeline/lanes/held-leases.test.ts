import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HeldLeases } from './held-leases.ts'

const RENEW_MS = 1000

let renewed: string[][]
let ended: string[][]
let returned: string[][]
let logged: string[]
let refuse: Error | null
let leases: HeldLeases

beforeEach(() => {
  vi.useFakeTimers()
  renewed = []
  ended = []
  returned = []
  logged = []
  refuse = null
  const into = (list: string[][]) => async (ids: string[]) => {
    if (refuse) throw refuse
    list.push(ids)
  }
  const log = pino({ level: 'trace' }, { write: line => void logged.push(line) })
  leases = new HeldLeases({
    renew: into(renewed),
    end: into(ended),
    returnUncertain: into(returned),
    renewEveryMs: RENEW_MS,
    log,
  })
  leases.start()
})
afterEach(async () => {
  await leases.stop()
  vi.useRealTimers()
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('held', () => {
  test('leases are renewed together, again and again, while there is work under them', async () => {
    leases.track('a', 2)
    leases.track('b', 1)
    await pass(RENEW_MS)
    leases.done('b', true)
    await pass(RENEW_MS)
    leases.done('a', true)
    await pass(RENEW_MS)
    leases.done('a', true)
    await pass(3 * RENEW_MS)
    expect(renewed).toEqual([['a', 'b'], ['a'], ['a']])
  })

  test('nothing held, nothing is written', async () => {
    await pass(10 * RENEW_MS)
    await leases.endNow()
    expect([renewed, ended]).toEqual([[], []])
  })

  test('a renewal that fails is tried again', async () => {
    leases.track('a', 1)
    refuse = new Error('no connection')
    await pass(RENEW_MS)
    refuse = null
    await pass(RENEW_MS)
    expect(renewed).toEqual([['a']])
    expect(logged.join('')).toMatch(/no connection/)
  })
})

describe('done', () => {
  test('a lease ends with the last of its items, and not before', () => {
    leases.track('a', 2)
    leases.done('a', true)
    expect(leases.takeEnded()).toEqual([])
    leases.done('a', true)
    expect(leases.takeEnded()).toEqual(['a'])
    expect(leases.takeEnded(), 'once').toEqual([])
  })

  test('one item that did not settle keeps the lease from ending: running out is what brings it back', async () => {
    leases.track('a', 3)
    leases.done('a', true)
    leases.done('a', false)
    await pass(RENEW_MS)
    expect(renewed, 'another item of it is still being worked on').toEqual([['a']])
    leases.done('a', true)
    await pass(5 * RENEW_MS)
    expect(renewed).toHaveLength(1)
    expect(leases.takeEnded()).toEqual([])
    expect(logged.join('')).toMatch(/left to expire/)
  })

  test('of a lease that nobody holds means nothing', () => {
    leases.done('not-held', true)
    expect(leases.takeEnded()).toEqual([])
  })
})

describe('ended', () => {
  const end = (...ids: string[]) => {
    for (const id of ids) {
      leases.track(id, 1)
      leases.done(id, true)
    }
  }

  test('what a statement could not take along is kept for the next', () => {
    end('a', 'b')
    const taken = leases.takeEnded()
    end('c')
    leases.restoreEnded(taken)
    expect(leases.takeEnded().toSorted()).toEqual(['a', 'b', 'c'])
  })

  test('without a statement to go along with they are ended in one of their own', async () => {
    end('a', 'b')
    await leases.endNow()
    await leases.endNow()
    expect(ended).toEqual([['a', 'b']])
  })

  test('when that fails they are tried again with the next, and nothing breaks', async () => {
    end('a')
    refuse = new Error('no connection')
    await leases.endNow()
    expect(logged.join('')).toMatch(/no connection/)
    expect(leases.takeEnded()).toEqual(['a'])
  })

  test('stopping ends what is left and renews no more', async () => {
    end('a')
    leases.track('b', 1)
    await leases.stop()
    await pass(5 * RENEW_MS)
    expect([ended, renewed]).toEqual([[['a']], []])
  })
})

describe('uncertain', () => {
  test('a lease whose answer was lost is returned soon, again and again until that has worked', async () => {
    leases.returnUncertain('a')
    refuse = new Error('no connection')
    await pass(RENEW_MS)
    expect(returned).toEqual([])
    refuse = null
    await pass(5 * RENEW_MS)
    expect(returned).toEqual([['a']])
  })

  test('stopping returns it, and does not end it as if its work were done', async () => {
    leases.returnUncertain('a')
    await leases.stop()
    expect([returned, ended]).toEqual([[['a']], []])
  })
})
