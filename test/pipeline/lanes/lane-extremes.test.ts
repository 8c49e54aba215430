import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { resolveUnknownSends } from '../../../src/pipeline/housekeeping/unknown.ts'
import { notifyProcesses } from '../../../src/platform/postgres/notifications.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { startTestGateway, type TestGateway, until } from '../../support/gateway.ts'
import { rows, sleep } from '../../support/mail.ts'
import { accept, claim, draft, EMPTY_OUTBOX, readEmail, receive, worker } from '../../support/outbox.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import { startWorker, type TestWorker } from '../../support/worker.ts'

let redis: RedisServer
let api: TestGateway
let companyId: string
const workers: TestWorker[] = []

beforeAll(async () => {
  redis = await startRedis()
  api = await startTestGateway({ role: 'api' })
  companyId = (await api.company()).companyId
})
afterAll(async () => {
  await api?.stop()
  await redis?.close()
})
beforeEach(async () => {
  await api.db.pool.query(EMPTY_OUTBOX)
})
afterEach(async () => void (await Promise.all(workers.splice(0).map(one => one.stop()))))

async function work(env: Record<string, string>): Promise<void> {
  workers.push(await startWorker(api, env))
}
async function put(count = 1): Promise<string[]> {
  const drafts = Array.from({ length: count }, () => draft(companyId, { html: null, text: 'Hi' }))
  const ids = await accept(api.db.pool, drafts)
  await notifyProcesses(api.db.pool, 'email_ready', 'another process')
  return ids
}
const untilSent = (ids: string[], patienceMs = 3_000) =>
  until(
    () => rows(api, `select status from email_outbox where outbox_id = any($1) and status <> 'SENT'`, [ids]),
    open => open.length === 0,
    patienceMs,
  )

/** Ready for the call to be repeated at the provider where its outcome is unknown. */
async function putResumed(provider: string): Promise<string> {
  const [outboxId] = await accept(api.db.pool, [draft(companyId)])
  await rows(
    api,
    'update email_outbox set started_at = now(), attempts = 1, attempt_id = $2, provider = $3 where outbox_id = $1',
    [outboxId, uuidv7(), provider],
  )
  return outboxId!
}

describe.each([
  ['direct', () => ({})],
  ['BullMQ', () => ({ REDIS_URL: redis.url })],
])('the %s lane', (_, lane) => {
  test('holds no lease when it is idle: the lease of its last batch is ended, not left to expire', async () => {
    await work(lane())
    await untilSent(await put(5))
    await sleep(600)
    expect(await rows(api, `select kind, outbox_ids from leases where kind = 'work'`)).toEqual([])
  })
})

test('an attempt whose call would be repeated at a provider that was removed fails when its e-mail expires', async () => {
  const outboxId = await putResumed('gone')
  const db = api.db.short
  await rows(api, `update email_outbox set expires_at = now() - interval '1 second' where outbox_id = $1`, [outboxId])
  for (let time = 0; time < 3; time++) {
    for (const claimed of await receive(db, await claim(db, 1))) await worker(db, { route: () => null })(claimed)
    await rows(api, `update unknown_sends set resolve_at = now() - interval '1 second'`)
    await resolveUnknownSends(db, [])
  }
  expect((await readEmail(db, outboxId)).email.status).toBe('FAILED')
})

test('a job id that is none, left among the active by another program, does not stop the feeder', async () => {
  const client = new Redis(redis.url)
  await client.lpush('bull:email-send:active', 'not-one-of-ours')
  try {
    await work({ REDIS_URL: redis.url })
    await untilSent(await put(5))
  } finally {
    await client.flushall()
    client.disconnect()
  }
})
