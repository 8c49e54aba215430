import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BULLMQ_QUEUE_NAME, EMAIL_JOB_CONFIG } from '../../src/contracts/job.ts'
import { uuidv7 } from '../../src/contracts/uuid.ts'
import { pauseCompany } from '../../src/db/companies/companies.ts'
import { listCounters } from '../../src/db/counters.ts'
import { notifyProcesses } from '../../src/db/notifications.ts'
import { WakeableSleep } from '../../src/runtime/wakeable-sleep.ts'
import { BullmqLane, type BullmqLaneOptions, type PoisonJob } from '../../src/sending/bullmq-lane.ts'
import { Feeder } from '../../src/sending/feeder.ts'
import { FeederElection } from '../../src/sending/feeder-election.ts'
import { HeldLeases } from '../../src/sending/held-leases.ts'
import { QueueWindow } from '../../src/sending/queue-window.ts'
import { UnreadableJobs } from '../../src/sending/unreadable-jobs.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { type HoldingResend, startHoldingResend } from '../support/holding-resend.ts'
import { accept, CLEAN_LINE, type DraftChange, draft, forgotten, storyOf, typesOf } from '../support/line.ts'
import { rows, sleep } from '../support/mail.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { startWorker, type TestWorker } from '../support/worker.ts'

const log = pino({ level: 'silent' })
const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

let server: RedisServer
let redis: Redis
let queue: Queue
let resend: HoldingResend
let api: TestGateway
const workers: TestWorker[] = []

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url, { maxRetriesPerRequest: null })
  queue = new Queue(BULLMQ_QUEUE_NAME, { connection: redis })
  resend = await startHoldingResend()
  api = await startTestGateway({ role: 'api' })
})
afterAll(async () => {
  await api?.stop()
  await resend?.close()
  await queue?.close()
  redis?.disconnect()
  await server?.close()
})
beforeEach(async () => {
  resend.hold()
  await redis.flushall()
  await api.db.pool.query(CLEAN_LINE)
})
afterEach(async () => {
  resend.release()
  await Promise.all(workers.splice(0).map(one => one.stop()))
  expect(await forgotten(api.db.pool), 'e-mails that nothing would ever wake').toEqual([])
})

async function work(env: Record<string, string> = {}): Promise<TestWorker> {
  const worker = await startWorker(api, { REDIS_URL: server.url, ...resend.env, ...env })
  workers.push(worker)
  return worker
}
async function put(count: number, change: DraftChange = {}, paused = false): Promise<string[]> {
  const { companyId } = await api.company()
  if (paused) await pauseCompany(api.db.pool, companyId, 'test')
  const ids = await accept(
    api.db.pool,
    many(count, () => draft(companyId, { html: null, text: 'Hi', ...change })),
  )
  await notifyProcesses(api.db.pool, 'email_ready', 'another process')
  return ids
}
const statuses = async (ids: string[]): Promise<string[]> =>
  (await rows(api, 'select status from email_outbox where outbox_id = any($1)', [ids])).map(row => row.status)
const untilAll = (ids: string[], status: string) =>
  until(
    () => statuses(ids),
    all => all.every(one => one === status),
  )
const arrived = (ids: string[]) => resend.arrived.map(one => one.outboxId).filter(id => ids.includes(id))
const jobsOf = () => queue.getJobs(['wait', 'active'])
const dataOf = (outboxId: string, change: object = {}) => ({
  outboxId,
  companyId: uuidv7(),
  requestId: 'r-1',
  htmlRef: outboxId,
  attempt: 1,
  enqueuedAt: new Date().toISOString(),
  ...change,
})
const add = (jobId: string, data: unknown) => queue.add(EMAIL_JOB_CONFIG.QUEUE_NAME, data, { jobId })
const poison = async () => (await listCounters(api.db.pool)).filter(one => one.name === 'poison_jobs')

/** A worker of concurrency 1 with a call that lasts until released, and two or more e-mails of other companies behind it in the queue. */
async function behindASlowCall(count: number): Promise<{ slow: string; waiting: string[] }> {
  await work({ WORKER_CONCURRENCY: '1' })
  const [slow] = await put(1, { to: 'slow@example.com' })
  await until(
    async () => arrived([slow!]),
    list => list.length === 1,
  )
  const waiting = (await Promise.all(many(count, () => put(1)))).flat()
  await until(jobsOf, jobs => jobs.length >= 3)
  return { slow: slow!, waiting }
}

describe('what travels', () => {
  test('is identifiers only, one job for each e-mail, and nothing stays behind', async () => {
    const { slow, waiting } = await behindASlowCall(2)
    const jobs = await until(jobsOf, list => list.length >= 2)
    for (const { name, id, data, opts } of jobs) {
      expect(name).toBe('email:send')
      expect(Object.keys(data).toSorted()).toEqual(Object.keys(dataOf('')).toSorted())
      expect([data.outboxId, data.htmlRef]).toEqual([id, id])
      expect(opts).toMatchObject({ attempts: 1 })
    }
    expect((await redis.keys('*')).join(' ') + JSON.stringify(jobs)).not.toMatch(/example\.com|Hello|Hi/)
    resend.release()
    await untilAll([slow, ...waiting], 'SENT')
    await until(jobsOf, list => list.length === 0)
    expect(await queue.getJobCounts('completed', 'failed', 'delayed')).toEqual({ completed: 0, failed: 0, delayed: 0 })
  })

  test('is a small window, however long the backlog', async () => {
    await work({ WORKER_CONCURRENCY: '4' })
    const ids = (await Promise.all(many(3, () => put(40, { to: 'slow@example.com' })))).flat()
    await until(
      async () => arrived(ids),
      list => list.length === 4,
    )
    await sleep(300)
    expect((await jobsOf()).length).toBeLessThanOrEqual(12)
    resend.release()
    await untilAll(ids, 'SENT')
  })
})

describe('a job only says "look at this e-mail"', () => {
  test('garbage, a foreign job and a job without an e-mail are counted and dropped, and harm no neighbour', async () => {
    await add('not-one-of-ours', { hello: 'world' })
    await add('empty', {})
    const mismatched = uuidv7()
    await add(mismatched, dataOf(uuidv7()))
    const unknown = uuidv7()
    await add(unknown, dataOf(unknown))
    const [shouted] = await put(1, {}, true)
    await add(shouted!.toUpperCase(), dataOf(shouted!.toUpperCase()))
    await work()
    const ids = await put(10)
    await untilAll(ids, 'SENT')
    await until(poison, counted => counted.reduce((sum, one) => sum + one.value, 0) === 5)
    expect(await poison()).toEqual([
      { name: 'poison_jobs', label: 'garbled', value: 3 },
      { name: 'poison_jobs', label: 'no-such-email', value: 2 },
    ])
    expect(await jobsOf()).toEqual([])
    expect(arrived(ids).toSorted()).toEqual(ids.toSorted())
  })

  test('a job that was added twice, by us and by a stranger, sends once', async () => {
    const { waiting } = await behindASlowCall(3)
    for (const id of waiting) await add(id, dataOf(id, { requestId: 'again' }))
    resend.release()
    await untilAll(waiting, 'SENT')
    await until(jobsOf, list => list.length === 0)
    expect(arrived(waiting).toSorted()).toEqual(waiting.toSorted())
    for (const id of waiting)
      expect(typesOf(await storyOf(api.db.pool, id)).filter(type => type === 'SENT')).toEqual(['SENT'])
  })

  test('a job for an e-mail that is sent, cancelled, not due or in line itself does nothing', async () => {
    await work()
    const [sent] = await put(1)
    await untilAll([sent!], 'SENT')
    const [cancelled, later] = [...(await put(1, { delayMs: 600_000 })), ...(await put(1, { delayMs: 600_000 }))]
    await rows(api, `update email_outbox set status = 'CANCELLED', next_attempt_at = null where outbox_id = $1`, [
      cancelled,
    ])
    await rows(api, 'delete from email_scheduled where outbox_id = $1', [cancelled])
    const [inLine] = await put(1, {}, true)
    const stale = [sent!, cancelled!, later!, inLine!]
    for (const id of stale) await add(id, dataOf(id))
    await until(jobsOf, list => list.length === 0)
    await sleep(100)
    expect(arrived(stale)).toEqual([sent])
    expect(await Promise.all(stale.map(async id => (await storyOf(api.db.pool, id)).email.status))).toEqual([
      'SENT',
      'CANCELLED',
      'PENDING',
      'PENDING',
    ])
    expect(await poison()).toEqual([])
  })

  test('jobs removed behind our back are made again, and every e-mail is sent once', async () => {
    const { waiting } = await behindASlowCall(6)
    // BullMQ does not remove a job that a worker has taken by now.
    await Promise.allSettled((await queue.getJobs(['wait'])).map(job => job.remove()))
    resend.release()
    await untilAll(waiting, 'SENT')
    expect(arrived(waiting).toSorted()).toEqual(waiting.toSorted())
  })

  test('FLUSHALL in the middle loses nothing and sends nothing twice', async () => {
    await work({ WORKER_CONCURRENCY: '5' })
    const ids = (await Promise.all(many(4, () => put(50)))).flat()
    for (let time = 0; time < 3; time++) {
      await until(
        async () => arrived(ids),
        list => list.length > 30 * (time + 1),
      )
      await redis.flushall()
    }
    await untilAll(ids, 'SENT')
    expect(arrived(ids).toSorted()).toEqual(ids.toSorted())
  })
})

test('a Redis that hangs is given up and called anew; mail is delayed, and none lost or doubled', async () => {
  resend.release()
  await work()
  const before = await put(5)
  await untilAll(before, 'SENT')
  await redis.call('CLIENT', 'PAUSE', '7000', 'ALL')
  const ids = await put(20)
  await sleep(6_000)
  expect(arrived(ids)).toEqual([])
  await untilAll(ids, 'SENT')
  expect(arrived(ids).toSorted()).toEqual(ids.toSorted())
  const ages = [...String(await redis.client('LIST')).matchAll(/ age=(\d+)/g)].map(([, seconds]) => Number(seconds))
  expect(Math.min(...ages)).toBeLessThan(5)
})

describe('the feeder', () => {
  const holder = async () => (await rows(api, 'select holder from feeder'))[0].holder

  test('is one of the workers; when it stops another takes over at once', async () => {
    const first = await work()
    await until(holder, one => one !== null)
    const before = await holder()
    await work()
    await untilAll(await put(5), 'SENT')
    expect(await holder()).toBe(before)
    await first.stop()
    const started = performance.now()
    await untilAll(await put(5), 'SENT')
    expect(performance.now() - started).toBeLessThan(4_000)
    expect(await holder()).not.toBe(before)
  })

  test('that is gone without a word is replaced when its time is over', async () => {
    await rows(api, `update feeder set holder = $1, expires_at = now() + interval '1 second'`, [uuidv7()])
    await work()
    await untilAll(await put(5), 'SENT')
  })

  test('counts the concurrency of all workers', async () => {
    await Promise.all([work({ WORKER_CONCURRENCY: '2' }), work({ WORKER_CONCURRENCY: '3' })])
    const ids = (await Promise.all(many(4, () => put(10, { to: 'slow@example.com' })))).flat()
    await until(
      async () => arrived(ids),
      list => list.length === 5,
    )
    resend.release()
    await untilAll(ids, 'SENT')
  })
})

test('the window adds jobs that another feeder put there, and none that leaves while it reads', async () => {
  const [ours, leaving, foreign] = [uuidv7(), uuidv7(), uuidv7()]
  const asked: string[] = []
  let left = 0
  const window = new QueueWindow({
    queue,
    companiesOf: async ids => {
      asked.push(...ids)
      return new Map()
    },
    onLeave: () => left++,
  })
  window.add(
    uuidv7(),
    [ours, leaving].map(outboxId => ({ outboxId, companyId: uuidv7() })),
  )
  for (const id of [ours, leaving, foreign, 'not-one-of-ours']) await add(id, dataOf(id))
  const reading = window.read()
  window.left(leaving)
  await reading
  expect(asked).toEqual([foreign])
  expect(window.outboxIds().toSorted()).toEqual([ours, foreign].toSorted())
  expect([window.size, left]).toEqual([3, 1])
  await redis.flushall()
  await window.read()
  expect([window.size, left]).toEqual([0, 4])
})

/** A feeder that only looks for jobs that are gone, and finds these. */
async function feederThatMisses(found: () => Promise<string[]>): Promise<void> {
  let answered = 0
  const feeder = new Feeder({
    queue,
    election: new FeederElection({ elect: async () => true, electedMs: 60_000, resign: async () => {} }),
    totalConcurrency: async () => 1,
    ownConcurrency: 1,
    claim: async () => ({ leaseId: uuidv7(), claimed: [], jobs: async () => [] }),
    takeBack: async () => {},
    async returnUndelivered() {
      return answered++ === 0 ? found() : []
    },
    companiesOf: async () => new Map(),
    maxInFlight: () => 0,
    ready: new WakeableSleep(),
    idleMs: 50,
    log,
  })
  feeder.start()
  await until(
    async () => answered,
    count => count >= 1,
  )
  await feeder.stop()
}

describe('jobs that were gone from the queue', () => {
  const left = async (id: string) => ({
    waiting: (await redis.lrange(queue.toKey('wait'), 0, -1)).includes(id),
    data: (await queue.getJob(id))?.data,
  })

  test('leave nothing behind that would keep another of their name from being added', async () => {
    const id = uuidv7()
    await add(id, dataOf(id))
    await redis.lrem(queue.toKey('wait'), 0, id)
    await feederThatMisses(async () => [id])
    await add(id, dataOf(id, { attempt: 2 }))
    expect(await left(id)).toMatchObject({ waiting: true, data: { attempt: 2 } })
  })

  test('and that another feeder has added meanwhile are never left on the queue without their data', async () => {
    const id = uuidv7()
    await feederThatMisses(async () => {
      await add(id, dataOf(id))
      return [id]
    })
    expect(await left(id)).toEqual({ waiting: false, data: undefined })
  })
})

describe('a dispatch', () => {
  const NEVER_OLD = `
    create function never_old() returns trigger language plpgsql as 'begin new.taken_at = ''infinity''; return new; end';
    create trigger never_old before insert on leases for each row when (new.kind = 'dispatch') execute function never_old()`

  test('of which every job is leased ends with the next claim', async () => {
    await api.db.pool.query(NEVER_OLD)
    try {
      resend.release()
      await work()
      await untilAll(await put(60), 'SENT')
      await until(
        () => rows(api, `select from leases where kind = 'dispatch'`),
        left => left.length === 0,
      )
    } finally {
      await api.db.pool.query('drop trigger never_old on leases; drop function never_old')
    }
  })

  test('is open until the last of its jobs is leased; one that comes twice counts once', () => {
    const [first, second, lone] = many(3, () => ({ outboxId: uuidv7(), companyId: uuidv7() }))
    const window = new QueueWindow({ queue, companiesOf: async () => new Map(), onLeave: () => {} })
    window.add('pair', [first!, second!])
    window.add('lone', [lone!])
    for (const id of [first!.outboxId, first!.outboxId, lone!.outboxId, uuidv7()]) window.lookedUp(id)
    expect(window.takeDelivered()).toEqual(['lone'])
    window.left(second!.outboxId)
    window.lookedUp(second!.outboxId)
    expect(window.takeDelivered(), 'gone before it was leased: returnUndelivered ends its lease').toEqual([])
  })
})

/** A lane whose e-mails need no Postgres; their leases are named after them. */
function bareLane(work: BullmqLaneOptions<null>['work'], url = server.url) {
  const ended: string[] = []
  const poisoned: PoisonJob[] = []
  const left: string[] = []
  const leases = new HeldLeases({
    renew: async () => {},
    end: async list => void ended.push(...list),
    renewEveryMs: 60_000,
    log,
  })
  const connection = new Redis(url, { maxRetriesPerRequest: null }).on('error', () => {})
  const lane = new BullmqLane<null>({
    connection,
    concurrency: 2,
    feeder: {
      start() {},
      wake() {},
      lookedUp() {},
      left: (jobId: string) => left.push(jobId),
      stop: async () => {},
    } as unknown as Feeder,
    unreadableJobs: new UnreadableJobs({
      queue,
      dropped: jobId => poisoned.push({ jobId, reason: 'garbled' }),
      checkEveryMs: 100,
    }),
    async lease(outboxId) {
      leases.track(`of ${outboxId}`, 1)
      return { kind: 'taken', leaseId: `of ${outboxId}`, content: null }
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

test('a work item that throws harms nobody: its neighbours are done, its lease is left to run out, its job is gone', async () => {
  const ids = many(6, () => uuidv7())
  const done: string[] = []
  const lane = bareLane(async ({ outboxId }) => {
    if (outboxId === ids[1]) throw new Error('boom')
    done.push(outboxId)
  })
  for (const id of ids) await add(id, dataOf(id))
  lane.start()
  await untilLength(done, 5)
  await until(jobsOf, list => list.length === 0)
  const others = ids.filter(id => id !== ids[1])
  expect((await lane.stop()).toSorted()).toEqual(others.map(id => `of ${id}`).toSorted())
  expect(done.toSorted()).toEqual(others.toSorted())
  expect(lane.left.toSorted(), 'the window has room again for all of them').toEqual(ids.toSorted())
})

test('a stop waits for what is in flight, and takes nothing more', async () => {
  const ids = many(6, () => uuidv7())
  const held = heldWork()
  const lane = bareLane(held.work)
  for (const id of ids) await add(id, dataOf(id))
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
  expect([held.started.length, (await queue.getRanges(['active'], 0, -1)).length]).toEqual([2, 0])
})

test('a stop while Redis is away finishes what is in flight and does not wait for Redis', async () => {
  const own = await startRedis()
  const held = heldWork()
  const lane = bareLane(held.work, own.url)
  const client = new Redis(own.url)
  const id = uuidv7()
  const ownQueue = new Queue(BULLMQ_QUEUE_NAME, { connection: client })
  await ownQueue.add(EMAIL_JOB_CONFIG.QUEUE_NAME, dataOf(id), { jobId: id })
  lane.start()
  await untilLength(held.started, 1)
  await ownQueue.close()
  client.disconnect()
  // Not events.once, which rejects when an error event comes first.
  const noticed = new Promise(resolve => lane.connection.once('reconnecting', resolve))
  await own.kill()
  await noticed
  const stopping = lane.stop()
  held.finish()
  const startedMs = performance.now()
  expect(await stopping).toEqual([`of ${id}`])
  expect(performance.now() - startedMs).toBeLessThan(4_000)
  await own.close()
})

test('a job that comes again while it is in flight, because its lock was lost, is not run a second time', async () => {
  const id = uuidv7()
  const held = heldWork()
  const lane = bareLane(held.work)
  await add(id, dataOf(id))
  lane.start()
  await untilLength(held.started, 1)
  await redis.flushall()
  await add(id, dataOf(id))
  await until(jobsOf, list => list.length === 0)
  held.finish()
  const next = uuidv7()
  await add(next, dataOf(next))
  await untilLength(held.started, 2)
  held.finish()
  expect(held.started).toEqual([id, next])
  expect((await lane.stop()).toSorted()).toEqual([`of ${id}`, `of ${next}`])
})

test('a job that a dead worker left is run by the next one when its lock is over', async () => {
  const id = uuidv7()
  await add(id, dataOf(id))
  const dead = new Worker(BULLMQ_QUEUE_NAME, null, { connection: redis, lockDuration: 500 })
  expect((await dead.getNextJob('its token'))?.id).toBe(id)
  await dead.close(true)
  const done: string[] = []
  const lane = bareLane(async ({ outboxId }) => void done.push(outboxId))
  lane.start()
  // BullMQ looks for stalled jobs every ten seconds, and moves what it finds a second time.
  await untilLength(done, 1, 25_000)
  await lane.stop()
  expect([done, await jobsOf()]).toEqual([[id], []])
})

test('a job that is no JSON is dropped as poison, and its neighbours go on meanwhile', async () => {
  const [broken, badOptions] = [uuidv7(), uuidv7()]
  await add(broken, dataOf(broken))
  await add(badOptions, dataOf(badOptions))
  await redis.hset(queue.toKey(broken), 'data', '{"outboxId":')
  await redis.hset(queue.toKey(badOptions), 'opts', '{"')
  const done: string[] = []
  const lane = bareLane(async ({ outboxId }) => void done.push(outboxId))
  lane.start()
  await until(
    () => queue.getRanges(['active'], 0, -1),
    active => active.length === 2,
  )
  const neighbours = many(20, () => uuidv7())
  for (const id of neighbours) await add(id, dataOf(id))
  await untilLength(done, 20)
  await untilLength(lane.poisoned, 2, 40_000)
  expect(await queue.getRanges(['wait', 'active'], 0, -1)).toEqual([])
  expect(lane.poisoned.map(job => job.jobId).toSorted()).toEqual([broken, badOptions].toSorted())
  await add(broken, dataOf(broken))
  await untilLength(done, 21)
  expect((await lane.stop()).length, 'a sound job of that name is run').toBe(21)
})
