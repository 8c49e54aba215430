import { describe, expect, test } from 'vitest'
import { laneOver, soon } from '../../../test/support/direct-lane.ts'
import { Semaphore } from '../../platform/semaphores.ts'

describe('concurrency', () => {
  test('no more is claimed than there are slots and one ahead, and each slot that comes free is filled', async () => {
    const { lane, sizes, names, running } = laneOver([1, 2, 3, 4, 5, 6])
    lane.start()
    await soon()
    expect(names()).toEqual([1, 2, 3, 4])
    expect(sizes()).toEqual([4])
    running[1]!.finish()
    await soon()
    expect(names()).toEqual([1, 2, 3, 4, 5])
    expect(sizes()).toEqual([4, 1])
  })

  test('an e-mail is no longer in flight as soon as the provider has answered, though its outcome is still being written', async () => {
    const { lane, names, running } = laneOver([1, 2, 3, 4, 5, 6])
    lane.start()
    await soon()
    running[0]!.leaveFlight()
    running[0]!.leaveFlight()
    await soon()
    expect(names(), 'and only once').toEqual([1, 2, 3, 4, 5])
  })

  test('a database that is slow to write holds up the claims: no more than eight times the slots are unsettled', async () => {
    const { lane, running } = laneOver(Array.from({ length: 100 }, (_, index) => index))
    lane.start()
    for (let answered = 0; answered < 60; answered++) {
      await soon()
      running[answered]?.leaveFlight()
    }
    expect(running).toHaveLength(24)
  })

  test('never more than the bound are sending, whatever finishes when', async () => {
    const ready = Array.from({ length: 200 }, (_, index) => index)
    const semaphore = new Semaphore(7)
    let [now, most, done] = [0, 0, 0]
    const { lane } = laneOver(ready, {
      concurrency: 7,
      work: async ({ email, leaveFlight }) => {
        await semaphore.enter()
        most = Math.max(most, ++now)
        await new Promise(resolve => setTimeout(resolve, email! % 4))
        now--
        done++
        semaphore.leave()
        leaveFlight()
      },
    })
    lane.start()
    while (done < 200) await soon()
    expect(most).toBe(7)
  })

  test('while the providers are parked nothing is claimed; a probe is one', async () => {
    let allowed = 0
    const { lane, wake, names, running } = laneOver([1, 2, 3], { maxInFlight: () => allowed })
    lane.start()
    await soon()
    expect(names()).toEqual([])
    allowed = 1
    wake()
    await soon()
    wake()
    await soon()
    expect(names()).toEqual([1])
    running[0]!.finish()
    await soon()
    expect(names()).toEqual([1, 2])
  })

  test('starting twice is starting once', async () => {
    const { lane, sizes } = laneOver([])
    lane.start()
    lane.start()
    await soon()
    expect(sizes()).toEqual([4])
  })
})

describe('a company whose recipients hang', () => {
  const slow = Array.from({ length: 100 }, () => 0).map((_, index) => index)
  const companyOf = (name: number) => (name < 100 ? 'slow' : 'quick')

  test('does not fill the slots, and an e-mail of another company is sent as soon as it is ready', async () => {
    const ready = [...slow]
    const { lane, wake, names } = laneOver(ready, { concurrency: 10, companyOf })
    lane.start()
    await soon()
    expect(names()).toHaveLength(8)
    ready.push(100)
    wake()
    await soon()
    expect(names()).toContain(100)
  })

  test('goes on as its own slots come free, never with more than its share of them', async () => {
    const { lane, names, running } = laneOver([...slow], { concurrency: 10, companyOf })
    lane.start()
    await soon()
    for (const job of running.slice(0, 5)) job.finish()
    await soon()
    expect(names().length).toBeGreaterThanOrEqual(12)
    expect(names().length - 5).toBeLessThanOrEqual(9)
  })
})

describe('waking up', () => {
  test('a wake-up ends its sleep, long before it would look by itself', async () => {
    const ready: number[] = []
    const { lane, wake, names } = laneOver(ready)
    lane.start()
    await soon()
    ready.push(1)
    await soon()
    expect(names()).toEqual([])
    wake()
    await soon()
    expect(names()).toEqual([1])
  })

  test('a wake-up that comes while it looks is not lost', async () => {
    const ready: number[] = []
    let looks = 0
    const { lane, wake, names, batchOf } = laneOver([], {
      claim: async () => {
        const found = ready.splice(0)
        if (++looks === 1) {
          ready.push(1)
          wake()
        }
        await soon()
        return found.length > 0 ? batchOf(found) : null
      },
    })
    lane.start()
    await soon()
    await soon()
    await soon()
    expect(names()).toEqual([1])
  })

  test('without a wake-up it looks again after the idle time', async () => {
    const ready: number[] = []
    const { lane, names } = laneOver(ready, { idleMs: 10 })
    lane.start()
    await soon()
    ready.push(1)
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(names()).toEqual([1])
  })

  test('wake-ups while all slots are taken do not make it spin', async () => {
    const { lane, wake, sizes } = laneOver([1, 2, 3, 4, 5])
    lane.start()
    await soon()
    for (let times = 0; times < 100; times++) {
      wake()
      await Promise.resolve()
    }
    await soon()
    expect(sizes()).toEqual([4])
  })
})

describe('stopping', () => {
  test('waits for the work under way, ends its lease, and claims nothing more', async () => {
    const { lane, running, names, sizes, ended } = laneOver([1, 2, 3, 4, 5])
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
    expect(names()).toEqual([1, 2, 3, 4])
    expect(sizes()).toEqual([4])
    expect(ended).toEqual(['of 1 2 3 4'])
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
    const { lane, names, running, batchOf } = laneOver([], {
      claim: () =>
        new Promise(resolve => {
          give = () => resolve(batchOf([1]))
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
