import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createSqlAccess, revokeSqlAccess, roleNameOf, scramVerifier } from '../../../src/companies/sql-access.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { read, sendOk, untilStatus } from '../../support/mail.ts'

const PASSWORD = 'correct-horse-battery'

let gateway: TestGateway
let shop: TestCompany
let bank: TestCompany
let asShop: pg.Client

beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await gateway.company({ name: 'shop' })
  bank = await gateway.company({ name: 'bank' })
  const { companyId } = shop
  const role = roleNameOf(companyId)
  await createSqlAccess(gateway.db.pool, { role, companyId, verifier: scramVerifier(PASSWORD) })
  const url = new URL(gateway.databaseUrl)
  Object.assign(url, { username: role, password: PASSWORD })
  asShop = new pg.Client({ connectionString: url.href })
  await asShop.connect()
})
afterEach(() => asShop.query('rollback'))
afterAll(async () => {
  await asShop?.end()
  await revokeSqlAccess(gateway.db.pool, roleNameOf(shop.companyId), true)
  await gateway?.stop()
})

const pause = () => gateway.db.pool.query(`update companies set paused_at = now(), pause_reason = 'test'`)
const resume = () => gateway.db.pool.query('update companies set paused_at = null, pause_reason = null')

async function enqueue(template: string): Promise<string> {
  const { rows } = await asShop.query(
    `select enqueue_email(null, $1, 'maria@shop.example', '{"user_data": {"full_name": "X"}}') as id`,
    [template],
  )
  return rows[0].id
}

/** Those that a worker has met locked. */
async function passedOver(ids: string[]): Promise<string[]> {
  const found = await gateway.db.pool.query(
    'select distinct outbox_id from email_scheduled where outbox_id = any($1)',
    [ids],
  )
  return found.rows.map(row => row.outbox_id)
}

/** One with content, one that a worker renders, and one that a worker can only give up. */
async function waitingOfShop() {
  await pause()
  return {
    sendable: [await sendOk(gateway, shop), await enqueue('welcome_user')],
    hopeless: await enqueue('no_such_template'),
  }
}

async function lockAll(change: string, ids: string[]): Promise<void> {
  await asShop.query('begin')
  for (const id of ids) await asShop.query(`select ${change}`, [id])
  await asShop.query('set local idle_in_transaction_session_timeout = 0')
}

test("changes over HTTP of e-mails that a company keeps locked are refused soon, and hold up nobody else's requests", async () => {
  await pause()
  const ids: string[] = []
  for (let made = 0; made < 12; made++) ids.push(await sendOk(gateway, shop))
  await lockAll('cancel_email($1)', ids)
  const startedMs = performance.now()
  const changes = ids.flatMap(id => [
    gateway.call(shop, 'POST', `/v1/email/${id}/cancel`),
    gateway.call(shop, 'PATCH', `/v1/email/${id}`, { delay: 60_000 }),
  ])
  const beside = await gateway.call(bank, 'GET', '/v1/emails')
  expect(beside.status).toBe(200)
  for (const { status, body } of await Promise.all(changes)) expect([status, body.code]).toEqual([409, 'EMAIL_LOCKED'])
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  await asShop.query('rollback')
  const cancelled = await Promise.all(ids.map(id => gateway.call(shop, 'POST', `/v1/email/${id}/cancel`)))
  expect(new Set(cancelled.map(({ status }) => status))).toEqual(new Set([200]))
  await resume()
})

test("an advisory lock of one company holds up nobody else's enqueue_email", async () => {
  await asShop.query('begin')
  await asShop.query(
    `select pg_advisory_xact_lock(7305002, (floor(extract(epoch from now()) / 60)::int) + n) from generate_series(0, 3) n`,
  )
  const { rows } = await gateway.db.pool.query<{ id: string }>(
    `select put_sql_email($1, false, gen_random_uuid(), 'welcome_user', 'ana@bank.example', $2) as id`,
    [bank.companyId, { user_data: { full_name: 'Ana' } }],
  )
  await untilStatus(gateway, bank, rows[0]!.id, 'SENT')
})

test.each(['cancel_email($1)', `mark_email_failed($1, 'x')`])(
  "%s in a transaction that stays open stops no other company's e-mail, and after its rollback each e-mail is sent once",
  async change => {
    const { sendable, hopeless } = await waitingOfShop()
    const beside = await sendOk(gateway, bank)
    const ids = [...sendable, hopeless]
    await lockAll(change, ids)
    await resume()
    await untilStatus(gateway, bank, beside, 'SENT')
    await until(
      () => passedOver(ids),
      found => found.length === ids.length,
    )
    const { createdAt, sentAt } = await untilStatus(gateway, bank, await sendOk(gateway, bank), 'SENT')
    expect(Date.parse(sentAt) - Date.parse(createdAt)).toBeLessThan(3_000)
    for (const id of ids) expect(await read(gateway, shop, id)).toMatchObject({ status: 'PENDING', attempts: 0 })

    await asShop.query('rollback')
    for (const id of sendable) {
      const email = await untilStatus(gateway, shop, id, 'SENT')
      expect(email.attempts).toBe(1)
      expect(email.events.filter((event: { type: string }) => event.type === 'SENT')).toHaveLength(1)
    }
    await untilStatus(gateway, shop, hopeless, 'FAILED')
  },
)

test('what was passed over and is then cancelled by the commit is never sent', async () => {
  const { sendable } = await waitingOfShop()
  await lockAll('cancel_email($1)', sendable)
  await resume()
  await until(
    () => passedOver(sendable),
    found => found.length === sendable.length,
  )
  await asShop.query('commit')
  await until(
    () => passedOver(sendable),
    found => found.length === 0,
  )
  await untilStatus(gateway, bank, await sendOk(gateway, bank), 'SENT')
  for (const id of sendable) expect(await read(gateway, shop, id)).toMatchObject({ status: 'CANCELLED', attempts: 0 })
})

test('more due e-mails than are made ready at once, all locked, do not keep others from becoming ready', async () => {
  await pause()
  const ids = [await sendOk(gateway, shop, { delay: 3_600_000 }), await sendOk(gateway, bank, { delay: 3_600_000 })]
  await lockAll('cancel_email($1)', [ids[0]!])
  // Its scheduled rows are the oldest, and more than one batch.
  await gateway.db.pool.query(
    `insert into email_scheduled (due_at, outbox_id, company_id, priority)
     select now() - n * interval '1 second', s.outbox_id, s.company_id, s.priority
     from email_scheduled s cross join generate_series(1, 1500) n where s.outbox_id = $1`,
    [ids[0]],
  )
  await resume()
  await gateway.db.pool.query(
    `with moved as (update email_scheduled set due_at = now() where outbox_id = $1)
     update email_outbox set next_attempt_at = now() where outbox_id = $1`,
    [ids[1]],
  )
  await untilStatus(gateway, bank, ids[1]!, 'SENT')
  await asShop.query('commit')
  expect(await read(gateway, shop, ids[0]!)).toMatchObject({ status: 'CANCELLED' })
})
