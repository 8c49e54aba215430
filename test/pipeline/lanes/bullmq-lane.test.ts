import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pauseCompany } from '../../../src/companies/companies.ts'
import { BULLMQ_QUEUE_NAME, EMAIL_JOB_CONFIG } from '../../../src/outbox/job.ts'
import { Feeder, FeederElection, type FeederOptions, QueueWindow } from '../../../src/pipeline/lanes/feeder.ts'
import { listCounters } from '../../../src/platform/postgres/counters.ts'
import { notifyProcesses } from '../../../src/platform/postgres/notifications.ts'
import { WakeableSleep } from '../../../src/platform/sleep.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { startTestGateway, type TestGateway, until } from '../../support/gateway.ts'
import { type HoldingResend, startHoldingResend } from '../../support/holding-resend.ts'
import { jobData } from '../../support/job-data.ts'
import { rows, sleep } from '../../support/mail.ts'
import { accept, type DraftChange, draft, EMPTY_OUTBOX, forgotten, readEmail, typesOf } from '../../support/outbox.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import { startWorker, type TestWorker } from '../../support/worker.ts'

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
  await api.db.pool.query(EMPTY_OUTBOX)
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
      expect(Object.keys(data).toSorted()).toEqual(Object.keys(jobData('')).toSorted())
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
    await add(mismatched, jobData(uuidv7()))
    const unknown = uuidv7()
    await add(unknown, jobData(unknown))
    const [shouted] = await put(1, {}, true)
    await add(shouted!.toUpperCase(), jobData(shouted!.toUpperCase()))
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

  test('a job that was added twice, by us and by another program, sends once', async () => {
    const { waiting } = await behindASlowCall(3)
    for (const id of waiting) await add(id, jobData(id, { requestId: 'again' }))
    resend.release()
    await untilAll(waiting, 'SENT')
    await until(jobsOf, list => list.length === 0)
    expect(arrived(waiting).toSorted()).toEqual(waiting.toSorted())
    for (const id of waiting)
      expect(typesOf(await readEmail(api.db.pool, id)).filter(type => type === 'SENT')).toEqual(['SENT'])
  })

  test('a job for an e-mail that is sent, cancelled, not due or ready itself does nothing', async () => {
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
    for (const id of stale) await add(id, jobData(id))
    await until(jobsOf, list => list.length === 0)
    await sleep(100)
    expect(arrived(stale)).toEqual([sent])
    expect(await Promise.all(stale.map(async id => (await readEmail(api.db.pool, id)).email.status))).toEqual([
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
  const pausedMs = Date.now()
  await redis.call('CLIENT', 'PAUSE', '7000', 'ALL')
  const ids = await put(20)
  await sleep(6_000)
  expect(arrived(ids)).toEqual([])
  await untilAll(ids, 'SENT')
  expect(arrived(ids).toSorted()).toEqual(ids.toSorted())
  const ages = [...String(await redis.client('LIST')).matchAll(/ age=(\d+)/g)].map(([, seconds]) => Number(seconds))
  // In whole seconds. Those that hung are older than the pause.
  expect(Math.min(...ages)).toBeLessThan(Math.floor((Date.now() - pausedMs) / 1000))
})

test('while somebody has paused the queue, its jobs stay what they are; resumed, each e-mail is sent once', async () => {
  resend.release()
  const worker = await work({ WORKER_CONCURRENCY: '4' })
  await untilAll(await put(5), 'SENT')
  await queue.pause()
  const ids = await put(30)
  const queued = async () => (await jobsOf()).map(job => `${job.id} added at ${job.timestamp}`).toSorted()
  // As many as one company may have in the window.
  const window = await until(queued, jobs => jobs.length === 4)
  // The feeder looks every second for missing jobs that were added more than a second ago.
  await sleep(4_000)
  expect(await queued()).toEqual(window)
  expect(arrived(ids)).toEqual([])
  expect(worker.logs()).not.toMatch(/missing in Redis/)
  await queue.resume()
  await untilAll(ids, 'SENT')
  expect(arrived(ids).toSorted()).toEqual(ids.toSorted())
  expect(await rows(api, 'select distinct attempts from email_outbox where outbox_id = any($1)', [ids])).toEqual([
    { attempts: 1 },
  ])
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

  test('is found in the list of workers', async () => {
    await work()
    await until(holder, one => one !== null)
    expect(await rows(api, 'select w.lane, w.pid from feeder f join workers w on w.worker_id = f.holder')).toEqual([
      { lane: 'bullmq', pid: process.pid },
    ])
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
    onJobEnded: () => left++,
  })
  window.add(
    uuidv7(),
    [ours, leaving].map(outboxId => ({ outboxId, companyId: uuidv7() })),
  )
  for (const id of [ours, leaving, foreign, 'not-one-of-ours']) await add(id, jobData(id))
  const reading = window.read()
  window.jobEnded(leaving)
  await reading
  expect(asked).toEqual([foreign])
  expect(window.outboxIds().toSorted()).toEqual([ours, foreign].toSorted())
  expect([window.size, left]).toEqual([3, 1])
  await redis.flushall()
  await window.read()
  expect([window.size, left]).toEqual([0, 4])
})

/** A feeder that is always elected, and claims nothing unless the test says so. */
function feederWith(change: Partial<FeederOptions>): Feeder {
  return new Feeder({
    queue,
    election: new FeederElection({ elect: async () => true, electedMs: 60_000, resign: async () => {} }),
    totalConcurrency: async () => 1,
    ownConcurrency: 1,
    claim: async () => ({ leaseId: uuidv7(), claimed: [], jobs: async () => [] }),
    returnClaim: async () => {},
    returnLater: async () => {},
    returnWithoutJob: async () => [],
    companiesOf: async () => new Map(),
    maxInFlight: () => 0,
    ready: new WakeableSleep(),
    idleMs: 50,
    log,
    ...change,
  })
}

test('an e-mail that is ready again before its last job has ended gets its next job after that, not none', async () => {
  const [again, fresh] = [uuidv7(), uuidv7()]
  await add(again, jobData(again))
  const returned: string[] = []
  const claims = [[again, fresh]]
  const feeder = feederWith({
    maxInFlight: () => 10,
    totalConcurrency: async () => 10,
    async claim() {
      const ids = claims.shift() ?? []
      const claimed = ids.map(outboxId => ({ outboxId, companyId: uuidv7() }))
      return { leaseId: uuidv7(), claimed, jobs: async () => ids.map(id => jobData(id, { attempt: 2 })) }
    },
    returnLater: async ids => void returned.push(...ids),
  })
  feeder.start()
  await until(() => queue.getJob(fresh), Boolean)
  await feeder.stop()
  expect(returned).toEqual([again])
  expect((await queue.getJob(again))?.data).toMatchObject({ attempt: 1 })
})

/** A feeder that only looks for jobs that are gone, and finds these. */
async function feederThatMisses(found: () => Promise<string[]>): Promise<void> {
  let answered = 0
  const feeder = feederWith({
    async returnWithoutJob() {
      return answered++ === 0 ? found() : []
    },
  })
  feeder.start()
  await until(
    async () => answered,
    count => count >= 1,
  )
  await feeder.stop()
}

describe('jobs that are missing in Redis', () => {
  const left = async (id: string) => ({
    waiting: (await redis.lrange(queue.toKey('wait'), 0, -1)).includes(id),
    data: (await queue.getJob(id))?.data,
  })

  test('leave nothing behind that would keep another of their name from being added', async () => {
    const id = uuidv7()
    await add(id, jobData(id))
    await redis.lrem(queue.toKey('wait'), 0, id)
    await feederThatMisses(async () => [id])
    await add(id, jobData(id, { attempt: 2 }))
    expect(await left(id)).toMatchObject({ waiting: true, data: { attempt: 2 } })
  })

  test('and that another feeder has added meanwhile are never left on the queue without their data', async () => {
    const id = uuidv7()
    await feederThatMisses(async () => {
      await add(id, jobData(id))
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
    const window = new QueueWindow({ queue, companiesOf: async () => new Map(), onJobEnded: () => {} })
    window.add('pair', [first!, second!])
    window.add('lone', [lone!])
    for (const id of [first!.outboxId, first!.outboxId, lone!.outboxId, uuidv7()]) window.askedForLease(id)
    expect(window.takeFullyAskedDispatches()).toEqual(['lone'])
    window.jobEnded(second!.outboxId)
    window.askedForLease(second!.outboxId)
    expect(window.takeFullyAskedDispatches(), 'gone before it was leased: returnWithoutJob ends its lease').toEqual([])
  })
})
