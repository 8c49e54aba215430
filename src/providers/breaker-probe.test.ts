import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { failure, first, QUOTA, REFUSED, SharedBreakers, second, THROTTLED } from '../../test/support/breakers.ts'
import { Breakers } from './breaker.ts'

let shared: SharedBreakers
const worker = (providers = [first, second]) => new Breakers(providers, shared, () => {}, pino({ level: 'silent' }))

beforeEach(() => {
  shared = new SharedBreakers(['ses', 'smtp'])
})

const MANY = Number.POSITIVE_INFINITY
/** A probe is due, and every worker has read the table. */
async function later(...workers: Breakers[]): Promise<void> {
  for (const one of workers) await one.flush()
  shared.nowMs += 1_000_000
  for (const one of workers) await one.refresh()
}

describe('the probe', () => {
  test('is granted to one worker, for one e-mail, when it is due', async () => {
    const workers = [worker([first]), worker([first]), worker([first])]
    workers[0]!.report(first, QUOTA)
    await workers[0]!.flush()
    for (const one of workers) await one.refresh()
    expect(
      workers.map(one => one.maxInFlight()),
      'not yet',
    ).toEqual([0, 0, 0])
    await later(...workers)
    expect(
      workers.map(one => one.maxInFlight()),
      'any of them may bring it',
    ).toEqual([1, 1, 1])
    expect(await Promise.all(workers.map(one => one.route()))).toEqual([first, null, null])
    expect(await workers[0]!.route(), 'one e-mail').toBeNull()
    expect(
      workers.map(one => one.maxInFlight()),
      'and no other before it has answered',
    ).toEqual([0, 0, 0])
  })

  test('is sent once to the parked provider, although another one works', async () => {
    const breakers = worker()
    breakers.report(first, QUOTA)
    await later(breakers)
    expect([await breakers.route(), await breakers.route(), breakers.maxInFlight()]).toEqual([first, second, MANY])
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
      expect([await breakers.route(), breakers.maxInFlight()]).toEqual([null, 0])
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
    expect(other.maxInFlight()).toBe(0)
    shared.nowMs += 60_000
    await other.refresh()
    expect([other.maxInFlight(), await other.route()]).toEqual([1, first])
  })

  test('whose e-mail does not call after all is given to the next one, and older calls are not taken for it', async () => {
    const [one, other] = [worker([first]), worker([first])]
    one.report(first, QUOTA)
    await later(one, other)
    expect(await one.route()).toBe(first)
    one.notCalled(first)
    one.report(first, THROTTLED)
    await one.flush()
    expect(shared.rows.get('ses')!.state, 'throttled is no proof that it works').toBe('open')
    await other.refresh()
    expect([other.maxInFlight(), await other.route()]).toEqual([1, first])
    one.notCalled(first)
    await one.flush()
    await one.refresh()
    expect(one.maxInFlight(), 'who has no probe cannot return it').toBe(0)
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
