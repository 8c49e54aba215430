import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WakeableSleep } from '../../src/platform/sleep.ts'
import { WebhookDispatcher } from '../../src/webhooks/dispatcher.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { SHARED_SECRETS } from '../support/second-gateway.ts'
import { type Receiver, register, startReceiver, withStatus } from '../support/webhook-receiver.ts'
import { startWorker, type TestWorker } from '../support/worker.ts'

const env = { WEBHOOK_ALLOW_PRIVATE: 'true', ...SHARED_SECRETS }
const workers: TestWorker[] = []
let gateway: TestGateway
let company: TestCompany
let receiver: Receiver

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api', env })
  company = await gateway.company()
  receiver = await startReceiver()
})
afterAll(async () => {
  // Before the workers: what hangs there would be waited for.
  await receiver.close()
  for (const worker of workers) await worker.stop()
  await gateway.stop()
})

/** So many test events at once, as if they had gathered while nobody delivered. */
async function pile(endpointId: string, count: number): Promise<void> {
  await gateway.db.pool.query(
    `with d as (
       insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, data)
       select w.endpoint_id, uuid_v7_now(), w.company_id, 'webhook.test', '{"message": "It works."}'
       from webhook_endpoints w, generate_series(1, $2::int) where w.endpoint_id = $1 returning *
     )
     insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from d`,
    [endpointId, count],
  )
}

const waiting = async (ids: string[]) =>
  (
    await rows(
      gateway,
      `select count(*)::int from webhook_deliveries where endpoint_id = any($1) and status = 'waiting'`,
      [ids],
    )
  )[0].count

test('endpoints that hang or fail, with thousands waiting, neither take the slots of a healthy one nor slow it', async () => {
  const ids: Record<string, string> = {}
  for (const path of ['hang-1', 'hang-2', 'fail-1', 'fail-2', 'healthy']) {
    ids[path] = (await register(gateway, company, `${receiver.url}/${path}`)).id
    if (path.startsWith('hang')) receiver.answer(`/${path}`, () => {})
    if (path.startsWith('fail')) receiver.answer(`/${path}`, withStatus(500))
    if (path !== 'healthy') await pile(ids[path]!, 5_000)
  }
  workers.push(await startWorker(gateway, env))
  await receiver.got('/hang-1', 1)
  await receiver.got('/hang-2', 1)
  await pile(ids.healthy!, 300)
  await until(
    () => waiting([ids.healthy!]),
    count => count === 0,
  )
  // Nobody knows of it yet that it answers: one at a time.
  expect(receiver.at('/hang-1')).toHaveLength(1)
  expect(receiver.at('/hang-2')).toHaveLength(1)
  expect(receiver.at('/fail-1').length).toBeLessThan(10)
  expect(receiver.at('/healthy')).toHaveLength(300)
  await gateway.call(company, 'DELETE', `/v1/webhooks/${ids['hang-1']}`)
  await gateway.call(company, 'DELETE', `/v1/webhooks/${ids['hang-2']}`)
})

test('a company with hundreds of endpoints that hang leaves slots to others', async () => {
  const greedy = await gateway.company()
  await register(gateway, greedy, `${receiver.url}/greedy`)
  await gateway.db.pool.query(
    `with w as (
       insert into webhook_endpoints (endpoint_id, company_id, url, event_types, secret_cipher)
       select gen_random_uuid(), $1, $2 || '/greedy', '{email.sent}', (select secret_cipher from webhook_endpoints where company_id = $1)
       from generate_series(1, 600) returning endpoint_id
     ), s as (
       insert into webhook_state (endpoint_id) select endpoint_id from w
     ), d as (
       insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, data)
       select endpoint_id, uuid_v7_now(), $1, 'webhook.test', '{}' from w returning *
     )
     insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from d`,
    [greedy.companyId, receiver.url],
  )
  receiver.answer('/greedy', () => {})
  await until(
    async () => receiver.at('/greedy').length,
    count => count >= 128,
    30_000,
  )
  const { id } = await register(gateway, company, `${receiver.url}/beside-greedy`)
  await pile(id, 50)
  await until(
    () => waiting([id]),
    count => count === 0,
    30_000,
  )
  expect(receiver.at('/beside-greedy')).toHaveLength(50)
  await gateway.db.pool.query(
    `delete from webhook_ready where endpoint_id in (select endpoint_id from webhook_endpoints where company_id = $1)`,
    [greedy.companyId],
  )
})

test('several processes deliver each webhook once, at most eight at a time to one endpoint', async () => {
  const paths = Array.from({ length: 5 }, (_, n) => `/shared-${n}`)
  const atOnce = new Map(paths.map(path => [path, { now: 0, most: 0 }]))
  const other = await gateway.company()
  const ids: string[] = []
  for (const path of paths) {
    ids.push((await register(gateway, other, receiver.url + path)).id)
    receiver.answer(path, async response => {
      const seen = atOnce.get(path)!
      seen.most = Math.max(seen.most, ++seen.now)
      await sleep(5)
      seen.now--
      response.writeHead(200).end()
    })
  }
  workers.push(await startWorker(gateway, env), await startWorker(gateway, env))
  for (const id of ids) await pile(id, 60)
  await until(
    () => waiting(ids),
    count => count === 0,
  )
  for (const path of paths) {
    expect(new Set(receiver.at(path).map(one => one.headers['webhook-id'])).size).toBe(60)
    expect(receiver.at(path)).toHaveLength(60)
    expect(atOnce.get(path)!.most).toBeGreaterThan(1)
    expect(atOnce.get(path)!.most).toBeLessThanOrEqual(8)
  }
})

test('any number of endpoints that are to be left alone is looked at now and then, not around and around', async () => {
  const pool = new pg.Pool({ connectionString: gateway.databaseUrl })
  await pool.query('delete from webhook_ready')
  const { rows: made } = await pool.query(
    `with w as (
       insert into webhook_endpoints (endpoint_id, company_id, url, event_types, secret_cipher)
       select gen_random_uuid(), $1, 'http://127.0.0.1:9/', '{email.sent}', '\\x00' from generate_series(1, 600) returning endpoint_id
     ), s as (
       insert into webhook_state (endpoint_id, failures, failing_since, resume_at)
       select endpoint_id, 3, now(), now() + interval '1 hour' from w
     )
     select endpoint_id from w`,
    [company.companyId],
  )
  for (const { endpoint_id } of made) await pile(endpoint_id, 1)
  let claims = 0
  const query = (given: { name?: string }) => {
    if (given.name === 'claim-deliveries') claims++
    return pool.query(given as pg.QueryConfig)
  }
  const dispatcher = new WebhookDispatcher({
    db: { query: query as pg.Pool['query'] },
    log: pino({ level: 'silent' }),
    ready: new WakeableSleep(),
    holdSeconds: 15,
    vacuum: { count: () => {}, clean: async () => {} },
    notify: () => Promise.reject(new Error('nothing is to be delivered')),
  })
  dispatcher.start()
  await sleep(1_000)
  await dispatcher.stop()
  await pool.query('delete from webhook_ready')
  await pool.end()
  // Four looks a second, three claims each, and one round more at the start.
  expect(claims).toBeGreaterThanOrEqual(3)
  expect(claims).toBeLessThan(24)
})
