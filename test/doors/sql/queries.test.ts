import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway } from '../../support/gateway.ts'
import { sendOk, untilStatus } from '../../support/mail.ts'

/** The statements of queries.sql, without their comments. */
const STATEMENTS = readFileSync(join(import.meta.dirname, 'queries.sql'), 'utf8')
  .replaceAll(/^--.*$/gm, '')
  .split(';')
  .map(text => text.trim())
  .filter(Boolean)

let gateway: TestGateway
let company: TestCompany
let app: pg.Client
/** By its recipient. */
const ids: Record<string, string> = {}

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company({ name: 'shop' })
  app = new pg.Client({ connectionString: gateway.databaseUrl })
  await app.connect()
  for (const name of ['sent', 'retried', 'failed', 'waiting', 'cancelled']) {
    if (name === 'waiting') await sendTheFirstThenPause()
    const type = name === 'failed' ? 'no_such_template' : 'welcome_user'
    const { rows } = await app.query(`select enqueue_email(null, $1, $2, '{"user_data": {"full_name": "X"}}') as id`, [
      type,
      `${name}@example.com`,
    ])
    ids[name] = rows[0].id
    if (name === 'cancelled') await app.query('select cancel_email($1)', [ids[name]])
  }
  // As if two attempts had failed before.
  await app.query(`update email_outbox set attempts = 3 where outbox_id = $1`, [ids.retried])
})
afterAll(async () => {
  await app?.end()
  await gateway?.stop()
})

async function sendTheFirstThenPause() {
  await untilStatus(gateway, company, ids.sent!, 'SENT')
  await untilStatus(gateway, company, ids.retried!, 'SENT')
  await untilStatus(gateway, company, ids.failed!, 'FAILED')
  await app.query(`update companies set paused_at = now(), pause_reason = 'test'`)
}

async function answerTo(beginning: string) {
  const statements = STATEMENTS.filter(text => text.replaceAll(/\s+/g, ' ').startsWith(beginning))
  expect(statements, beginning).toHaveLength(1)
  return (await app.query(statements[0]!)).rows
}

test('every query runs as it is printed', async () => {
  expect(STATEMENTS).toHaveLength(11)
  for (const text of STATEMENTS) await app.query(text.replace('QUEUE_ID_HERE', ids.sent!))
})

test('the dead letters are counted by code and by company', async () => {
  expect(await answerTo('SELECT lastFailureCode')).toEqual([{ lastfailurecode: 'TEMPLATE_NOT_FOUND', count: '1' }])
  expect(await answerTo('SELECT companyId')).toEqual([{ companyid: company.companyId, count: '1' }])
})

test('what is pending, how much failed, and with which errors', async () => {
  expect(await answerTo('SELECT template_type, COUNT(*) as pending_count')).toEqual([
    { template_type: 'welcome_user', pending_count: '1', avg_retries: '0.00000000000000000000' },
  ])
  expect(await answerTo('SELECT template_type, COUNT(*) as total')).toEqual([
    { template_type: 'no_such_template', total: '1', failed: '1', failure_rate: '100.00' },
    { template_type: 'welcome_user', total: '4', failed: '0', failure_rate: '0.00' },
  ])
  expect(await answerTo('SELECT error_message')).toEqual([
    { error_message: 'There is no published template no_such_template', count: '1' },
  ])
  const states = await answerTo('SELECT status, COUNT(*)')
  expect(Object.fromEntries(states.map(row => [row.status, row.count]))).toEqual({
    sent: '2',
    failed: '1',
    pending: '1',
    cancelled: '1',
  })
})

test('what needed a retry, and how often that helped', async () => {
  expect(await answerTo('SELECT id, template_type')).toEqual([
    expect.objectContaining({ id: ids.retried, recipient_email: 'retried@example.com', retries: 2 }),
  ])
  expect(await answerTo('SELECT retries, COUNT(*)')).toEqual([
    { retries: 2, count: '1', eventually_sent: '1', recovery_rate: '100.00' },
  ])
})

test('the waiting e-mail is found, and nothing is brought forward without a retry', async () => {
  expect(await answerTo('SELECT * FROM email_queue')).toEqual([
    expect.objectContaining({ id: ids.waiting, status: 'pending' }),
  ])
  expect(await answerTo('SELECT * FROM process_pending_emails_for_retry')).toEqual([])
})

test('e-mails that came over HTTP are in the same queue, and events have both names of their type', async () => {
  await app.query('update companies set paused_at = null, pause_reason = null')
  const id = await sendOk(gateway, company)
  await untilStatus(gateway, company, id, 'SENT')
  const { rows } = await app.query(
    `select q.status, e.event_type, e.type from email_queue q join email_events e on e.outbox_id = q.id where q.id = $1 and e.event_type = 'SENT'`,
    [id],
  )
  expect(rows).toEqual([{ status: 'sent', event_type: 'SENT', type: 'SENT' }])
})
