import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { notifyProcesses } from '../../src/platform/postgres/notifications.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { type HoldingResend, startHoldingResend } from '../support/holding-resend.ts'
import { rows } from '../support/mail.ts'
import { accept, draft } from '../support/outbox.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { startWorker, type TestWorker } from '../support/worker.ts'

type Stage = { api: TestGateway; redis: RedisServer; proxy: TcpProxy; resend: HoldingResend; worker: TestWorker }
const stages: Stage[] = []

/** A worker whose Redis is behind a network of its own. */
async function stage(): Promise<Stage> {
  const [api, redis, resend] = await Promise.all([
    startTestGateway({ role: 'api' }),
    startRedis(),
    startHoldingResend(),
  ])
  const proxy = await startTcpProxy(redis.url)
  const worker = await startWorker(api, { REDIS_URL: proxy.url, ...resend.env })
  const made = { api, redis, proxy, resend, worker }
  stages.push(made)
  return made
}
afterAll(async () => {
  for (const { api, redis, proxy, resend, worker } of stages) {
    resend.release()
    await worker.stop()
    await proxy.close()
    await resend.close()
    await redis.close()
    await api.stop()
  }
})

async function put({ api }: Stage, count: number): Promise<string[]> {
  const { companyId } = await api.company()
  const ids = await accept(
    api.db.pool,
    Array.from({ length: count }, () => draft(companyId, { html: null, text: 'Hi' })),
  )
  await notifyProcesses(api.db.pool, 'email_ready', 'another process')
  return ids
}

const allSent = ({ api }: Stage, ids: string[], patienceMs: number) =>
  until(
    () => rows(api, `select from email_outbox where outbox_id = any($1) and status <> 'SENT'`, [ids]),
    left => left.length === 0,
    patienceMs,
  )

describe.concurrent('Redis connections that die without a word', () => {
  let idle: Stage
  let busy: Stage
  beforeAll(async () => {
    ;[idle, busy] = await Promise.all([stage(), stage()])
  })

  test('are given up, and a worker that had nothing to do sends again', async () => {
    idle.resend.release()
    await allSent(idle, await put(idle, 2), 10_000)
    expect(idle.proxy.halfOpen()).toBeGreaterThanOrEqual(3)
    await allSent(idle, await put(idle, 20), 45_000)
  })

  test('do not keep a worker from stopping, whose jobs cannot be ended', async () => {
    const ids = await put(busy, 5)
    await until(
      async () => busy.resend.arrived.length,
      count => count === ids.length,
    )
    busy.proxy.blackHole(true)
    busy.resend.release()
    await busy.worker.stop()
    await allSent(busy, ids, 0)
  })
})
