import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import {
  closeBreaker,
  listProviders,
  openBreaker,
  registerProviders,
  reserveSending as reserve,
  saveProviderRate,
  slowSending,
  takeProbe,
} from '../../src/providers/state.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

let gateway: TestGateway
let db: Queryable

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
})
afterAll(() => gateway?.stop())
beforeEach(async () => {
  await db.query('delete from providers')
  await registerProviders(db, ['ses', 'smtp'])
})

const at10 = <T>(act: (worker: number) => Promise<T>) => Promise.all(Array.from({ length: 10 }, (_, one) => act(one)))
const trouble = (change: object = {}) => ({
  name: 'ses',
  code: 'SES_DAILY_QUOTA_EXCEEDED',
  reason: 'quota',
  probeDelayMs: 5_000,
  failedProbe: false,
  ...change,
})
const reserveSending = async (queryable: Queryable, name: string, recipients: number, rate: number) =>
  (await reserve(queryable, name, recipients, rate, 600_000)).waitMs
const ses = async () => (await listProviders(db, ['ses']))[0]!
const makeProbeDue = () => db.query(`update providers set probe_at = now() - interval '1 second' where name = 'ses'`)

describe('a breaker that all workers share', () => {
  test('is opened once, however many report the same trouble, and the first one says when it is tried', async () => {
    const opened = await at10(worker => openBreaker(db, trouble({ probeDelayMs: 5_000 + worker * 10_000 })))
    expect(opened.filter(Boolean)).toHaveLength(1)
    const { state, reasonCode, probes, probeInMs } = await ses()
    expect({ state, reasonCode, probes }).toEqual({ state: 'open', reasonCode: 'SES_DAILY_QUOTA_EXCEEDED', probes: 0 })
    await openBreaker(db, trouble({ probeDelayMs: 900_000 }))
    expect((await ses()).probeInMs, 'more trouble moves nothing').toBeLessThanOrEqual(probeInMs!)
  })

  test('its probe is one worker’s when its time has come, and nobody’s before', async () => {
    await openBreaker(db, trouble())
    expect((await at10(() => takeProbe(db, 'ses', 60))).filter(Boolean)).toHaveLength(0)
    await makeProbeDue()
    expect((await at10(() => takeProbe(db, 'ses', 60))).filter(Boolean)).toHaveLength(1)
    expect((await ses()).probeInMs).toBeGreaterThan(55_000)
  })

  test('a probe that failed is counted and moves the next one', async () => {
    await openBreaker(db, trouble())
    await openBreaker(db, trouble({ failedProbe: true, probeDelayMs: 30_000 }))
    const { probes, probeInMs } = await ses()
    expect(probes).toBe(1)
    expect(probeInMs).toBeGreaterThan(25_000)
  })

  test('is closed once, forgets everything, and the other provider never noticed', async () => {
    await openBreaker(db, trouble())
    expect((await at10(() => closeBreaker(db, 'ses'))).filter(Boolean)).toHaveLength(1)
    for (const row of await listProviders(db, null))
      expect(row).toMatchObject({ state: 'closed', openedAt: null, reasonCode: null, probes: 0, probeInMs: null })
    expect(await takeProbe(db, 'ses', 60), 'a closed one has no probe').toBe(false)
  })
})

describe('a rate that all workers share', () => {
  test('ten workers at once reserve time one after the other', async () => {
    const started = Date.now()
    const waits = await at10(() => reserveSending(db, 'ses', 20, 100))
    const tookMs = Date.now() - started
    // 200 ms each; what was not used in the last tenth of a second is caught up.
    const sorted = waits.toSorted((a, b) => a - b)
    expect(sorted[0]).toBe(0)
    expect(sorted.at(-1)).toBeGreaterThan(9 * 200 - 100 - tookMs - 1)
    expect(sorted.at(-1)).toBeLessThanOrEqual(9 * 200 - 100 + tookMs + 1)
  })

  test('a long silence saves up no burst', async () => {
    await db.query(`update providers set free_at = now() - interval '1 hour'`)
    await reserveSending(db, 'ses', 100, 100)
    expect(await reserveSending(db, 'ses', 1, 100)).toBeGreaterThan(800)
  })

  test('time reserved at one provider is not reserved at another', async () => {
    await reserveSending(db, 'ses', 1000, 100)
    expect(await reserveSending(db, 'smtp', 1, 100)).toBe(0)
  })

  test('time further ahead than is worth waiting for is not reserved', async () => {
    expect(await reserve(db, 'ses', 20, 1, 10_000)).toMatchObject({ reserved: true })
    const { waitMs, reserved } = await reserve(db, 'ses', 1, 1, 10_000)
    expect(reserved).toBe(false)
    expect(waitMs).toBeGreaterThan(15_000)
    expect((await ses()).freeInMs, 'nothing was added').toBeLessThanOrEqual(20_000)
  })

  test('thirty calls that are throttled at once lower it once, and the longest pause counts', async () => {
    await reserve(db, 'ses', 100, 10, 600_000)
    const slow = (pauseMs: number) => slowSending(db, { name: 'ses', from: 10, to: 5, pauseMs, sameWithinMs: 60_000 })
    const slowed = await Promise.all(Array.from({ length: 30 }, (_, one) => slow(one * 10)))
    expect(slowed.filter(Boolean)).toHaveLength(1)
    const { slowFrom, slowTo, slowedAgoMs, freeInMs } = await ses()
    expect([slowFrom, slowTo]).toEqual([10, 5])
    expect(slowedAgoMs).toBeLessThan(60_000)
    expect(freeInMs, 'time that was reserved at the old rate is void').toBeLessThanOrEqual(290)
    await slow(5_000)
    expect((await ses()).freeInMs).toBeGreaterThan(4_000)
    await db.query(`update providers set slowed_at = now() - interval '2 minutes' where name = 'ses'`)
    expect(await slow(0), 'later, it is another slowdown').toBe(true)
  })

  test('a slowdown of a clock that was set back does not keep the next one away', async () => {
    const change = { name: 'ses', from: 10, to: 5, pauseMs: 0, sameWithinMs: 1_000 }
    await slowSending(db, change)
    await db.query(`update providers set slowed_at = now() + interval '1 hour' where name = 'ses'`)
    expect(await slowSending(db, change)).toBe(true)
  })

  test('what the account may send is learnt, and known to all', async () => {
    await saveProviderRate(db, 'ses', 14)
    expect((await listProviders(db, null)).map(row => [row.name, row.ratePerSecond])).toEqual([
      ['ses', 14],
      ['smtp', null],
    ])
  })
})
