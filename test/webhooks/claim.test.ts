import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimDeliveries, loadEventFacts } from '../../src/webhooks/claim.ts'
import { settleDeliveries } from '../../src/webhooks/settle.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { rowsRead as rowsReadBy } from '../support/rows-read.ts'

const HOLDER = '11111111-1111-4111-8111-111111111111'
const FIRST = '00000000-0000-0000-0000-000000000000'
const ENDPOINTS = 300

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  company = await gateway.company()
  await gateway.db.pool.query(
    `with w as (
       insert into webhook_endpoints (endpoint_id, company_id, url, event_types, secret_cipher)
       select gen_random_uuid(), $1, 'http://127.0.0.1:9/', '{email.sent}', '\\x00' from generate_series(1, $2::int) returning endpoint_id
     ), s as (
       insert into webhook_state (endpoint_id) select endpoint_id from w
     ), d as (
       insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, data)
       select w.endpoint_id, uuid_v7_now(), $1, 'webhook.test', '{}' from w, generate_series(1, 10) returning *
     )
     insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from d`,
    [company.companyId, ENDPOINTS],
  )
})
afterAll(() => gateway.stop())

const rowsRead = (tables: string, act: (db: pg.PoolClient) => Promise<unknown>) =>
  rowsReadBy(gateway.db.webhooks, tables, act)

const claim = (db: pg.PoolClient, steps: number, healthy = steps, companies: Record<string, number> = {}) =>
  claimDeliveries(db, {
    holder: HOLDER,
    holdSeconds: 15,
    after: FIRST,
    steps,
    room: new Map(),
    inFlight: [],
    most: { healthy, suspect: 8 },
    companyRoom: { healthy: { companies, others: healthy }, suspect: { companies: {}, others: 8 } },
  })

test.each(['never counted', 'counted'])(
  'a claim reads the endpoints that it looks at, not all of them for each (%s)',
  async how => {
    if (how === 'counted') await gateway.db.pool.query('vacuum analyze')
    const read = await rowsRead('^webhook_(endpoints|state)$', async db => {
      expect((await claim(db, 50)).deliveries).toHaveLength(50)
    })
    // The state of each three times, one of them to write who holds it.
    expect(read).toBeLessThanOrEqual(50 * 5)
  },
)

test('a claim looks at no more deliveries than it has slots for, however many wait', async () => {
  const read = await rowsRead('^webhook_deliveries$', async db => {
    expect((await claim(db, 50)).deliveries).toHaveLength(50)
  })
  expect(read).toBeLessThanOrEqual(50)
})

test('a company that has its share gets no more, and others are served meanwhile', async () => {
  const other = await gateway.company()
  const client = await gateway.db.webhooks.connect()
  try {
    await client.query('begin')
    expect((await claim(client, 50, 40, { [company.companyId]: 0 })).deliveries).toHaveLength(0)
    for (const table of ['webhook_endpoints', 'webhook_deliveries'])
      await client.query(
        `update ${table} set company_id = $1 where endpoint_id in (select endpoint_id from webhook_state order by 1 limit 10)`,
        [other.companyId],
      )
    const served = (await claim(client, 50, 40, { [company.companyId]: 7 })).deliveries
    expect(served.filter(one => one.companyId === company.companyId)).toHaveLength(7)
    expect(served.filter(one => one.companyId === other.companyId)).toHaveLength(10)
  } finally {
    await client.query('rollback')
    client.release()
  }
})

test('the report of one attempt reads the state of its endpoint alone', async () => {
  let settled = ''
  const read = await rowsRead('^webhook_state$', async db => {
    const [delivery] = (await claim(db, 1)).deliveries
    settled = delivery!.endpointId
    const attempt = { attempts: 0, status: 500, error: 'HTTP_500', answer: '', durationMs: 1, body: '{}' }
    await settleDeliveries(
      db,
      [{ ...attempt, ...delivery!, outcome: 'retry', retryDelayMs: 5_000, body: '{}' }],
      [{ endpointId: settled, failures: 1, pauseMs: 0 }],
      '5 days',
    )
  })
  expect(read).toBeLessThanOrEqual(5)
})

test.each(['never counted', 'counted'])(
  'the facts of some e-mails are read without those that lie between them (%s)',
  async how => {
    const bodies = Array.from({ length: 100 }, (_, n) => ({
      to: `r${n}@example.com`,
      subject: 'Hello',
      text: 'It works.',
    }))
    for (let batch = 0; batch < 5; batch++) await gateway.call(company, 'POST', '/v1/email/batch', bodies)
    if (how === 'counted') await gateway.db.pool.query('vacuum analyze')
    const events = (
      await rows(gateway, `select outbox_id as "outboxId", event_id as "eventId" from email_events order by 1`)
    ).filter((_: unknown, n: number) => n % 20 === 0)
    const read = await rowsRead('^email_', async db => {
      expect((await loadEventFacts(db, events)).size).toBe(events.length)
    })
    // The e-mail, the event and the recipient.
    expect(read).toBeLessThanOrEqual(events.length * 3)
  },
)
