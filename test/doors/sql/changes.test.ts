import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../../src/admins/administrators.ts'
import { removeProcess, reportProcess } from '../../../src/settings/processes.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { read, sendOk, untilStatus } from '../../support/mail.ts'

let gateway: TestGateway
let company: TestCompany
let app: pg.Client
const notices: string[] = []

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company({ name: 'shop' })
  app = new pg.Client({ connectionString: gateway.databaseUrl })
  app.on('notice', ({ message }) => notices.push(message ?? ''))
  await app.connect()
})
afterAll(async () => {
  await app?.end()
  await gateway?.stop()
})

// biome-ignore lint/suspicious/noExplicitAny: rows of every form
async function one(sql: string, values: unknown[] = []): Promise<any> {
  return (await app.query(sql, values)).rows[0]
}
const markFailed = async (id: string) =>
  (await one('select mark_email_failed($1, $2) as is', [id, 'Teste de retry'])).is
const cancel = async (id: string) => (await one('select cancel_email($1) as is', [id])).is

/** Waits until the company is resumed. */
async function waiting(): Promise<string> {
  await app.query(`update companies set paused_at = now(), pause_reason = 'test'`)
  const payload = { user_data: { full_name: 'Maria' } }
  const { id } = await one(`select enqueue_email(null, 'welcome_user', 'maria@example.com', $1) as id`, [payload])
  return id
}
const resume = () => app.query('update companies set paused_at = null, pause_reason = null')

describe('mark_email_failed', () => {
  test('counts one failure and schedules the retry of the patient policy, and the third retry is the last', async () => {
    const id = await waiting()
    for (const [failed, minutes] of [
      [1, 1],
      [2, 5],
      [3, 15],
    ] as const) {
      expect(await markFailed(id)).toBe('RETRY_SCHEDULED')
      const row = await one(
        `select status, retries, error_message, extract(epoch from next_retry_at - now())::float8 / 60 as minutes from email_queue where id = $1`,
        [id],
      )
      expect(row).toMatchObject({ status: 'pending', retries: failed, error_message: 'Teste de retry' })
      expect(row.minutes).toBeGreaterThan(minutes * 0.74)
      expect(row.minutes).toBeLessThan(minutes * 1.26)
    }
    expect(await markFailed(id)).toBe('DLQ')
    const email = await read(gateway, company, id)
    expect(email).toMatchObject({ status: 'DLQ', attempts: 4, lastError: { code: 'MARKED_AS_FAILED' } })
    expect(email.events.map((event: { type: string }) => event.type)).toEqual([
      'QUEUED',
      'RETRY_SCHEDULED',
      'RETRY_SCHEDULED',
      'RETRY_SCHEDULED',
      'FAILED',
      'DLQ_MOVED',
    ])
    const dead = await one('select failedattempts, lastfailurereason, retryhistory from dlq where outboxid = $1', [id])
    expect(dead).toMatchObject({ failedattempts: 4, lastfailurereason: 'Teste de retry', retryhistory: { length: 4 } })
    expect(await one('select status, retries from email_queue where id = $1', [id])).toEqual({
      status: 'failed',
      retries: 3,
    })
    expect(await one('select count(*)::int as rows from email_scheduled where outbox_id = $1', [id])).toEqual({
      rows: 0,
    })
  })

  test('waits as the setting RETRY_POLICY says when neither the request nor the company chose a policy', async () => {
    const worker = {
      processId: randomUUID(),
      host: 'worker',
      pid: 1,
      role: 'worker' as const,
      version: '1',
      providers: ['capture'],
    }
    await reportProcess(gateway.db.pool, { ...worker, settings: { RETRY_POLICY: 'patient' } })
    const [chosen, usual] = [
      await sendOk(gateway, company, { delay: 3_600_000, retryPolicy: 'steps' }),
      await sendOk(gateway, company, { delay: 3_600_000 }),
    ]
    for (const [id, seconds] of [
      [chosen, 1],
      [usual, 60],
    ] as const) {
      expect(await markFailed(id)).toBe('RETRY_SCHEDULED')
      const { metadata } = await one(
        `select metadata from email_events where outbox_id = $1 and type = 'RETRY_SCHEDULED'`,
        [id],
      )
      expect(metadata.backoffDelay).toBeGreaterThanOrEqual(seconds * 750)
      expect(metadata.backoffDelay).toBeLessThanOrEqual(seconds * 1_250)
      expect(await cancel(id)).toBe('CANCELLED')
    }
    await removeProcess(gateway.db.pool, worker.processId)
  })

  test('tells the webhooks of a dead letter', async () => {
    const url = 'https://example.com/hook'
    await gateway.call(company, 'POST', '/v1/webhooks', { url })
    const id = await waiting()
    for (let nth = 0; nth < 4; nth++) await markFailed(id)
    const delivery = await one('select type from webhook_deliveries where outbox_id = $1', [id])
    expect(delivery).toEqual({ type: 'email.failed' })
  })

  test('on what is not waiting changes nothing and says so', async () => {
    await resume()
    const id = await sendOk(gateway, company)
    await untilStatus(gateway, company, id, 'SENT')
    notices.length = 0
    expect(await markFailed(id)).toBe('NOT_WAITING')
    expect(await markFailed('2c5ea4c0-4067-4e9a-8bad-9b1deb4d3b7d')).toBe('NOT_FOUND')
    expect(notices[0]).toContain(`the e-mail ${id} has been started or has ended`)
    expect(await read(gateway, company, id)).toMatchObject({ status: 'SENT', attempts: 1 })
  })
})

describe('process_pending_emails_for_retry', () => {
  test('brings so many scheduled retries forward, returns them, and they are sent', async () => {
    const ids = [await waiting(), await waiting(), await waiting()]
    for (const id of ids) await markFailed(id)
    const later = await sendOk(gateway, company, { delay: 3_600_000 })
    await resume()
    const { rows } = await app.query('select * from process_pending_emails_for_retry(2)')
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatchObject({ template_type: 'welcome_user', status: 'pending', retries: 1, next_retry_at: null })
    const rest = await app.query('select id from process_pending_emails_for_retry(10)')
    expect([...rows, ...rest.rows].map(row => row.id).sort()).toEqual(ids.sort())
    for (const id of ids) expect(await untilStatus(gateway, company, id, 'SENT')).toMatchObject({ attempts: 2 })
    expect(await read(gateway, company, later)).toMatchObject({ status: 'PENDING' })
    expect(await cancel(later)).toBe('CANCELLED')
  })

  test('after a rollback the retries are as they were', async () => {
    const id = await waiting()
    await markFailed(id)
    await resume()
    await app.query('begin')
    expect((await app.query('select from process_pending_emails_for_retry(10)')).rowCount).toBe(1)
    await app.query('rollback')
    expect(await one('select count(*)::int as rows from email_scheduled where outbox_id = $1', [id])).toEqual({
      rows: 1,
    })
    expect(await cancel(id)).toBe('CANCELLED')
  })
})

describe('cancel_email', () => {
  test('cancels what waits, once, and it is never sent', async () => {
    const id = await waiting()
    expect(await cancel(id)).toBe('CANCELLED')
    expect(await cancel(id)).toBe('NOT_WAITING')
    await resume()
    const email = await read(gateway, company, id)
    expect(email).toMatchObject({ status: 'CANCELLED' })
    expect(email.events.at(-1)).toMatchObject({
      type: 'CANCELLED',
      metadata: { cancelledBy: expect.stringMatching(/^role /) },
    })
    expect(await one('select status from email_queue where id = $1', [id])).toEqual({ status: 'cancelled' })
  })
})

test.each(['update email_queue set user_id = null', 'delete from email_queue', 'delete from email_logs'])(
  '%s is refused, also to the owner',
  async sql => {
    await expect(app.query(sql)).rejects.toThrow(/is not changed by/)
  },
)

describe('over HTTP', () => {
  const body = (change: object = {}) => ({
    ...{ p_user_id: '2c5ea4c0-4067-4e9a-8bad-9b1deb4d3b7d', p_template_type: 'welcome_user' },
    ...{ p_recipient_email: 'test@example.com', p_payload: { user_data: { full_name: 'Test User' } }, ...change },
  })
  const enqueue = (caller: { apiKey: string }, change?: object) =>
    gateway.call(null, 'POST', '/rest/v1/rpc/enqueue_email', body(change), { authorization: `Bearer ${caller.apiKey}` })

  test('enqueue_email answers the id as a JSON string, and the e-mail is sent', async () => {
    const answer = await enqueue(company)
    expect(answer).toMatchObject({ status: 200, body: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    await untilStatus(gateway, company, answer.body, 'SENT')
  })

  test('a test key makes a test e-mail, which SQL does not show', async () => {
    const key = await gateway.key(company.companyId, { mode: 'test' })
    const { body: id } = await enqueue(key)
    await untilStatus(gateway, { ...company, ...key }, id, 'SENT')
    expect(await one('select count(*)::int as rows from email_queue where id = $1', [id])).toEqual({ rows: 0 })
  })

  test('a key without the scope manage and a wrong body are refused', async () => {
    const key = await gateway.key(company.companyId, { scopes: ['send', 'read'] })
    expect(await enqueue(key)).toMatchObject({ status: 403, body: { code: 'INSUFFICIENT_SCOPE' } })
    expect(await enqueue(company, { p_payload: [1], p_user_id: 'USER_UUID' })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'p_user_id' }, { path: 'p_payload' }] },
    })
  })

  test('process-email-queue brings retries forward, with or without a body', async () => {
    const { url } = gateway
    const headers = { authorization: `Bearer ${company.apiKey}` }
    for (const options of [{}, { body: '{"limit":5}', headers: { ...headers, 'content-type': 'application/json' } }]) {
      const id = await waiting()
      await markFailed(id)
      await resume()
      const answer = await fetch(`${url}/functions/v1/process-email-queue`, { method: 'POST', headers, ...options })
      expect(await answer.json()).toEqual({ processed: 1, outboxIds: [id] })
      await until(
        () => read(gateway, company, id),
        email => email.status === 'SENT',
      )
    }
  })

  test('an administrator brings retries forward, of all companies or of one', async () => {
    await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
    const authorization = `Basic ${Buffer.from('ana:a password of ana').toString('base64')}`
    const process = (body: object) => gateway.call(null, 'POST', '/admin/queue/process', body, { authorization })
    const other = await gateway.company()
    const id = await waiting()
    await markFailed(id)
    expect((await process({ companyId: other.companyId })).body).toEqual({ processed: 0, outboxIds: [] })
    expect((await process({})).body).toEqual({ processed: 1, outboxIds: [id] })
    expect((await process({ companyId: 'nobody' })).status).toBe(422)
    await resume()
    await untilStatus(gateway, company, id, 'SENT')
  })
})
