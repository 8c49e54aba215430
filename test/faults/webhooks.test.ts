import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { registerCompany } from '../../src/companies/changes.ts'
import { openDatabase } from '../../src/platform/postgres/pool.ts'
import { edition, fault } from '../support/faults.ts'
import { call, until } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { spawnGateway } from '../support/process.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

const KILLS = edition(1, 25)
const EMAILS = edition(300, 10_000)
const LATENCY_MS = 30

test(`a gateway killed with SIGKILL (${KILLS} ×) while it delivers ${EMAILS} webhooks loses none, and repeats them only under their own ids`, {
  timeout: edition(120_000, 900_000),
}, async context => {
  const { between, report } = fault(context, 'gateway killed with SIGKILL while it delivers webhooks')
  const database = await createTestDatabase()
  const db = openDatabase(database.url, () => {})
  const receiver = await startReceiver()
  const env = {
    PORT: '0',
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    HASH_PEPPER: randomBytes(32).toString('hex'),
    LEASE_SECONDS: '5',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    UNKNOWN_GRACE_SECONDS: '1',
  }
  let gateway = await spawnGateway({ env })
  context.onTestFinished(async () => {
    gateway.signal('SIGKILL')
    await gateway.exited
    await receiver.close()
    await db.close()
    await database.drop()
  })
  const { apiKey } = await registerCompany(db, env.HASH_PEPPER, { name: 'acme' })
  const company = { apiKey }
  const endpoints = ['/one', '/two', '/slow']
  for (const path of endpoints) {
    receiver.answer(path, async response => {
      await sleep(path === '/slow' ? LATENCY_MS * 5 : LATENCY_MS)
      response.writeHead(200).end()
    })
    const made = await call(gateway.url, company, 'POST', '/v1/webhooks', { url: receiver.url + path })
    expect(made.status).toBe(201)
  }

  const accepted = new Set<string>()
  const share = Math.ceil(EMAILS / (KILLS + 1))
  async function post(count: number): Promise<void> {
    for (let from = 0; from < count; from += 100) {
      const bodies = Array.from({ length: Math.min(100, count - from) }, (_, n) => ({
        to: `r${n}@example.com`,
        subject: 'Hello',
        text: 'It works.',
      }))
      const answer = await call(gateway.url, company, 'POST', '/v1/email/batch', bodies)
      for (const one of answer.body.data) accepted.add(one.outboxId)
    }
  }
  let underWay = 0
  for (let kill = 1; kill <= KILLS; kill++) {
    const before = receiver.received.length
    await post(share)
    await until(
      async () => receiver.received.length - before,
      count => count > between(3, 30),
      30_000,
    )
    gateway.signal('SIGKILL')
    await gateway.exited
    const { rows } = await db.pool.query(`select count(*)::int from webhook_ready`)
    underWay += rows[0].count
    gateway = await spawnGateway({ env })
  }
  await post(EMAILS - accepted.size)
  await until(
    async () =>
      (
        await db.pool.query(
          `select (select count(*)::int from webhook_deliveries where status = 'delivered') as delivered,
             (select count(*)::int from email_outbox where status <> 'SENT') as unsent`,
        )
      ).rows[0],
    ({ delivered, unsent }) => unsent === 0 && delivered === accepted.size * endpoints.length,
    edition(60_000, 600_000),
  )

  const bodies = new Map<string, string>()
  for (const { path, headers, text } of receiver.received) {
    const id = `${path} ${headers['webhook-id']}`
    expect(bodies.get(id) ?? text).toBe(text)
    bodies.set(id, text)
  }
  for (const path of endpoints) {
    const delivered = new Set(receiver.at(path).map(one => (one.body.data as { outboxId: string }).outboxId))
    expect([...accepted].filter(id => !delivered.has(id))).toEqual([])
    expect(delivered.size).toBe(accepted.size)
  }
  // Each is one webhook with one id, however often it was sent.
  expect(bodies.size).toBe(accepted.size * endpoints.length)
  expect(underWay, 'kills that hit nothing under way prove nothing').toBeGreaterThan(0)
  report({
    done: `${KILLS} kills, ${accepted.size} e-mails, ${endpoints.length} endpoints each`,
    checked: 'every webhook arrives; a repeated one has the same webhook-id and the same bytes',
    figures: {
      webhooks: bodies.size,
      'waiting or in flight at the kills': underWay,
      'sent again': receiver.received.length - bodies.size,
    },
  })
})
