import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  failure,
  first,
  QUOTA,
  REFUSED,
  SharedBreakers,
  second,
  THROTTLED,
  UNCONNECTED,
} from '../../test/support/breakers.ts'
import { Breakers } from './breaker.ts'

let shared: SharedBreakers
let changes: number
let logged: string[]
const worker = (providers = [first, second]) =>
  new Breakers(providers, shared, () => changes++, pino({ level: 'trace' }, { write: line => void logged.push(line) }))

beforeEach(() => {
  shared = new SharedBreakers(['ses', 'smtp'])
  changes = 0
  logged = []
})

const MANY = Number.POSITIVE_INFINITY
const fail = (breakers: Breakers, times: number, one = first) => {
  for (let time = 0; time < times; time++) breakers.report(one, failure())
}
describe('closed', () => {
  test('the first in the order takes everything', async () => {
    const breakers = worker()
    expect([await breakers.route(), breakers.maxInFlight()]).toEqual([first, MANY])
  })

  test('nine failures, and a success between them, open nothing; ten in a row do', async () => {
    const breakers = worker()
    fail(breakers, 9)
    breakers.report(first, null)
    fail(breakers, 9)
    expect(await breakers.route()).toBe(first)
    fail(breakers, 1)
    expect(await breakers.route()).toBe(second)
    await breakers.flush()
    expect(shared.rows.get('ses')).toMatchObject({ state: 'open', reasonCode: 'SES_SERVICE_UNAVAILABLE' })
  })

  test('a refused e-mail shows that the provider works; throttling is inconclusive', async () => {
    const breakers = worker()
    fail(breakers, 9)
    breakers.report(first, REFUSED)
    fail(breakers, 9)
    for (let time = 0; time < 20; time++) breakers.report(first, THROTTLED)
    expect(await breakers.route()).toBe(first)
    fail(breakers, 1)
    expect(await breakers.route(), 'throttling did not end the row').toBe(second)
  })

  test('three calls in a row without a connection open it; an answer between them starts the count again', async () => {
    const breakers = worker()
    for (const between of [null, REFUSED, THROTTLED]) {
      breakers.report(first, UNCONNECTED)
      breakers.report(first, UNCONNECTED)
      breakers.report(first, between)
    }
    expect(await breakers.route()).toBe(first)
    for (let time = 0; time < 3; time++) breakers.report(first, UNCONNECTED)
    expect(await breakers.route()).toBe(second)
    await breakers.flush()
    expect(shared.rows.get('ses')).toMatchObject({ state: 'open', reasonCode: 'NETWORK_ERROR' })
  })

  test('results without a call are ignored: they neither open it nor start the count again', async () => {
    const breakers = worker()
    const notCalled = { kind: 'failed', failure: UNCONNECTED, notCalled: true } as const
    for (let time = 0; time < 20; time++) breakers.reportResult(first, notCalled)
    expect(await breakers.route()).toBe(first)
    for (let time = 0; time < 3; time++) {
      breakers.reportResult(first, { kind: 'failed', failure: UNCONNECTED })
      breakers.reportResult(first, notCalled)
    }
    expect(await breakers.route()).toBe(second)
  })

  test('a quota or a paused account opens at once, for the very next e-mail', async () => {
    const breakers = worker()
    breakers.report(first, QUOTA)
    expect(await breakers.route()).toBe(second)
  })

  test('a provider that reports that it cannot send is parked', async () => {
    const breakers = worker()
    breakers.park(first, 'Sending is paused for this account')
    await breakers.flush()
    expect(await breakers.route()).toBe(second)
    expect(shared.rows.get('ses')).toMatchObject({ state: 'open', reasonCode: 'PROVIDER_PAUSED' })
  })

  test('failures of one provider do not count for another', async () => {
    const breakers = worker()
    fail(breakers, 9, first)
    fail(breakers, 9, second)
    expect(await breakers.route()).toBe(first)
  })
})

describe('open', () => {
  test('the order of failover is that of the setting, and the first takes over again when it works', async () => {
    const breakers = worker()
    breakers.report(first, QUOTA)
    breakers.report(second, QUOTA)
    expect([await breakers.route(), breakers.maxInFlight()]).toEqual([null, 0])
    breakers.report(second, null)
    expect([await breakers.route(), breakers.maxInFlight()]).toEqual([second, MANY])
    breakers.report(first, null)
    expect(await breakers.route()).toBe(first)
    await breakers.flush()
    expect([...shared.rows.values()].map(row => row.state)).toEqual(['closed', 'closed'])
  })

  test('a change by one worker is known to the others after their next refresh, in both directions', async () => {
    const [one, other] = [worker(), worker()]
    one.report(first, QUOTA)
    await one.flush()
    expect(await other.route()).toBe(first)
    await other.refresh()
    expect(await other.route()).toBe(second)
    one.report(first, null)
    await one.flush()
    await other.refresh()
    expect(await other.route()).toBe(first)
    expect(changes, 'both changes were announced').toBe(2)
  })

  test('an unknown outcome is routed to the provider that was called, and to no other', async () => {
    const breakers = worker()
    expect([await breakers.named('ses'), await breakers.named('smtp'), await breakers.named('gone')]).toEqual([
      first,
      second,
      null,
    ])
    breakers.report(first, QUOTA)
    expect([await breakers.named('ses'), await breakers.named('smtp')]).toEqual([null, second])
  })

  test('a worker keeps its own state while the store cannot be reached', async () => {
    const breakers = worker()
    shared.broken = true
    breakers.report(first, QUOTA)
    await breakers.flush()
    expect(await breakers.route()).toBe(second)
    expect(logged.join('')).toMatch(/no connection/)
  })
})

test('a change during a refresh is not overwritten by the older rows', async () => {
  const breakers = worker()
  const rows = await shared.list()
  let answer = () => {}
  shared.list = () =>
    new Promise(resolve => {
      answer = () => resolve(rows)
    })
  const looking = breakers.refresh()
  await new Promise(resolve => setImmediate(resolve))
  breakers.report(first, QUOTA)
  answer()
  await looking
  expect(await breakers.route()).toBe(second)
})
