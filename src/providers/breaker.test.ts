import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ProviderFailure } from '../contracts/provider-errors/classify.ts'
import type { ProviderRow } from '../db/providers.ts'
import { type BreakerStore, Breakers } from './breaker.ts'
import type { Provider } from './provider.ts'

const provider = (name: string): Provider => ({
  name,
  recognisesAttempts: false,
  send: () => Promise.reject(new Error('not here')),
  close: async () => {},
})
const [first, second] = [provider('ses'), provider('smtp')]

const failure = (change: Partial<ProviderFailure> = {}): ProviderFailure => ({
  code: 'SES_SERVICE_UNAVAILABLE',
  category: 'TRANSIENT_ERROR',
  retryable: true,
  openBreaker: false,
  throttled: false,
  unconnected: false,
  deferred: false,
  ambiguous: false,
  originalCode: null,
  message: 'down',
  ...change,
})
const QUOTA = failure({ code: 'SES_DAILY_QUOTA_EXCEEDED', category: 'QUOTA_ERROR', openBreaker: true })
const THROTTLED = failure({ code: 'SES_THROTTLING', category: 'QUOTA_ERROR', throttled: true })
const UNCONNECTED = failure({ code: 'NETWORK_ERROR', unconnected: true })
const REFUSED = failure({ code: 'SES_MESSAGE_REJECTED', category: 'PERMANENT_ERROR', retryable: false })

type Row = Pick<ProviderRow, 'state' | 'reasonCode' | 'probes'> & { probeAtMs: number | null }

/** The table shared by all workers, with its own clock. */
class Shared implements BreakerStore {
  nowMs = 0
  readonly rows = new Map<string, Row>()
  broken = false

  constructor(names: string[]) {
    for (const name of names) this.rows.set(name, { state: 'closed', reasonCode: null, probes: 0, probeAtMs: null })
  }

  list = async () =>
    [...this.rows].map(([name, row]) => ({
      name,
      ...row,
      openedAt: null,
      reason: null,
      ratePerSecond: null,
      slowFrom: null,
      slowTo: null,
      slowedAgoMs: null,
      freeInMs: 0,
      probeInMs: row.probeAtMs === null ? null : row.probeAtMs - this.nowMs,
    }))

  open: BreakerStore['open'] = async ({ name, code, probeDelayMs, failedProbe }) => {
    if (this.broken) throw new Error('no connection')
    const row = this.rows.get(name)!
    const opened = row.state === 'closed'
    const probeAtMs = failedProbe || row.probeAtMs === null ? this.nowMs + probeDelayMs : row.probeAtMs
    this.rows.set(name, { state: 'open', reasonCode: code, probes: row.probes + Number(failedProbe), probeAtMs })
    return opened
  }

  close = async (name: string) => {
    const wasOpen = this.rows.get(name)!.state === 'open'
    this.rows.set(name, { state: 'closed', reasonCode: null, probes: 0, probeAtMs: null })
    return wasOpen
  }

  takeProbe = async (name: string) => {
    const row = this.rows.get(name)!
    if (row.state !== 'open' || row.probeAtMs! > this.nowMs) return false
    row.probeAtMs = this.nowMs + 60_000
    return true
  }
}

let shared: Shared
let changes: number
let logged: string[]
const worker = (providers = [first, second]) =>
  new Breakers(providers, shared, () => changes++, pino({ level: 'trace' }, { write: line => void logged.push(line) }))

beforeEach(() => {
  shared = new Shared(['ses', 'smtp'])
  changes = 0
  logged = []
})

const MANY = Number.POSITIVE_INFINITY
const fail = (breakers: Breakers, times: number, one = first) => {
  for (let time = 0; time < times; time++) breakers.report(one, failure())
}
/** A probe is due, and every worker has read the table. */
async function later(...workers: Breakers[]): Promise<void> {
  for (const one of workers) await one.flush()
  shared.nowMs += 1_000_000
  for (const one of workers) await one.refresh()
}

describe('closed', () => {
  test('the first in the order takes everything', async () => {
    const breakers = worker()
    expect([await breakers.route(), breakers.mayClaim()]).toEqual([first, MANY])
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
    const notAsked = { kind: 'failed', failure: UNCONNECTED, notAsked: true } as const
    for (let time = 0; time < 20; time++) breakers.reportResult(first, notAsked)
    expect(await breakers.route()).toBe(first)
    for (let time = 0; time < 3; time++) {
      breakers.reportResult(first, { kind: 'failed', failure: UNCONNECTED })
      breakers.reportResult(first, notAsked)
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
    expect([await breakers.route(), breakers.mayClaim()]).toEqual([null, 0])
    breakers.report(second, null)
    expect([await breakers.route(), breakers.mayClaim()]).toEqual([second, MANY])
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

describe('the probe', () => {
  test('is granted to one worker, for one e-mail, when it is due', async () => {
    const workers = [worker([first]), worker([first]), worker([first])]
    workers[0]!.report(first, QUOTA)
    await workers[0]!.flush()
    for (const one of workers) await one.refresh()
    expect(
      workers.map(one => one.mayClaim()),
      'not yet',
    ).toEqual([0, 0, 0])
    await later(...workers)
    expect(
      workers.map(one => one.mayClaim()),
      'any of them may bring it',
    ).toEqual([1, 1, 1])
    expect(await Promise.all(workers.map(one => one.route()))).toEqual([first, null, null])
    expect(await workers[0]!.route(), 'one e-mail').toBeNull()
    expect(
      workers.map(one => one.mayClaim()),
      'and no other before it has answered',
    ).toEqual([0, 0, 0])
  })

  test('is sent once to the parked provider, although another one works', async () => {
    const breakers = worker()
    breakers.report(first, QUOTA)
    await later(breakers)
    expect([await breakers.route(), await breakers.route(), breakers.mayClaim()]).toEqual([first, second, MANY])
  })

  test('that fails delays the next one, longer each time', async () => {
    const breakers = worker([first])
    breakers.report(first, QUOTA)
    const delays: number[] = []
    for (let probe = 0; probe < 5; probe++) {
      await later(breakers)
      expect(await breakers.route()).toBe(first)
      breakers.report(first, failure())
      await breakers.flush()
      delays.push(shared.rows.get('ses')!.probeAtMs! - shared.nowMs)
      await breakers.refresh()
      expect([await breakers.route(), breakers.mayClaim()]).toEqual([null, 0])
    }
    expect(
      delays.map(ms => [5, 30, 120, 600].reduce((a, b) => (Math.abs(a * 1000 - ms) < Math.abs(b * 1000 - ms) ? a : b))),
    ).toEqual([5, 30, 120, 600, 600])
  })

  test('that succeeds, is throttled or is refused closes the breaker for all workers', async () => {
    for (const answer of [null, REFUSED, THROTTLED]) {
      const [one, other] = [worker([first]), worker([first])]
      one.report(first, QUOTA)
      await later(one, other)
      await one.route()
      one.report(first, answer)
      await one.flush()
      await other.refresh()
      expect([await one.route(), await other.route()]).toEqual([first, first])
    }
  })

  test('whose worker is lost is given to another worker after a while', async () => {
    const [lost, other] = [worker([first]), worker([first])]
    lost.report(first, QUOTA)
    await later(lost, other)
    expect(await lost.route()).toBe(first)
    await other.refresh()
    expect(other.mayClaim()).toBe(0)
    shared.nowMs += 60_000
    await other.refresh()
    expect([other.mayClaim(), await other.route()]).toEqual([1, first])
  })

  test('may be a request about an unknown outcome', async () => {
    const breakers = worker()
    breakers.report(first, QUOTA)
    await later(breakers)
    expect([await breakers.named('ses'), await breakers.named('ses'), await breakers.route()]).toEqual([
      first,
      null,
      second,
    ])
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
