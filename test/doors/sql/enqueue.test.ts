import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { changeCompany } from '../../../src/companies/changes.ts'
import { updateCompany } from '../../../src/companies/companies.ts'
import { findLocation } from '../../../src/emails/emails.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { maxAttempts, RETRY_POLICIES, RETRY_POLICY_NAMES, retryDelayMs } from '../../../src/settings/retry.ts'
import { addSuppressions } from '../../../src/suppression/list.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { captured, untilStatus } from '../../support/mail.ts'

const USER = '2c5ea4c0-4067-4e9a-8bad-9b1deb4d3b7d'
const MARIA = { user_data: { full_name: 'Maria' } }

let gateway: TestGateway
let company: TestCompany
/** The application: the owner of the database, over a connection of its own. */
let app: pg.Client

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company({
    name: 'shop',
    fromDomains: ['shop.example'],
    defaultFrom: 'Shop <hi@shop.example>',
  })
  app = new pg.Client({ connectionString: gateway.databaseUrl })
  await app.connect()
})
afterAll(async () => {
  await app?.end()
  await gateway?.stop()
})
beforeEach(() => app.query('reset email_gateway.company'))

// biome-ignore lint/suspicious/noExplicitAny: rows of every form
async function one(sql: string, values: unknown[] = []): Promise<any> {
  return (await app.query(sql, values)).rows[0]
}

async function enqueue(to = 'maria@example.com', payload: object = MARIA, type = 'welcome_user'): Promise<string> {
  return (await one('select enqueue_email($1, $2, $3, $4) as id', [USER, type, to, payload])).id
}

describe('enqueue_email', () => {
  test('sends the rendered template from the default sender of the company, by the patient policy', async () => {
    const id = await enqueue()
    const email = await untilStatus(gateway, company, id, 'SENT')
    expect(email).toMatchObject({ from: 'Shop <hi@shop.example>', to: ['maria@example.com'], maxAttempts: 4 })
    expect(email.events[0]).toMatchObject({
      type: 'QUEUED',
      metadata: { recipientHash: hashEmail('maria@example.com'), via: 'sql', templateType: 'welcome_user' },
    })
    expect((await captured(gateway, id)).html).toContain('Maria')
    expect(await one('select * from email_queue where id = $1', [id])).toMatchObject({
      ...{ id, user_id: USER, template_type: 'welcome_user', recipient_email: 'maria@example.com', payload: MARIA },
      ...{ status: 'sent', retries: 0, max_retries: 3, error_message: null, resend_id: email.messageId },
      last_attempt_at: expect.any(Date),
    })
    expect(await one('select status, subject, "to", sesmessageid from email_logs where outboxid = $1', [id])).toEqual({
      ...{ status: 'SENT', subject: email.subject, to: 'maria@example.com', sesmessageid: email.messageId },
    })
  })

  test('notifies the workers once when the transaction commits, and never after a rollback', async () => {
    const listener = new pg.Client({ connectionString: gateway.databaseUrl })
    await listener.connect()
    const received: (string | undefined)[] = []
    listener.on('notification', ({ channel, payload }) => {
      if (channel === 'sql_test' || payload === '') received.push(channel)
    })
    await listener.query('listen email_ready; listen sql_test')
    await app.query('begin')
    const undone = await enqueue()
    await app.query('rollback')
    await app.query('begin')
    const ids = [await enqueue(), await enqueue(), await enqueue()]
    expect(received).toEqual([])
    await app.query('commit')
    await app.query('notify sql_test')
    await until(
      async () => received,
      got => got.includes('sql_test'),
    )
    expect(received).toEqual(['email_ready', 'sql_test'])
    for (const id of ids) await untilStatus(gateway, company, id, 'SENT')
    expect(await one('select count(*)::int as count from email_logs where outboxid = $1', [undone])).toEqual({
      count: 0,
    })
    await listener.end()
  })

  test('an INSERT INTO email_queue of many rows enqueues each, in their order, and answers their ids', async () => {
    const { rows } = await app.query(
      `insert into email_queue (user_id, template_type, recipient_email, payload)
       select $1, 'welcome_user', 'user' || n || '@example.com', jsonb_build_object('user_data', jsonb_build_object('full_name', 'User ' || n))
       from generate_series(1, 300) n returning id, status, retries`,
      [USER],
    )
    expect(rows[0]).toEqual({ id: expect.any(String), status: 'pending', retries: 0 })
    const ids = rows.map(row => row.id)
    await until(
      () => one(`select count(*)::int as count from email_queue where id = any($1) and status = 'sent'`, [ids]),
      ({ count }) => count === 300,
    )
    const { rows: sent } = await app.query(`select id from email_queue where id = any($1) order by created_at`, [ids])
    expect(sent.map(row => row.id)).toEqual(ids)
  })

  test.each([
    ["insert into email_queue (template_type, recipient_email) values ('t', null)", 'recipient_email must not be null'],
    ["insert into email_queue (recipient_email) values ('a@b.example')", 'template_type must not be null'],
    [
      `insert into email_queue (template_type, recipient_email, status) values ('t', 'a@b.example', 'sent')`,
      'takes user_id',
    ],
    [`select enqueue_email(null, 't', 'a@b.example', '[1]')`, 'payload must be a JSON object, not array'],
    [`select enqueue_email(null, '', 'a@b.example', null)`, 'template_type must have 1 to 100'],
    [
      `select enqueue_email(null, 't', 'a@b.example', jsonb_build_object('x', (select string_agg(md5(n::text), '') from generate_series(1, 40000) n)))`,
      'payload is larger',
    ],
    [
      `select enqueue_email(null, 't', 'a@b.example', jsonb_build_object('x', (select jsonb_agg('1e131071'::jsonb) from generate_series(1, 20) n)))`,
      'payload is larger',
    ],
  ])('%s is refused: %s', async (sql, message) => {
    await expect(app.query(sql)).rejects.toThrow(message)
  })

  test('an address that is none, a template that is none and a missing variable fail the e-mail, not the transaction', async () => {
    await app.query('begin')
    const ids = [await enqueue('not an address'), await enqueue(''), await enqueue(`${'a'.repeat(5000)}@example.com`)]
    ids.push(await enqueue('a@example.com', MARIA, 'no_such_template'), await enqueue('a@example.com', {}))
    await app.query('commit')
    const codes: string[] = []
    for (const id of ids) codes.push((await untilStatus(gateway, company, id, 'FAILED')).lastError.code)
    expect(codes.slice(0, 3)).toEqual(['INVALID_EMAIL', 'INVALID_EMAIL', 'INVALID_EMAIL'])
    expect(codes.slice(3)).toEqual(['TEMPLATE_NOT_FOUND', 'TEMPLATE_VARIABLE_MISSING'])
    expect(await one('select lastfailurecode, companyid from dlq where outboxid = $1', [ids[4]])).toEqual({
      ...{ lastfailurecode: 'TEMPLATE_VARIABLE_MISSING', companyid: company.companyId },
    })
    const { contentGone } = await findLocation(gateway.db.pool, ids[3]!, [])
    expect(contentGone, 'its variables are there: it can be replayed when there is a template').toBe(false)
  })

  test.each([
    ['bad', 'to: The e-mail address has no @'],
    ['josé@example.com', 'to: The e-mail address has characters outside ASCII before the @, which cannot be delivered'],
    ['Maria <maria@example.com>', 'to: The e-mail address must be given alone, without a name'],
  ])('the address %s fails the e-mail with the exact reason', async (address, message) => {
    const { lastError } = await untilStatus(gateway, company, await enqueue(address), 'FAILED')
    expect(lastError).toMatchObject({ code: 'INVALID_EMAIL', message })
  })

  test('a suppressed recipient is rejected with its event, in whatever spelling', async () => {
    const emailHash = hashEmail('stop@xn--bcher-kva.example')
    await addSuppressions(gateway.db.pool, [
      { companyId: null, emailHash, reason: 'MANUAL', expiresInDays: 1, metadata: {}, performedBy: 'test' },
    ])
    const id = await enqueue(' Stop@BÜCHER.example ')
    const email = await untilStatus(gateway, company, id, 'REJECTED')
    expect(email.lastError.code).toBe('RECIPIENT_SUPPRESSED')
    expect(email.events.at(-1)).toMatchObject({ type: 'REJECTED', metadata: { recipient: emailHash } })
    expect(await one('select status, error_message from email_queue where id = $1', [id])).toMatchObject({
      ...{ status: 'failed', error_message: expect.stringContaining('suppression list') },
    })
  })

  test('makes the partitions of a day that has none', async () => {
    const day = new Date().toISOString().slice(0, 10).replaceAll('-', '')
    await app.query('begin')
    for (const table of ['outbox', 'recipients', 'content', 'attachments', 'events'])
      await app.query(`drop table email_${table}_${day}`)
    const id = await enqueue()
    expect(await one('select status from email_queue where id = $1', [id])).toEqual({ status: 'pending' })
    await app.query('rollback')
  })
})

describe('the company of an e-mail', () => {
  const makeDefault = (companyId: string) =>
    changeCompany(gateway.db.pool, companyId, { isDefault: true }, { performedBy: 'test' })
  const companyOf = async (id: string) =>
    (await one('select companyid from email_logs where outboxid = $1', [id])).companyid

  test('is the first one, then the default one, or the one that the owner sets by name or id', async () => {
    const [second, third] = [await gateway.company({ name: 'second' }), await gateway.company()]
    expect(await companyOf(await enqueue())).toBe(company.companyId)
    await makeDefault(second.companyId)
    expect(await companyOf(await enqueue())).toBe(second.companyId)
    await makeDefault(company.companyId)
    expect(await companyOf(await enqueue())).toBe(company.companyId)
    await app.query(`set email_gateway.company = 'second'`)
    expect(await companyOf(await enqueue())).toBe(second.companyId)
    await app.query(`set email_gateway.company = '${third.companyId.toUpperCase()}'`)
    expect(await companyOf(await enqueue())).toBe(third.companyId)
    expect(await one('select count(distinct companyid)::int as companies from email_logs')).toEqual({ companies: 1 })
    await app.query(`set email_gateway.company = 'nobody'`)
    await expect(enqueue()).rejects.toThrow('There is no company "nobody"')
  })

  test('decides its policy, and EMAIL_FROM stands in for a default sender', async () => {
    const strict = await gateway.company({ name: 'strict', retryPolicy: 'exponential' })
    await app.query(`set email_gateway.company = 'strict'`)
    const id = await enqueue()
    expect(await untilStatus(gateway, strict, id, 'SENT')).toMatchObject({ maxAttempts: 5 })
    await updateCompany(gateway.db.pool, strict.companyId, { fromDomains: ['strict.example'] })
    expect(await untilStatus(gateway, strict, await enqueue(), 'SENT')).toMatchObject({
      from: expect.stringContaining('gateway@'),
    })
  })
})

test('the retry policies of SQL are those of TypeScript', async () => {
  for (const policy of RETRY_POLICY_NAMES)
    expect(
      await one('select retry_policy_attempts($1) as attempts, retry_policy_delays($1) as delays', [policy]),
    ).toEqual({
      attempts: maxAttempts(policy),
      delays: RETRY_POLICIES[policy].delaysSeconds,
    })
})

test('the delays of SQL have the jitter of TypeScript', async () => {
  for (const policy of RETRY_POLICY_NAMES) {
    for (const failed of [1, 2, 3, 4, 5, 6, 7, 40]) {
      for (const drawn of [0, 0.123, 0.5, 0.987, 1 - Number.EPSILON]) {
        const { delay } = await one('select retry_delay_ms($1, $2, $3) as delay', [policy, failed, drawn])
        expect(
          Math.abs(delay - retryDelayMs(policy, failed, () => drawn)),
          `${policy} ${failed} ${drawn}`,
        ).toBeLessThan(2)
      }
    }
  }
})

test('statistics wait for a transaction that has enqueued e-mails, for an hour at most', async () => {
  const { pool } = gateway.db
  const countedAgo = async () => {
    await pool.query(`update statistics_cursor set counted_until = now() - interval '2 hours'`)
    // Each call counts a few minutes.
    let counted: boolean
    do counted = (await pool.query('select roll_up_statistics() as counted')).rows[0].counted
    while (counted)
    const { rows } = await pool.query(
      `select round(extract(epoch from now() - counted_until) / 60)::int as minutes from statistics_cursor`,
    )
    return rows[0].minutes
  }
  expect(await countedAgo()).toBe(1)
  await app.query('begin')
  await enqueue()
  const { started } = await one(
    `select objid::bigint * 60 as started from pg_locks where pid = pg_backend_pid() and classid = 7305002`,
  )
  expect(Math.abs(Date.now() / 1000 - started)).toBeLessThan(120)
  // As if the transaction had begun earlier.
  const since = (minutes: number) =>
    app.query('select pg_advisory_xact_lock_shared(7305002, floor(extract(epoch from now()) / 60)::int - $1::int)', [
      minutes,
    ])
  await since(10)
  expect([10, 11]).toContain(await countedAgo())
  await since(90)
  expect(await countedAgo()).toBe(60)
  await app.query('rollback')
  expect(await countedAgo()).toBe(1)
})
