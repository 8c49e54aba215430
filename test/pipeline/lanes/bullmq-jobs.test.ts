import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { BULLMQ_QUEUE_NAME, EMAIL_JOB_CONFIG } from '../../../src/outbox/job.ts'
import { BullmqLane, type BullmqLaneOptions, type PoisonJob } from '../../../src/pipeline/lanes/bullmq.ts'
import type { Feeder } from '../../../src/pipeline/lanes/feeder.ts'
import { HeldLeases } from '../../../src/pipeline/lanes/held-leases.ts'
import { jobQueue, UnreadableJobs } from '../../../src/pipeline/lanes/job-queue.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { until } from '../../support/gateway.ts'
import { jobData } from '../../support/job-data.ts'
import { sleep } from '../../support/mail.ts'
import { startRedis } from '../../support/redis-server.ts'

const log = pino({ level: 'silent' })
const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

const closers: (() => Promise<void>)[] = []
afterAll(() => Promise.all(closers.map(close => close())))

/** A queue on a Redis of its own. */
async function startQueue() {
  const server = await startRedis()
  const redis = new Redis(server.url, { maxRetriesPerRequest: null }).on('error', () => {})
  const queue = new Queue(BULLMQ_QUEUE_NAME, { connection: redis })
  async function close(): Promise<void> {
    await queue.close()
    redis.disconnect()
  }
  closers.push(async () => {
    await close()
    await server.close()
  })
  return {
    server,
    redis,
    bullmq: queue,
    close,
    add: (outboxId: string) => queue.add(EMAIL_JOB_CONFIG.QUEUE_NAME, jobData(outboxId), { jobId: outboxId }),
    jobs: () => queue.getJobs(['wait', 'active']),
  }
}

type TestQueue = Awaited<ReturnType<typeof startQueue>>

/** A lane whose e-mails need no Postgres; their leases are named after them. */
function bareLane(
  { server, bullmq: queue }: TestQueue,
  work: BullmqLaneOptions<null>['work'],
  feeder: Partial<Feeder> = {},
) {
  const ended: string[] = []
  const poisoned: PoisonJob[] = []
  const left: string[] = []
  const leases = new HeldLeases({
    renew: async () => {},
    end: async list => void ended.push(...list),
    returnUncertain: async () => {},
    renewEveryMs: 60_000,
    log,
  })
  const connection = new Redis(server.url, { maxRetriesPerRequest: null }).on('error', () => {})
  const lane = new BullmqLane<null>({
    connection,
    concurrency: 2,
    feeder: {
      start() {},
      wake() {},
      askedForLease() {},
      jobEnded: (jobId: string) => left.push(jobId),
      stop: async () => {},
      ...feeder,
    } as unknown as Feeder,
    unreadableJobs: new UnreadableJobs({
      queue,
      dropped: jobId => poisoned.push({ jobId, reason: 'garbled' }),
      checkEveryMs: 100,
    }),
    async lease(outboxId) {
      leases.track(`of ${outboxId}`, 1)
      return { kind: 'taken', leaseId: `of ${outboxId}`, email: null }
    },
    work,
    leases,
    reportPoison: job => poisoned.push(job),
    log,
  })
  const stop = async () => {
    await lane.stop()
    return ended
  }
  return { start: () => lane.start(), stop, connection, poisoned, left }
}

/** Work that lasts until `finish` is called. */
function heldWork() {
  const started: string[] = []
  const finishers: (() => void)[] = []
  return {
    started,
    finish: () => finishers.splice(0).forEach(finish => void finish()),
    work: ({ outboxId }: { outboxId: string }) =>
      new Promise<void>(resolve => {
        started.push(outboxId)
        finishers.push(resolve)
      }),
  }
}
const untilLength = (list: unknown[], length: number, patienceMs?: number) =>
  until(
    async () => list.length,
    found => found >= length,
    patienceMs,
  )

// Most of their time they wait for BullMQ, so they wait together, each with a Redis of its own.
describe.concurrent('jobs in the BullMQ lane', () => {
  test('a work item that throws affects no other: the rest of its batch is done, its lease is left to run out, its job is gone', async () => {
    const queue = await startQueue()
    const ids = many(6, () => uuidv7())
    const done: string[] = []
    const lane = bareLane(queue, async ({ outboxId }) => {
      if (outboxId === ids[1]) throw new Error('boom')
      done.push(outboxId)
    })
    for (const id of ids) await queue.add(id)
    lane.start()
    await untilLength(done, 5)
    await until(queue.jobs, list => list.length === 0)
    const others = ids.filter(id => id !== ids[1])
    expect((await lane.stop()).toSorted()).toEqual(others.map(id => `of ${id}`).toSorted())
    expect(done.toSorted()).toEqual(others.toSorted())
    expect(lane.left.toSorted(), 'the window has room again for all of them').toEqual(ids.toSorted())
  })

  test('a stop waits for what is in flight, and takes nothing more', async () => {
    const queue = await startQueue()
    const ids = many(6, () => uuidv7())
    const held = heldWork()
    const lane = bareLane(queue, held.work)
    for (const id of ids) await queue.add(id)
    lane.start()
    await untilLength(held.started, 2)
    let stopped = false
    const stopping = lane.stop().finally(() => {
      stopped = true
    })
    await sleep(100)
    expect(stopped).toBe(false)
    held.finish()
    expect((await stopping).toSorted()).toEqual(ids.slice(0, 2).map(id => `of ${id}`))
    expect([held.started.length, (await queue.bullmq.getRanges(['active'], 0, -1)).length]).toEqual([2, 0])
  })

  test('a stop of which a part fails waits for what is in flight all the same, and ends its leases', async () => {
    const queue = await startQueue()
    const id = uuidv7()
    const held = heldWork()
    const lane = bareLane(queue, held.work, { stop: () => Promise.reject(new Error('boom')) })
    await queue.add(id)
    lane.start()
    await untilLength(held.started, 1)
    const stopping = lane.stop()
    await sleep(100)
    held.finish()
    expect(await stopping).toEqual([`of ${id}`])
  })

  test('a stop leaves in the queue what it does not finish, also what was being fetched', async () => {
    const queue = await startQueue()
    const ids = many(300, () => uuidv7())
    const done: string[] = []
    const lane = bareLane(queue, async ({ outboxId }) => void done.push(outboxId))
    await queue.bullmq.addBulk(
      ids.map(id => ({ name: EMAIL_JOB_CONFIG.QUEUE_NAME, data: jobData(id), opts: { jobId: id } })),
    )
    lane.start()
    await untilLength(done, 20)
    await lane.stop()
    const waiting = await queue.bullmq.getRanges(['wait'], 0, -1)
    expect(waiting.length).toBeGreaterThan(0)
    expect([...done, ...waiting].toSorted()).toEqual(ids.toSorted())
  })

  test('a stop while Redis is away finishes what is in flight and does not wait for Redis', async () => {
    const queue = await startQueue()
    const held = heldWork()
    const lane = bareLane(queue, held.work)
    const id = uuidv7()
    await queue.add(id)
    lane.start()
    await untilLength(held.started, 1)
    await queue.close()
    // Not events.once, which rejects when an error event comes first.
    const noticed = new Promise(resolve => lane.connection.once('reconnecting', resolve))
    await queue.server.kill()
    await noticed
    const stopping = lane.stop()
    held.finish()
    const startedMs = performance.now()
    expect(await stopping).toEqual([`of ${id}`])
    expect(performance.now() - startedMs).toBeLessThan(4_000)
  })

  test('a job that comes again while it is in flight, because its lock was lost, is not run a second time', async () => {
    const queue = await startQueue()
    const id = uuidv7()
    const held = heldWork()
    const lane = bareLane(queue, held.work)
    await queue.add(id)
    lane.start()
    await untilLength(held.started, 1)
    await queue.redis.flushall()
    await queue.add(id)
    await until(queue.jobs, list => list.length === 0)
    held.finish()
    const next = uuidv7()
    await queue.add(next)
    await untilLength(held.started, 2)
    held.finish()
    expect(held.started).toEqual([id, next])
    expect((await lane.stop()).toSorted()).toEqual([`of ${id}`, `of ${next}`])
  })

  test('a job that a lost worker left is run by the next one when its lock is over', async () => {
    const queue = await startQueue()
    const id = uuidv7()
    await queue.add(id)
    const dead = new Worker(BULLMQ_QUEUE_NAME, null, { connection: queue.redis, lockDuration: 500 })
    expect((await dead.getNextJob('its token'))?.id).toBe(id)
    await dead.close(true)
    const done: string[] = []
    const lane = bareLane(queue, async ({ outboxId }) => void done.push(outboxId))
    lane.start()
    // BullMQ looks for stalled jobs every ten seconds, and moves what it finds a second time.
    await untilLength(done, 1, 25_000)
    await lane.stop()
    expect([done, await queue.jobs()]).toEqual([[id], []])
  })

  test('a job that is no JSON is dropped as poison, and its neighbours go on meanwhile', async () => {
    const queue = await startQueue()
    const [broken, badOptions] = [uuidv7(), uuidv7()]
    await queue.add(broken)
    await queue.add(badOptions)
    await queue.redis.hset(queue.bullmq.toKey(broken), 'data', '{"outboxId":')
    await queue.redis.hset(queue.bullmq.toKey(badOptions), 'opts', '{"')
    const done: string[] = []
    const lane = bareLane(queue, async ({ outboxId }) => void done.push(outboxId))
    lane.start()
    await until(
      () => queue.bullmq.getRanges(['active'], 0, -1),
      active => active.length === 2,
    )
    const neighbours = many(20, () => uuidv7())
    for (const id of neighbours) await queue.add(id)
    await untilLength(done, 20)
    await untilLength(lane.poisoned, 2, 40_000)
    expect(await queue.bullmq.getRanges(['wait', 'active'], 0, -1)).toEqual([])
    expect(lane.poisoned.map(job => job.jobId).toSorted()).toEqual([broken, badOptions].toSorted())
    await queue.add(broken)
    await untilLength(done, 21)
    expect((await lane.stop()).length, 'a sound job of that name is run').toBe(21)
  })
})

describe('the queue that the feeder and the search for unreadable jobs share', () => {
  const listeners = (redis: Redis) => redis.eventNames().reduce((count, event) => count + redis.listenerCount(event), 0)

  test('is opened once, however many need it first, and leaves nothing behind when it is closed', async () => {
    const { server } = await startQueue()
    const redis = new Redis(server.url)
    await redis.ping()
    const before = listeners(redis)
    const opened = async (uses: number) => {
      const queue = jobQueue(redis, log)
      await Promise.all(many(uses, () => queue.getRanges(['wait'], 0, -1)))
      const added = listeners(redis) - before
      await queue.close()
      expect(listeners(redis)).toBe(before)
      return added
    }
    expect(await opened(3)).toBe(await opened(1))
    redis.disconnect()
  })

  test('is opened anew after it could not be opened', async () => {
    const { server, close } = await startQueue()
    await close()
    await server.kill()
    const redis = new Redis(server.url, {
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      retryStrategy: () => 20,
    }).on('error', () => {})
    const queue = jobQueue(redis, log)
    const failed = await Promise.allSettled(many(2, () => queue.getRanges(['wait'], 0, -1)))
    expect(failed.map(one => one.status)).toEqual(['rejected', 'rejected'])
    await server.start()
    expect(
      await until(
        () => queue.getRanges(['wait'], 0, -1).catch(() => null),
        found => found !== null,
      ),
    ).toEqual([])
    await queue.close()
    redis.disconnect()
  })
})
