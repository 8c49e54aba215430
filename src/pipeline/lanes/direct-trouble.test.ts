import { describe, expect, test, vi } from 'vitest'
import { laneOver, soon } from '../../../test/support/direct-lane.ts'

describe('leases', () => {
  test('a lease ends when the last of its batch is done', async () => {
    const { lane, wake, running, ended } = laneOver([1, 2])
    lane.start()
    await soon()
    running[0]!.finish()
    wake()
    await soon()
    expect(ended).toEqual([])
    running[1]!.finish()
    wake()
    await soon()
    expect(ended).toEqual(['of 1 2'])
  })

  test('an ended lease goes along with the next claim, or ends by itself when there is none', async () => {
    const ready = [1, 2, 3, 4]
    const { lane, running, asked } = laneOver(ready)
    lane.start()
    await soon()
    ready.push(5)
    for (const job of running.slice(0, 4)) job.finish()
    await soon()
    expect(asked.flatMap(one => one.endedLeases)).toEqual(['of 1 2 3 4'])
  })

  test('a claim that fails forgets no ended lease', async () => {
    let tries = 0
    const { lane, running, ended, batchOf } = laneOver([], {
      idleMs: 5,
      claim: async limits => {
        tries++
        if (tries === 1) return batchOf([1])
        if (tries < 5) throw new Error('no connection')
        ended.push(...limits.endedLeases)
        return null
      },
    })
    lane.start()
    await soon()
    running[0]!.finish()
    await new Promise(resolve => setTimeout(resolve, 60))
    expect(ended).toEqual(['of 1'])
  })

  test('a lease is renewed as long as there is work under it', async () => {
    const { lane, running, renewed } = laneOver([1], { renewEveryMs: 10 })
    lane.start()
    await vi.waitFor(() => expect(renewed.length).toBeGreaterThanOrEqual(2))
    running[0]!.finish()
    await soon()
    const soFar = renewed.length
    await new Promise(resolve => setTimeout(resolve, 40))
    expect(renewed).toHaveLength(soFar)
  })

  test('the lease of an e-mail whose attempt failed unexpectedly is left to expire, which returns the e-mail', async () => {
    const { lane, running, ended } = laneOver([1, 2])
    lane.start()
    await soon()
    running[0]!.fail(new Error('boom'))
    running[1]!.finish()
    await soon()
    await lane.stop()
    expect(ended).toEqual([])
  })
})

describe('trouble', () => {
  test('a throwing work item affects no other: the rest of its batch finishes, and its slot is free again', async () => {
    const { lane, running, names, logged } = laneOver([1, 2, 3, 4, 5])
    lane.start()
    await soon()
    running[0]!.fail(new Error('boom'))
    await soon()
    expect(names()).toEqual([1, 2, 3, 4, 5])
    expect(logged.join('')).toMatch(/boom/)
  })

  test('work that throws before it promised anything is caught too', async () => {
    const seen: number[] = []
    const { lane } = laneOver([1, 2, 3], {
      work: ({ email }) => {
        seen.push(email!)
        throw new Error('not even started')
      },
    })
    lane.start()
    await soon()
    expect(seen).toEqual([1, 2, 3])
  })

  test('e-mails that cannot be read after their claim are not worked on, keep their lease, and are no longer in flight', async () => {
    let claims = 0
    const { lane, wake, names, ended, batchOf } = laneOver([], {
      claim: async () => {
        if (++claims === 1) return { ...batchOf([1, 2, 3, 4]), emails: () => Promise.reject(new Error('gone')) }
        return claims === 2 ? batchOf([5]) : null
      },
    })
    lane.start()
    await soon()
    wake()
    await soon()
    expect(names()).toEqual([5])
    expect(ended).toEqual([])
  })

  test('what is somebody else’s by now comes without email, and its neighbours with theirs', async () => {
    const seen: (number | null)[] = []
    let claims = 0
    const { lane, batchOf } = laneOver([], {
      claim: async () => (++claims === 1 ? { ...batchOf([1, 2]), emails: async () => new Map([['2', 2]]) } : null),
      work: async ({ email }) => void seen.push(email),
    })
    lane.start()
    await soon()
    expect(seen).toEqual([null, 2])
  })

  test('a failing claim is logged and tried again', async () => {
    let tries = 0
    const { lane, names, logged, batchOf } = laneOver([], {
      idleMs: 5,
      claim: async () => {
        if (++tries < 3) throw new Error('no connection')
        return tries === 3 ? batchOf([1]) : null
      },
    })
    lane.start()
    await new Promise(resolve => setTimeout(resolve, 60))
    expect(names()).toEqual([1])
    expect(logged.filter(line => line.includes('no connection'))).toHaveLength(2)
  })

  test('claims that failed are returned: they may have been committed', async () => {
    const claimed: string[] = []
    const { lane, returned } = laneOver([], {
      idleMs: 5,
      claim: async ({ leaseId }) => {
        claimed.push(leaseId)
        if (claimed.length <= 2) throw new Error('no connection')
        return null
      },
    })
    lane.start()
    await vi.waitFor(() => expect(claimed.length).toBeGreaterThan(4))
    await vi.waitFor(() => expect(returned).toEqual(claimed.slice(0, 2)))
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

  test('a lease that cannot be ended is no reason to stop', async () => {
    const ready = [1]
    const { lane, wake, running, names } = laneOver(ready, { end: () => Promise.reject(new Error('no connection')) })
    lane.start()
    await soon()
    running[0]!.finish()
    await soon()
    ready.push(2)
    wake()
    await soon()
    expect(names()).toEqual([1, 2])
  })
})
