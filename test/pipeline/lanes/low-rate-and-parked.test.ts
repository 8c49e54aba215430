import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, until } from '../../support/gateway.ts'
import { type HoldingResend, startHoldingResend } from '../../support/holding-resend.ts'
import { rows, sleep } from '../../support/mail.ts'
import { accept, draft, EMPTY_OUTBOX, forgotten } from '../../support/outbox.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import { startWorker, type TestWorker } from '../../support/worker.ts'

let redis: RedisServer
let resend: HoldingResend
let api: TestGateway
let companyId: string
const workers: TestWorker[] = []

beforeAll(async () => {
  redis = await startRedis()
  resend = await startHoldingResend()
  api = await startTestGateway({ role: 'api' })
  companyId = (await api.company()).companyId
})
afterAll(async () => {
  await api?.stop()
  await resend?.close()
  await redis?.close()
})
beforeEach(async () => {
  await api.db.pool.query(`${EMPTY_OUTBOX}; delete from providers`)
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map(one => one.stop()))
  expect(await forgotten(api.db.pool), 'e-mails that nothing would ever wake').toEqual([])
})

async function work(env: Record<string, string>): Promise<TestWorker> {
  const worker = await startWorker(api, { ...resend.env, ...env })
  workers.push(worker)
  return worker
}
const put = (count: number, owner = companyId) =>
  accept(
    api.db.short,
    Array.from({ length: count }, () => draft(owner)),
  )

describe.each([
  ['direct', () => ({})],
  ['BullMQ', () => ({ REDIS_URL: redis.url })],
])('the %s lane', (_, lane) => {
  test('when it stops, it does not wait for turns that a low rate puts a minute away: what has not left is returned to ready', async () => {
    await put(80)
    const worker = await work({ ...lane(), SEND_RATE_PER_SECOND: '1', WORKER_CONCURRENCY: '50' })
    const sent = () => rows(api, `select outbox_id from email_outbox where status = 'SENT'`)
    await until(sent, done => done.length >= 1)
    // The others of the batch have their turns by now, up to fifty seconds away.
    await sleep(500)
    const stopMs = performance.now()
    await worker.stop()
    expect(performance.now() - stopMs).toBeLessThan(5_000)
    const left = await rows(api, `select distinct status, attempts from email_outbox where status <> 'SENT'`)
    expect(left, 'no attempt is spent').toEqual([{ status: 'PENDING', attempts: 0 }])
    expect(await rows(api, `select from leases where kind = 'work'`)).toEqual([])
  })

  test('at a low rate, a quiet company does not wait behind as many of a busy one as there are slots', async () => {
    const quiet = (await api.company()).companyId
    await put(200)
    await work({ ...lane(), SEND_RATE_PER_SECOND: '4', WORKER_CONCURRENCY: '100' })
    const sent = (owner: string) =>
      rows(api, `select outbox_id from email_outbox where status = 'SENT' and company_id = '${owner}'`)
    await until(
      () => sent(companyId),
      done => done.length >= 2,
    )
    await put(1, quiet)
    // Five seconds of the rate are in flight before it; eighty slots would be twenty.
    await until(
      () => sent(quiet),
      done => done.length === 1,
      9_000,
    )
  })
})

test('while every provider is parked, the queue is looked at a few times a second, not all the time', async () => {
  await api.db.pool.query(
    `insert into providers (name, state, opened_at, reason_code, reason, probe_at)
     values ('resend', 'open', now(), 'TEST', 'test', now() + interval '1 hour')`,
  )
  await put(10)
  await work({ REDIS_URL: redis.url, WORKER_CONCURRENCY: '5' })
  await sleep(1_000)
  const client = new Redis(redis.url)
  try {
    await client.config('RESETSTAT')
    await sleep(2_000)
    const [, calls] = /cmdstat_lrange:calls=(\d+)/.exec(await client.info('commandstats'))!
    // Two lists, four times a second.
    expect(Number(calls)).toBeLessThan(40)
  } finally {
    client.disconnect()
  }
})

test('while the only company has its share in flight, no claims are made that can find nothing', async () => {
  resend.hold()
  const slow = Array.from({ length: 50 }, (_, index) => draft(companyId, { to: `slow${index}@example.com` }))
  await accept(api.db.short, slow)
  await work({ REDIS_URL: redis.url, WORKER_CONCURRENCY: '10' })
  await sleep(2_500)
  const commits = async () =>
    (await rows(api, 'select xact_commit::int from pg_stat_database where datname = current_database()'))[0].xact_commit
  const before = await commits()
  await sleep(4_000)
  expect((await commits()) - before).toBeLessThan(4 * 60)
  resend.release()
  await until(
    () => rows(api, `select from email_outbox where status <> 'SENT'`),
    open => open.length === 0,
  )
})
