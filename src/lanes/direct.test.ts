import { pino } from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { DirectLane, type DirectLaneOptions } from './direct.ts'

const NEVER_MS = 60_000
const soon = () => new Promise(resolve => setTimeout(resolve, 5))

type Job = { name: number; finish: () => void; fail: (error: Error) => void }

/** A lane over a plain array, whose work ends when the test says so. */
function laneOver(ready: number[], options: Partial<DirectLaneOptions<number>> = {}) {
  const asked: number[] = []
  const running: Job[] = []
  const ended: number[][] = []
  const renewed: number[][] = []
  const logged: string[] = []
  const lane = new DirectLane<number>({
    claim: async size => {
      asked.push(size)
      const items = ready.splice(0, size)
      return {
        items,
        end: async () => void ended.push(items),
        renew: async () => void renewed.push(items),
      }
    },
    work: name => new Promise((resolve, reject) => running.push({ name, finish: resolve, fail: reject })),
    concurrency: 3,
    renewEveryMs: NEVER_MS,
    idleMs: NEVER_MS,
    log: pino({ level: 'trace' }, { write: line => void logged.push(line) }),
    ...options,
  })
  opened.push({ lane, running })
  return { lane, asked, running, ended, renewed, logged, names: () => running.map(job => job.name) }
}

const opened: { lane: DirectLane<number>; running: Job[] }[] = []

afterEach(async () => {
  for (const { lane, running } of opened.splice(0)) {
    const stopped = lane.stop()
    await soon()
    for (const job of running) job.finish()
    await stopped
  }
})

describe('concurrency', () => {
  test('no more is claimed than there are free hands', async () => {
    const { lane, asked, names, running } = laneOver([1, 2, 3, 4, 5])
    lane.start()
    await soon()
    expect(names()).toEqual([1, 2, 3])
    expect(asked[0]).toBe(3)
    running[1]!.finish()
    await soon()
    expect(names()).toEqual([1, 2, 3, 4])
    expect(asked[1]).toBe(1)
  })

  test('never more than the bound are under way, whatever finishes when', async () => {
    const ready = Array.from({ length: 200 }, (_, index) => index)
    let [now, most, done] = [0, 0, 0]
    const { lane } = laneOver(ready, {
      concurrency: 7,
      work: async item => {
        most = Math.max(most, ++now)
        await new Promise(resolve => setTimeout(resolve, item % 4))
        now--
        done++
      },
    })
    lane.start()
    while (done < 200) await soon()
    expect(most).toBe(7)
  })

  test('starting twice is starting once', async () => {
    const { lane, asked } = laneOver([])
    lane.start()
    lane.start()
    await soon()
    expect(asked).toEqual([3])
  })
})

describe('waking up', () => {
  test('a nudge wakes it, long before it would look by itself', async () => {
    const ready: number[] = []
    const { lane, names } = laneOver(ready)
    lane.start()
    await soon()
    ready.push(1)
    await soon()
    expect(names()).toEqual([])
    lane.nudge()
    await soon()
    expect(names()).toEqual([1])
  })

  test('a nudge that comes while it looks is not lost', async () => {
    const ready: number[] = []
    let looks = 0
    const { lane, names } = laneOver([], {
      claim: async size => {
        const items = ready.splice(0, size)
        if (++looks === 1) {
          ready.push(1)
          lane.nudge()
        }
        await soon()
        return { items, end: async () => {}, renew: async () => {} }
      },
    })
    lane.start()
    await soon()
    await soon()
    await soon()
    expect(names()).toEqual([1])
  })

  test('without a nudge it looks again after the idle time', async () => {
    const ready: number[] = []
    const { lane, names } = laneOver(ready, { idleMs: 10 })
    lane.start()
    await soon()
    ready.push(1)
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(names()).toEqual([1])
  })

  test('nudges while all hands are full do not make it spin', async () => {
    const { lane, asked } = laneOver([1, 2, 3, 4])
    lane.start()
    await soon()
    for (let times = 0; times < 100; times++) {
      lane.nudge()
      await Promise.resolve()
    }
    await soon()
    expect(asked).toEqual([3])
  })
})

describe('stopping', () => {
  test('waits for the work under way, ends its lease, and claims nothing more', async () => {
    const { lane, running, names, asked, ended } = laneOver([1, 2, 3, 4, 5])
    lane.start()
    await soon()
    let stopped = false
    const stopping = lane.stop().then(() => {
      stopped = true
    })
    await soon()
    expect(stopped).toBe(false)
    for (const job of running) job.finish()
    await stopping
    expect(names()).toEqual([1, 2, 3])
    expect(asked).toEqual([3])
    expect(ended).toEqual([[1, 2, 3]])
  })

  test('is quick when there is nothing to do', async () => {
    const { lane } = laneOver([])
    lane.start()
    await soon()
    const started = performance.now()
    await lane.stop()
    expect(performance.now() - started).toBeLessThan(1000)
  })

  test('of a lane that was never started is fine', async () => {
    await laneOver([1]).lane.stop()
  })

  test('what was being claimed at that moment is still worked on, not forgotten', async () => {
    let give = () => {}
    const { lane, names, running } = laneOver([], {
      claim: () =>
        new Promise(resolve => {
          give = () => resolve({ items: [1], end: async () => {}, renew: async () => {} })
        }),
    })
    lane.start()
    const stopping = lane.stop()
    give()
    await soon()
    expect(names()).toEqual([1])
    running[0]!.finish()
    await stopping
  })
})

describe('leases', () => {
  test('a lease ends when the last of its batch is done', async () => {
    const { lane, running, ended } = laneOver([1, 2])
    lane.start()
    await soon()
    running[0]!.finish()
    await soon()
    expect(ended).toEqual([])
    running[1]!.finish()
    await soon()
    expect(ended).toEqual([[1, 2]])
  })

  test('a lease is renewed as long as there is work under it', async () => {
    const { lane, running, renewed } = laneOver([1], { renewEveryMs: 10 })
    lane.start()
    await new Promise(resolve => setTimeout(resolve, 60))
    expect(renewed.length).toBeGreaterThanOrEqual(2)
    running[0]!.finish()
    await soon()
    const soFar = renewed.length
    await new Promise(resolve => setTimeout(resolve, 40))
    expect(renewed).toHaveLength(soFar)
  })
})

describe('trouble', () => {
  test('a throwing work item harms nobody: its neighbours finish, its hand is free again', async () => {
    const { lane, running, names, logged } = laneOver([1, 2, 3, 4])
    lane.start()
    await soon()
    running[0]!.fail(new Error('boom'))
    await soon()
    expect(names()).toEqual([1, 2, 3, 4])
    expect(logged.join('')).toMatch(/boom/)
  })

  test('work that throws before it promised anything is caught too', async () => {
    const seen: number[] = []
    const { lane } = laneOver([1, 2, 3], {
      work: item => {
        seen.push(item)
        throw new Error('not even started')
      },
    })
    lane.start()
    await soon()
    expect(seen).toEqual([1, 2, 3])
  })

  test('a failing claim is logged and tried again', async () => {
    let tries = 0
    const { lane, names, logged } = laneOver([], {
      idleMs: 5,
      claim: async () => {
        if (++tries < 3) throw new Error('no connection')
        return { items: tries === 3 ? [1] : [], end: async () => {}, renew: async () => {} }
      },
    })
    lane.start()
    await new Promise(resolve => setTimeout(resolve, 60))
    expect(names()).toEqual([1])
    expect(logged.filter(line => line.includes('no connection'))).toHaveLength(2)
  })

  test('a claim that keeps failing does not spin', async () => {
    let tries = 0
    const { lane } = laneOver([], {
      idleMs: 20,
      claim: async () => {
        tries++
        throw new Error('no connection')
      },
    })
    lane.start()
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(tries).toBeLessThan(10)
  })

  test('a lease that cannot be renewed or ended is no reason to stop', async () => {
    const broken = () => Promise.reject(new Error('no connection'))
    let claims = 0
    const { lane, running, names } = laneOver([], {
      renewEveryMs: 5,
      concurrency: 1,
      claim: async () => ({ items: claims++ < 2 ? [claims] : [], end: broken, renew: broken }),
    })
    lane.start()
    await new Promise(resolve => setTimeout(resolve, 30))
    running[0]!.finish()
    await soon()
    expect(names()).toEqual([1, 2])
  })
})
