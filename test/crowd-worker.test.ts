import { type Job, Queue, type WorkerOptions } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CrowdRedis } from '../src/sending/crowd-redis.ts'
import { CrowdWorker } from '../src/sending/crowd-worker.ts'
import { until } from './support/gateway.ts'
import { sleep } from './support/mail.ts'
import { type RedisServer, startRedis } from './support/redis-server.ts'

const NAME = 'crowd'
const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

let server: RedisServer
let redis: Redis
let queue: Queue
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url, { maxRetriesPerRequest: null })
  queue = new Queue(NAME, { connection: redis })
})
afterAll(async () => {
  await queue?.close()
  redis?.disconnect()
  await server?.close()
})
beforeEach(async () => void (await redis.flushall()))
afterEach(async () => void (await Promise.all(stops.splice(0).map(stop => stop()))))

type Crowd = {
  worker: CrowdWorker
  connection: Redis
  /** Jobs in hand now, each with the end that it waits for. */
  inFlight: Map<string, () => void>
  begun: string[]
  most: () => number
  errors: Error[]
  /** From now on jobs end when they begin. */
  letGo: () => void
  /** Those in hand break off. */
  fail: (error: Error) => void
}

/** A worker whose jobs stay in hand until the test lets them go. */
async function crowd(hands: number, options: Partial<WorkerOptions> = {}): Promise<Crowd> {
  const connection = new CrowdRedis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
  connection.on('error', () => {})
  const inFlight = new Map<string, () => void>()
  const failing = new Set<(error: Error) => void>()
  const begun: string[] = []
  const errors: Error[] = []
  let most = 0
  let free = false
  async function hold(job: Job): Promise<void> {
    begun.push(job.id!)
    const place = `${job.id}#${begun.length}`
    const ended = free
      ? Promise.resolve()
      : new Promise<void>((resolve, reject) => {
          inFlight.set(place, resolve)
          failing.add(reject)
        })
    if (free) inFlight.set(place, () => {})
    most = Math.max(most, inFlight.size)
    try {
      await ended
    } finally {
      inFlight.delete(place)
    }
  }
  const fail = (error: Error) => {
    for (const reject of failing) reject(error)
    failing.clear()
  }
  const letGo = () => {
    free = true
    for (const end of inFlight.values()) end()
  }
  const worker = new CrowdWorker(NAME, hold, {
    connection,
    runRetryDelay: 50,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
    ...options,
  })
  worker.hands = hands
  worker.on('error', error => errors.push(error))
  stops.push(async () => {
    letGo()
    await worker.close()
    connection.disconnect()
  })
  await worker.waitUntilReady()
  return { worker, connection, inFlight, begun, most: () => most, errors, letGo, fail }
}

const put = (count: number) =>
  queue.addBulk(many(count, index => ({ name: 'job', data: { index }, opts: { removeOnComplete: true } })))
const untilInFlight = (one: Crowd, count: number) =>
  until(
    async () => one.inFlight.size,
    size => size === count,
  )
const untilBegun = (one: Crowd, count: number) =>
  until(
    async () => one.begun.length,
    length => length >= count,
  )
const counts = () => queue.getJobCounts('wait', 'active', 'completed', 'failed')
const untilEmpty = () => until(counts, found => found.wait === 0 && found.active === 0)
const NOTHING = { wait: 0, active: 0, completed: 0, failed: 0 }
const untilListening = () =>
  until(
    async () => String(await redis.client('LIST')),
    clients => clients.includes('cmd=bzpopmin'),
  )
const isPending = async (promise: Promise<unknown>) =>
  (await Promise.race([promise.then(() => 'over'), sleep(150).then(() => 'pending')])) === 'pending'

describe('hands', () => {
  test('are all busy soon after a burst on an empty queue, and none waits for the last one to fill', async () => {
    const one = await crowd(50)
    await untilListening()
    await put(40)
    await untilInFlight(one, 40)
    await put(40)
    await untilInFlight(one, 50)
    expect(await counts()).toEqual({ ...NOTHING, active: 50, wait: 30 })
    one.letGo()
    await untilEmpty()
    expect([one.most(), new Set(one.begun).size]).toEqual([50, 80])
  })

  test('are never more than was said, whoever of them finds the next job', async () => {
    const one = await crowd(3)
    for (let burst = 0; burst < 60; burst++) {
      await put(3 + (burst % 3))
      await untilInFlight(one, 3)
      for (const end of [...one.inFlight.values()].slice(burst % 3)) end()
    }
    await untilInFlight(one, 3)
    expect(one.most()).toBe(3)
  })

  test('that become fewer take no further job before so many are free; that become more are busy at once', async () => {
    const one = await crowd(10)
    await put(60)
    await untilInFlight(one, 10)
    one.worker.hands = 4
    const ends = [...one.inFlight.values()]
    for (const end of ends.slice(0, 5)) end()
    await untilInFlight(one, 5)
    expect(await until(counts, found => found.active === 5)).toMatchObject({ wait: 50 })
    ends[5]!()
    await untilInFlight(one, 4)
    await sleep(100)
    expect([one.inFlight.size, one.begun.length]).toEqual([4, 10])
    ends[6]!()
    await untilBegun(one, 11)
    expect(one.inFlight.size).toBe(4)
    one.worker.hands = 20
    await untilInFlight(one, 20)
    expect(one.most()).toBe(20)
  })
})

describe('trouble', () => {
  test('a job whose lock is lost ends nothing, and is not run a second time while it is in hand', async () => {
    const one = await crowd(3, { lockDuration: 200, stalledInterval: 50, skipLockRenewal: true, maxStalledCount: 100 })
    const stalled: string[] = []
    one.worker.on('stalled', jobId => stalled.push(jobId))
    const [lost] = await put(1)
    await untilInFlight(one, 1)
    await until(
      async () => stalled.length,
      length => length > 0,
    )
    await untilEmpty()
    expect(one.begun).toEqual([lost!.id])
    one.letGo()
    await put(20)
    await untilEmpty()
    expect([one.begun.length, one.inFlight.size, one.worker.isRunning()]).toEqual([21, 0, true])
  })

  test('an error while a hand asks is told, and the hands go on', async () => {
    const one = await crowd(5)
    await untilListening()
    const moved = one.worker as unknown as { moveToActive: (token: string, name?: string) => Promise<Job | undefined> }
    const ask = moved.moveToActive.bind(one.worker)
    let refused = 0
    moved.moveToActive = async (token, name) => {
      if (token.includes(':hand:') && refused++ < 3) throw new Error('OOM command not allowed')
      return ask(token, name)
    }
    await put(30)
    await untilInFlight(one, 5)
    expect(one.errors.map(error => error.message)).toEqual(many(3, () => 'OOM command not allowed'))
    one.letGo()
    await untilEmpty()
    expect([one.begun.length, one.most()]).toEqual([30, 5])
  })

  test('connections that are cut while hands ask, work and listen are made again, and every job is run', async () => {
    const one = await crowd(5, { lockDuration: 500, stalledInterval: 200, maxStalledCount: 100 })
    await untilListening()
    for (let cut = 0; cut < 6; cut++) {
      const added = put(20)
      await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await added
      for (const end of one.inFlight.values()) end()
    }
    one.letGo()
    await untilEmpty()
    expect(new Set(one.begun).size).toBe(120)
    expect([one.most() <= 5, one.worker.isRunning()]).toEqual([true, true])
  })

  test('a job that fails is told, is gone, and its hand takes the next one', async () => {
    const failed: [string, string][] = []
    const one = await crowd(1)
    one.worker.on('failed', (job, error) => failed.push([job!.id!, error.message]))
    const [first, second] = await put(2)
    await untilInFlight(one, 1)
    one.fail(new Error('broke off'))
    await untilBegun(one, 2)
    expect([failed, one.begun]).toEqual([[[first!.id, 'broke off']], [first!.id, second!.id]])
    one.letGo()
    await untilEmpty()
    expect([await counts(), one.errors]).toEqual([NOTHING, []])
  })

  test('a job that stalled too often for BullMQ is run all the same: what it is worth, the database says', async () => {
    const [job] = await put(1)
    await redis.hset(queue.toKey(job!.id!), 'defa', 'job stalled more than allowable limit')
    const one = await crowd(1)
    one.letGo()
    await untilEmpty()
    expect([one.begun, one.errors]).toEqual([[job!.id], []])
  })

  test('a job that is gone when it ends is told as an error, and the hands go on', async () => {
    const one = await crowd(2)
    await put(2)
    await untilInFlight(one, 2)
    await redis.flushall()
    one.letGo()
    await until(
      async () => one.errors.length,
      length => length === 2,
    )
    expect(one.errors.every(error => /Missing key/.test(error.message))).toBe(true)
    await put(20)
    await untilEmpty()
    expect(one.begun.length).toBe(22)
  })

  test('a job that is no JSON comes out empty, and is gone afterwards', async () => {
    const heard: [unknown, unknown][] = []
    const [garbled, next] = await queue.addBulk(many(2, index => ({ name: 'job', data: { index } })))
    await redis.hset(queue.toKey(garbled!.id!), 'data', '{"index":')
    const one = await crowd(2)
    one.worker.on('completed', job => heard.push([job.id, job.data]))
    one.letGo()
    await until(
      async () => heard.length,
      length => length === 2,
    )
    expect(new Map(heard)).toEqual(
      new Map<unknown, unknown>([
        [garbled!.id, null],
        [next!.id, { index: 1 }],
      ]),
    )
    expect(await redis.exists(queue.toKey(garbled!.id!))).toBe(0)
    expect(one.errors).toEqual([])
  })
})

describe('closing', () => {
  test('while the worker listens ends at once', async () => {
    const one = await crowd(5)
    await untilListening()
    await one.worker.close()
    await put(3)
    await sleep(100)
    expect([one.begun, await counts()]).toEqual([[], { ...NOTHING, wait: 3 }])
  })

  test('while hands ask leaves nothing in hand: what they were given is done, the rest stays on the queue', async () => {
    for (let time = 0; time < 30; time++) {
      await redis.flushall()
      const one = await crowd(20)
      one.letGo()
      if (time % 2 === 0) await untilListening()
      const added = put(30)
      if (time % 3 === 0) await added
      await sleep(time % 5)
      await one.worker.close()
      await added
      const { wait, ...others } = await counts()
      expect(others).toEqual({ active: 0, completed: 0, failed: 0 })
      expect(new Set(one.begun).size + wait!).toBe(30)
    }
  })

  test('while all hands are busy waits for them, and takes nothing more', async () => {
    const one = await crowd(4)
    await put(10)
    await untilInFlight(one, 4)
    const closings = [one.worker.close(), one.worker.close()]
    expect(await isPending(Promise.race(closings))).toBe(true)
    const ends = [...one.inFlight.values()]
    for (const end of ends.slice(0, 3)) end()
    expect(await isPending(Promise.race(closings))).toBe(true)
    ends[3]!()
    await Promise.all(closings)
    expect([one.begun.length, await counts()]).toEqual([4, { ...NOTHING, wait: 6 }])
  })

  test('by force waits for nobody; what was in hand comes to the next worker when its lock is over', async () => {
    const locks = { lockDuration: 300, stalledInterval: 100, maxStalledCount: 100 }
    const one = await crowd(4, locks)
    await put(6)
    await untilInFlight(one, 4)
    await one.worker.close(true)
    expect(one.inFlight.size).toBe(4)
    one.letGo()
    expect(await counts()).toEqual({ ...NOTHING, active: 4, wait: 2 })
    const next = await crowd(4, locks)
    next.letGo()
    await untilEmpty()
    expect([one.begun.length, next.begun.length]).toEqual([4, 6])
  })

  test('by force while hands ask begins no job afterwards', async () => {
    for (let time = 0; time < 20; time++) {
      await redis.flushall()
      const one = await crowd(20)
      await untilListening()
      await put(15)
      await sleep(time % 3)
      await one.worker.close(true)
      const begun = one.begun.length
      await sleep(20)
      expect(one.begun.length).toBe(begun)
      one.letGo()
    }
  })
})
