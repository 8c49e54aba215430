import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DatabaseUnavailable } from '../../src/platform/postgres/errors.ts'
import { listenForNotifications, notifyProcesses } from '../../src/platform/postgres/notifications.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { run } from '../../src/platform/postgres/query.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis-server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let network: TcpProxy
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.drop())
beforeEach(async () => {
  network = await startTcpProxy(database.url)
})
afterEach(() => network.close())

const ask = (pool: pg.Pool) => run<{ one: number }>(pool, 'one', 'select 1 as one', [])
const failureOf = (answer: Promise<unknown>) =>
  answer.then(
    () => null,
    (error: Error) => error,
  )

describe('a Postgres that vanishes without closing its connections', () => {
  const ANSWER_MS = { short: 1_000, pool: 1_000 }
  let db: Database
  beforeEach(() => {
    db = openDatabase(network.url, () => {}, ANSWER_MS)
  })
  afterEach(() => db.close())

  test('is out of reach, not waited for for ever', async () => {
    await Promise.all([ask(db.short), ask(db.pool)])
    network.blackHole(true)
    const failures = await Promise.all([ask(db.short), ask(db.pool)].map(failureOf))
    for (const failure of failures) expect(failure).toBeInstanceOf(DatabaseUnavailable)
    network.blackHole(false)
    expect([await ask(db.short), await ask(db.pool)]).toEqual([[{ one: 1 }], [{ one: 1 }]])
  })

  test('costs one wait, not one for each connection of each pool', async () => {
    const pools = [db.short, db.pool, db.webhooks, ...Object.values(db.sending)]
    const busy = (pool: pg.Pool) => Array.from({ length: pool.options.max }, () => pool.query('select pg_sleep(0.1)'))
    await Promise.all(pools.flatMap(busy))
    const open = pools.reduce((sum, pool) => sum + pool.idleCount, 0)
    expect(network.halfOpen()).toBe(open)
    expect(open).toBeGreaterThan(20)
    expect(await failureOf(ask(db.sending.claims))).toBeInstanceOf(DatabaseUnavailable)
    for (const pool of pools) {
      for (let times = 0; times < 3; times++) expect(await ask(pool)).toEqual([{ one: 1 }])
    }
  })

  test('is known in a moment to who asks whether it answers, and half-open connections are dropped then', async () => {
    await Promise.all([ask(db.short), ask(db.pool), ask(db.sending.starts)])
    network.halfOpen()
    expect(await db.availability()).toEqual({ state: 'writable' })
    expect(await Promise.all([ask(db.short), ask(db.pool), ask(db.sending.starts)])).toHaveLength(3)
    network.blackHole(true)
    expect(await db.availability()).toEqual({ state: 'silent', reason: 'Postgres did not answer in time.' })
    expect(db.pool.totalCount - db.pool.idleCount).toBeLessThan(2)
    network.blackHole(false)
    await until(
      () => db.availability(),
      found => found.state === 'writable',
      10_000,
    )
  })
})

test('a connection that listens notices that it is half-open, and receives notifications again', async () => {
  let received = 0
  const errors: Error[] = []
  const handlers = { email_ready: () => void received++, webhook_ready: () => {} }
  const stop = listenForNotifications(network.url, 'me', handlers, error => void errors.push(error), 200)
  const db = openDatabase(database.url, () => {})
  try {
    await until(
      async () => received,
      count => count === 1,
    )
    expect(network.halfOpen()).toBe(1)
    // Once more because it listens anew, and then because another process notifies.
    await until(
      async () => received,
      count => count === 2,
      20_000,
    )
    expect(errors.map(error => error.message)).toContain('Query read timeout')
    await notifyProcesses(db.pool, 'email_ready', 'another')
    await until(
      async () => received,
      count => count === 3,
    )
    network.halfOpen()
  } finally {
    await stop()
    await db.close()
  }
})

test('the upkeep of a worker is one line when Postgres goes away, and one when it is back', async () => {
  const gateway = await startTestGateway({ env: { DATABASE_URL: network.url } })
  try {
    const lines = () => gateway.logs().split('\n')
    const upkeep = () => lines().filter(line => line.includes('pkeep of the worker'))
    network.refuse(true)
    await until(
      async () => upkeep().length,
      count => count > 0,
    )
    await sleep(1_500)
    expect(upkeep().join()).toMatch(/"task":"[a-z-]+".*the database is away; trying again"/)
    expect(upkeep()).toHaveLength(1)
    network.refuse(false)
    await until(
      async () => upkeep().length,
      count => count > 1,
    )
    expect(upkeep()[1]).toContain('Upkeep of the worker goes on: the database is back')
  } finally {
    network.refuse(false)
    await gateway.stop()
  }
})

describe('/health/ready', () => {
  /** Far less than the 30 or 60 seconds that an answer is waited for elsewhere. */
  const SOON_MS = 5_000
  const READY_MS = 2_000
  const soon = (answer: Promise<unknown>) => Promise.race([answer, sleep(SOON_MS, 'late', { ref: false })])
  /** The best of three: a busy machine may be late once. */
  const fastestMs = async (ask: () => Promise<unknown>) => {
    const times: number[] = []
    for (let time = 0; time < 3; time++) {
      const startedMs = performance.now()
      await ask()
      times.push(performance.now() - startedMs)
    }
    return Math.min(...times)
  }
  const ready = async (gateway: TestGateway) => {
    const answer = await fetch(`${gateway.url}/health/ready`, { signal: AbortSignal.timeout(SOON_MS) })
    return { status: answer.status, body: (await answer.json()) as { status?: unknown; detail?: string } }
  }

  test('answers while Postgres hangs and names it, and mail goes on when the network is back', async () => {
    const gateway = await startTestGateway({ role: 'api', env: { DATABASE_URL: network.url } })
    try {
      const company = await gateway.company({ name: 'hanging' })
      const email = { to: 'maria@example.com', subject: 'Hello', html: '<p>Hello</p>' }
      const send = () => gateway.call(company, 'POST', '/v1/email/send', email)
      expect((await send()).status).toBe(202)
      network.blackHole(true)
      const hanging = await ready(gateway)
      expect(hanging.status).toBe(503)
      expect(hanging.body.detail).toMatch(/Postgres did not answer/)
      expect(await fastestMs(() => ready(gateway))).toBeLessThan(READY_MS)
      network.blackHole(false)
      await until(
        () => ready(gateway),
        answer => answer.status === 200,
        10_000,
      )
      expect(await soon(send())).toMatchObject({ status: 202 })
    } finally {
      network.reset()
      await gateway.stop()
    }
  })

  test('sees a half-open connection before any e-mail has to wait for it', async () => {
    const gateway = await startTestGateway({ role: 'api', env: { DATABASE_URL: network.url } })
    try {
      const company = await gateway.company({ name: 'half-open' })
      const email = { to: 'maria@example.com', subject: 'Hello', html: '<p>Hello</p>' }
      expect((await gateway.call(company, 'POST', '/v1/email/send', email)).status).toBe(202)
      network.halfOpen()
      expect((await ready(gateway)).status).toBe(200)
      expect(await soon(gateway.call(company, 'POST', '/v1/email/send', email))).toMatchObject({ status: 202 })
    } finally {
      network.reset()
      await gateway.stop()
    }
  })

  test('answers while slow statements keep all connections for reading', async () => {
    const gateway = await startTestGateway({ role: 'api', env: { DATABASE_URL: network.url } })
    const { pool } = gateway.db
    const busy = Array.from({ length: pool.options.max }, () => pool.query('select pg_sleep(30)').catch(() => {}))
    try {
      await until(
        async () => pool.totalCount - pool.idleCount,
        count => count === pool.options.max,
      )
      expect((await ready(gateway)).status).toBe(503)
      expect(await fastestMs(() => ready(gateway))).toBeLessThan(READY_MS)
    } finally {
      network.reset()
      await Promise.all(busy)
      await gateway.stop()
    }
  })

  test('is not kept by a Redis that hangs: mail is accepted without it', async () => {
    const redis = await startRedis()
    const between = await startTcpProxy(redis.url)
    const gateway = await startTestGateway({ env: { REDIS_URL: between.url } })
    try {
      between.blackHole(true)
      expect(await ready(gateway)).toEqual({ status: 200, body: { status: 'ok' } })
    } finally {
      between.blackHole(false)
      between.reset()
      await gateway.stop()
      await between.close()
      await redis.close()
    }
  })
})
