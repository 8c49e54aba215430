import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { storeProviderEvents } from '../../src/outbox/provider-events.ts'
import { eraseWithin, requestErasure } from '../../src/people/erase.ts'
import { inTransaction } from '../../src/platform/postgres/query.ts'
import { addressKey } from '../../src/platform/text/addresses.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions } from '../../src/suppression/list.ts'
import { makeDead } from '../support/dead.ts'
import { dumpRows, rowsWith } from '../support/dump.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { captured, read, rows, send, sendOk, untilStatus } from '../support/mail.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { register, startReceiver } from '../support/webhook-receiver.ts'

const LOGIN = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }
const CPF = '529.982.247-25'
const PLAIN_CPF = '52998224725'
const LATER = { delay: 3_600_000 }

let gateway: TestGateway
let company: TestCompany
let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
  // The answers of keys that are kept for longer than a day are found as well.
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true', REDIS_URL: redis.url, RETENTION_IDEMPOTENCY_DAYS: '3' }
  gateway = await startTestGateway({ env })
  company = await gateway.company()
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
})
afterAll(async () => {
  await gateway?.stop()
  await redis?.close()
})

/** Every command that ever changed Redis, from its append-only file. */
async function writtenToRedis(): Promise<string> {
  const folder = join(redis.directory, 'appendonlydir')
  const files = (await readdir(folder)).map(name => readFile(join(folder, name), 'latin1'))
  return (await Promise.all(files)).join('')
}

const admin = (path: string, body?: unknown) =>
  gateway.call(null, body === undefined ? 'GET' : 'POST', `/admin/people/${path}`, body, LOGIN)
const NOTHING = {
  emails: 0,
  cancelled: 0,
  recipients: 0,
  recipientRecords: 0,
  contents: 0,
  attachments: 0,
  events: 0,
  captured: 0,
  providerEvents: 0,
  webhookDeliveries: 0,
  deadLetters: 0,
  idempotencyAnswers: 0,
}
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

describe('erasing a person', () => {
  test('removes the address, the name, the document and the content everywhere, and says how much', async () => {
    const address = 'Maria.Silva@example.com'
    const receiver = await startReceiver()
    receiver.answer('/', response => response.writeHead(500).end('maria.silva@example.com is not known here'))
    await register(gateway, company, `${receiver.url}/`)
    const recipient = { externalId: 'client-77', cpfCnpj: CPF, nome: 'Maria Silva', razaoSocial: 'Silva Doces' }
    const sent = await sendOk(
      gateway,
      company,
      {
        to: `Maria Silva <${address}>`,
        cc: ['accountant@example.com'],
        subject: `Invoice of ${address}`,
        html: `<p>${address} owes</p>`,
        replyTo: address,
        headers: { 'X-Client': 'maria.silva@example.com' },
        tags: ['maria.silva@example.com'],
        externalId: 'maria.silva@example.com',
        recipient,
        attachments: [{ filename: 'maria.silva@example.com.txt', content: 'YQ==' }],
      },
      { 'idempotency-key': 'maria-1' },
    )
    await untilStatus(gateway, company, sent, 'SENT')
    await until(
      () => rows(gateway, 'select body from webhook_deliveries where outbox_id = $1', [sent]),
      ([delivery]) => delivery?.body != null,
    )
    const waiting = await sendOk(gateway, company, { to: address, ...LATER })
    const asCopy = await sendOk(gateway, company, { to: 'boss@example.com', cc: [address], ...LATER })
    const [dead] = await makeDead(gateway.db.pool, company.companyId, 1, { reason: `550 no ${address} here` })
    await gateway.db.pool.query(
      'update email_recipients set address = $2, address_key = $3 where outbox_id = $1 and ordinal = 0',
      [dead, address, addressKey(hashEmail(address))],
    )
    await storeProviderEvents(gateway.db.pool, [
      { provider: 'ses', externalId: 'lost', payload: JSON.stringify({ recipient: address }) },
    ])
    await until(
      () => rows(gateway, `select state from provider_events where external_id = 'lost'`),
      ([event]) => event.state === 'unreadable',
    )
    const other = await sendOk(gateway, company, { to: 'joao@example.com' })
    await untilStatus(gateway, company, other, 'SENT')
    await addSuppressions(gateway.db.pool, [
      {
        companyId: null,
        emailHash: hashEmail(address),
        reason: 'MANUAL',
        expiresInDays: 0,
        metadata: {},
        performedBy: 'ana',
        justification: 'asked',
      },
    ])
    expect((await rowsWith(gateway.db.pool, address)).length, 'the search finds what is there').toBeGreaterThan(9)
    const before = (await dumpRows(gateway.db.pool)).length

    const answer = await admin('erase', { cpf: CPF })

    expect([answer.status, answer.body]).toEqual([
      202,
      {
        receiptId: expect.any(String),
        state: 'erasing',
        found: true,
        erased: {
          emails: 3,
          cancelled: 1,
          recipients: 4,
          recipientRecords: 1,
          contents: 3,
          attachments: 2,
          events: expect.any(Number),
          captured: 1,
          providerEvents: 1,
          webhookDeliveries: 1,
          deadLetters: 1,
          idempotencyAnswers: 1,
        },
        waiting: 1,
        unfinished: [],
        recordsKept: 0,
        companyId: null,
        subjectHashes: [expect.stringMatching(/^[0-9a-f]{64}$/)],
        requestedBy: 'ana',
        requestedAt: TIME,
        finishedAt: null,
      },
    ])
    expect(await rowsWith(gateway.db.pool, address, 'maria', 'Silva', CPF, PLAIN_CPF, 'client-77')).toEqual([])
    expect(gateway.logs()).not.toMatch(/maria\.silva@example\.com|52998224725|529\.982\.247-25/i)
    const redisLog = await writtenToRedis()
    expect(redisLog, 'its job went through Redis').toContain(sent)
    expect(redisLog).not.toMatch(/maria|silva|52998224725|529\.982\.247-25/i)
    expect(before, 'rows were there to be searched').toBeGreaterThan(50)

    expect(await read(gateway, company, waiting)).toMatchObject({
      status: 'CANCELLED',
      to: ['(erased)'],
      subject: null,
    })
    expect(await captured(gateway, sent)).toBeUndefined()
    expect(await read(gateway, company, sent)).toMatchObject({ to: ['(erased)'], cc: ['accountant@example.com'] })
    expect(await read(gateway, company, asCopy), 'the others get their mail').toMatchObject({
      status: 'PENDING',
      to: ['boss@example.com'],
      cc: [],
      subject: 'Hello',
    })
    expect(await read(gateway, company, other)).toMatchObject({ to: ['joao@example.com'], subject: 'Hello' })
    expect((await captured(gateway, other)).to).toEqual(['joao@example.com'])
    expect((await send(gateway, company, { to: address, subject: 'Hi', text: 'Hi' })).body.code).toBe(
      'RECIPIENT_SUPPRESSED',
    )
    const audit = await rows(gateway, `select action, performed_by from audit_log where subject_type = 'person'`)
    expect(audit).toEqual([{ action: 'ERASURE_REQUESTED', performed_by: 'ana' }])

    for (const identifier of [{ cpf: CPF }, { email: address }]) {
      const meanwhile = await admin('erase', identifier)
      expect([meanwhile.status, meanwhile.body]).toMatchObject([
        202,
        { state: 'done', found: false, unfinished: [{ receiptId: answer.body.receiptId, waiting: 1 }] },
      ])
    }
    expect((await admin('erase', { email: 'stranger@example.com' })).body.unfinished).toEqual([])

    // The last e-mail has ended: a worker erases it and ends the erasure.
    await gateway.call(company, 'POST', `/v1/email/${asCopy}/cancel`)
    const done = await until(
      () => admin(`erasures/${answer.body.receiptId}`),
      ({ body }) => body.state === 'done',
      15_000,
    )
    expect(done.body).toMatchObject({ waiting: 0, finishedAt: TIME, erased: { emails: 4, contents: 4, cancelled: 1 } })
    expect(await read(gateway, company, asCopy)).toMatchObject({ subject: null, to: ['boss@example.com'] })
    const [erased] = await rows(
      gateway,
      `select after from audit_log where action = 'ERASED' and after ->> 'receiptId' = $1`,
      [answer.body.receiptId],
    )
    expect(erased.after).toMatchObject({ receiptId: answer.body.receiptId, erased: { emails: 4 } })

    const again = await admin('erase', { cpf: CPF, email: address })
    expect([again.status, again.body]).toMatchObject([
      200,
      { state: 'done', found: false, erased: NOTHING, unfinished: [] },
    ])
    await receiver.close()
  })

  test('an event that arrives later changes the state and brings no personal data back', async () => {
    const id = await sendOk(gateway, company, { to: 'late@example.com' })
    const { messageId } = await untilStatus(gateway, company, id, 'SENT')
    await admin('erase', { email: 'late@example.com' })
    const bounce = {
      eventType: 'Bounce',
      mail: { messageId, tags: { outbox_id: [id] } },
      bounce: {
        bounceType: 'Permanent',
        bounceSubType: 'General',
        timestamp: new Date().toISOString(),
        feedbackId: 'f-1',
        bouncedRecipients: [{ emailAddress: 'late@example.com', diagnosticCode: '550 late@example.com is unknown' }],
      },
    }
    await storeProviderEvents(gateway.db.pool, [
      { provider: 'ses', externalId: 'late', payload: JSON.stringify(bounce) },
    ])
    const email = await untilStatus(gateway, company, id, 'BOUNCED')
    expect(email.events.at(-1)).toMatchObject({ type: 'BOUNCE', metadata: { bounceType: 'Permanent' } })
    expect(email.events.at(-1).metadata).not.toHaveProperty('diagnosticCode')
    expect(email.events.at(-1).metadata).not.toHaveProperty('recipientHash')
    expect(await rowsWith(gateway.db.pool, 'late@')).toEqual([])
    const suppressed = await rows(gateway, 'select reason from suppression_list where email_hash = $1', [
      hashEmail('late@example.com'),
    ])
    expect(suppressed, 'the hash still protects the address').toEqual([{ reason: 'HARD_BOUNCE' }])
  })

  test('a webhook that is under way during the erasure keeps neither a body for its retry nor the answer', async () => {
    const receiver = await startReceiver()
    let answer = () => {}
    const answered = new Promise<void>(resolve => {
      answer = resolve
    })
    receiver.answer('/slow', async response => {
      await answered
      response.writeHead(500).end('Severina Lenta is not known here')
    })
    const owner = await gateway.company()
    await register(gateway, owner, `${receiver.url}/slow`)
    const id = await sendOk(gateway, owner, { to: 'slow@example.com' })
    expect((await receiver.got('/slow', 1))[0]!.text).toContain('slow@example.com')
    expect((await admin('erase', { email: 'slow@example.com' })).status).toBe(200)
    answer()
    const [delivery] = await until(
      () =>
        rows(gateway, 'select attempts, body, last_answer, due_at from webhook_deliveries where outbox_id = $1', [id]),
      ([one]) => one.attempts === 1,
    )
    expect(delivery).toEqual({ attempts: 1, body: null, last_answer: null, due_at: expect.any(Date) })
    expect(await rowsWith(gateway.db.pool, 'slow@example')).toEqual([])
    await receiver.close()
  })

  test('an e-mail is erased only after the outcome of its webhook is written, which may hold a body', async () => {
    const receiver = await startReceiver()
    const owner = await gateway.company()
    await register(gateway, owner, `${receiver.url}/`)
    const id = await sendOk(gateway, owner, { to: 'just-now@example.com' })
    await until(
      () => rows(gateway, 'select status from webhook_deliveries where outbox_id = $1', [id]),
      ([one]) => one?.status === 'delivered',
    )
    await rows(gateway, `update webhook_deliveries set status = 'waiting', attempts = 0 where outbox_id = $1`, [id])
    const person = { email: 'just-now@example.com' }
    const erasureId = await inTransaction(gateway.db.pool, async settling => {
      await settling.query(
        `select settle_webhook(endpoint_id, delivery_id, 0::smallint, 'retry', 3600000, $2, 500::smallint, null, '', 1)
         from webhook_deliveries where outbox_id = $1`,
        [id, '{"to":"just-now@example.com"}'],
      )
      const asked = { person, companyId: null, requestedBy: 'ana', pepper: 'any' }
      const erasureId = await requestErasure(gateway.db.pool, asked)
      expect(await eraseWithin(gateway.db.pool, erasureId, 300)).toMatchObject({ state: 'erasing', waiting: 1 })
      return erasureId
    })
    const receipt = await eraseWithin(gateway.db.pool, erasureId, 10_000)
    expect(receipt).toMatchObject({ state: 'done', erased: { emails: 1, webhookDeliveries: 1 } })
    expect(await rowsWith(gateway.db.pool, 'just-now@')).toEqual([])
    await receiver.close()
  })

  test('an e-mail in flight is erased when it has ended, by whoever comes first', async () => {
    const id = await sendOk(gateway, company, { to: 'flying@example.com', ...LATER })
    const lease = 'update email_outbox set status = $2, lease_id = $3, next_attempt_at = null where outbox_id = $1'
    await gateway.db.pool.query('delete from email_scheduled where outbox_id = $1', [id])
    await gateway.db.pool.query(lease, [id, 'PROCESSING', '00000000-0000-7000-8000-000000000001'])
    const asked = admin('erase', { email: 'flying@example.com' })
    await until(
      () =>
        rows(
          gateway,
          `select addresses from person_erasures join jobs on job_id = erasure_id where finished_at is null`,
        ),
      open => open[0]?.addresses === null,
    )
    expect(await rowsWith(gateway.db.pool, 'flying@'), 'it is still needed').not.toEqual([])
    await gateway.db.pool.query(lease, [id, 'SENT', null])
    expect((await asked).body).toMatchObject({ state: 'done', erased: { emails: 1, cancelled: 0 } })
    expect(await rowsWith(gateway.db.pool, 'flying@')).toEqual([])
  })

  test('an unknown send is never sent again to an erased person: it is given up, and erased then', async () => {
    const id = await sendOk(gateway, company, { to: 'doubt@example.com', ...LATER })
    await gateway.db.pool.query('delete from email_scheduled where outbox_id = $1', [id])
    await gateway.db.pool.query(
      `with o as (update email_outbox set status = 'UNKNOWN', attempts = 1, attempt_id = $2, started_at = now(), next_attempt_at = null
         where outbox_id = $1)
       insert into unknown_sends (outbox_id, attempt_id, provider, reason, resolve_at) values ($1, $2, 'ses', 'TIMEOUT', now() + interval '1 s')`,
      [id, '00000000-0000-7000-8000-0000000000aa'],
    )
    const { body } = await admin('erase', { email: 'doubt@example.com' })
    expect(body).toMatchObject({ state: 'done', erased: { emails: 1, cancelled: 0, deadLetters: 1 } })
    expect(await read(gateway, company, id)).toMatchObject({ status: 'FAILED', to: ['(erased)'] })
    expect(await captured(gateway, id)).toBeUndefined()
    expect(await rowsWith(gateway.db.pool, 'doubt@')).toEqual([])
  })

  test('an erasure that was killed is continued by a worker, and counts nothing twice', async () => {
    for (let n = 0; n < 3; n++) await sendOk(gateway, company, { to: 'many@example.com', ...LATER })
    const id = '00000000-0000-7000-8000-00000000000e'
    // As the first commit of an erasure leaves it.
    await gateway.db.pool.query(
      `with job as (
         insert into jobs (job_id, kind, input, requested_by, is_bulk_action, total) values ($1, 'erase-person', '{}', 'ana', false, 0))
       insert into person_erasures (erasure_id, subject_hashes, addresses, recipient_ids) values ($1, '{a}', '{many@example.com}', '{}')`,
      [id],
    )
    const done = await until(
      () => admin(`erasures/${id}`),
      ({ body }) => body.state === 'done',
      15_000,
    )
    expect(done.body.erased).toMatchObject({ emails: 3, cancelled: 3, recipients: 3 })
    expect(await rowsWith(gateway.db.pool, 'many@')).toEqual([])
  })

  test.each([
    'Zuleika Quintanilha <Zuleika@pessoa.example>',
    'Zuleika, "Zu" < zuleika@pessoa.example >',
    'zuleika@pessoa',
    'ZULEIKA ÉÇ@pessoa.example',
  ])('a text that SQL took as an address and that is none is exported and erased: %s', async stored => {
    const found = await gateway.db.pool.query(
      `select put_sql_email($1, false, null, 'welcome_user', $2, '{"name": "Zuleika"}') as id`,
      [company.companyId, stored],
    )
    const id = found.rows[0].id
    await untilStatus(gateway, company, id, 'FAILED')
    const neighbour = await sendOk(gateway, company, { to: 'not-zuleika@pessoa.example', ...LATER })
    await storeProviderEvents(gateway.db.pool, [
      { provider: 'ses', externalId: stored, payload: 'unreadable, of not-zuleika@pessoa.net' },
    ])
    const given = stored.toLowerCase().replace('éç', 'ÉÇ')
    const exported = await admin('export', { email: given })
    expect(exported.body.emails).toMatchObject([{ outboxId: id, content: { variables: { name: 'Zuleika' } } }])
    const { body } = await admin('erase', { email: given })
    // It is answered after a while, and goes on if the machine is busy.
    const done = await until(
      () => admin(`erasures/${body.receiptId}`),
      answer => answer.body.state === 'done',
      15_000,
    )
    expect(done.body.erased).toMatchObject({ emails: 1 })
    expect(await rowsWith(gateway.db.pool, 'Zuleika', stored)).toEqual([
      expect.stringContaining('not-zuleika@pessoa'),
      expect.stringContaining('not-zuleika@pessoa'),
    ])
    await gateway.call(company, 'POST', `/v1/email/${neighbour}/cancel`)
    await admin('erase', { email: 'not-zuleika@pessoa.example' })
    await gateway.db.pool.query('delete from provider_events where external_id = $1', [stored])
  })

  test('an address finds e-mails whose stored text is a name with the address in brackets', async () => {
    await gateway.db.pool.query(
      `select put_sql_email($1, false, null, 'welcome_user', 'Rute Lima <Rute@Pessoa.example>', '{}')`,
      [company.companyId],
    )
    await until(
      () =>
        rows(
          gateway,
          `select o.status from email_outbox o join email_recipients r using (outbox_id) where r.address like 'Rute%'`,
        ),
      ([email]) => email.status === 'FAILED',
    )
    expect((await admin('erase', { email: 'rute@pessoa.example' })).body.erased).toMatchObject({ emails: 1 })
    expect(await rowsWith(gateway.db.pool, 'Rute')).toEqual([])
  })

  test('a repeated permissive batch still says which of its members were refused', async () => {
    const batch = [
      { to: 'vera@example.com', subject: 'Hi', text: 'Hi' },
      { to: 'vera example.com', subject: 'Hi', text: 'Hi' },
    ]
    const headers = { 'idempotency-key': 'vera-1', 'x-batch-validation': 'permissive' }
    const repeat = () => gateway.call(company, 'POST', '/v1/email/batch', batch, headers)
    const first = await repeat()
    expect(first.body.errors).toMatchObject([{ index: 1, code: 'INVALID_EMAIL' }])
    await untilStatus(gateway, company, first.body.data[0].outboxId, 'SENT')
    expect((await admin('erase', { email: 'vera@example.com' })).body.erased).toMatchObject({ idempotencyAnswers: 1 })
    const again = await repeat()
    expect(again.body.errors).toEqual([{ index: 1, code: 'INVALID_EMAIL', message: '(erased)' }])
    expect(again.body.data).toMatchObject([{ outboxId: first.body.data[0].outboxId }])
  })

  test('an external id belongs to one company: the same id elsewhere is another person', async () => {
    const neighbour = await gateway.company()
    for (const [owner, to] of [
      [company, 'here@example.com'],
      [neighbour, 'there@example.com'],
    ] as const)
      await sendOk(gateway, owner, { to, recipient: { externalId: '42' }, ...LATER })
    expect((await admin('erase', { externalId: '42' })).body).toMatchObject({
      status: 422,
      errors: [{ path: 'company', message: 'is required with externalId, which is an id of one company' }],
    })
    expect((await admin('erase', { externalId: '42', company: company.name })).body.erased).toMatchObject({ emails: 1 })
    expect(await rowsWith(gateway.db.pool, 'here@example')).toEqual([
      expect.stringContaining('there@example.com'),
      expect.stringContaining('there@example.com'),
    ])
  })

  test('wrong requests are refused without repeating the value', async () => {
    expect((await admin('erase', {})).body).toMatchObject({ status: 422, code: 'INVALID_PAYLOAD' })
    const wrong = await admin('erase', { cpf: '529.982.247-26' })
    expect(wrong.status).toBe(422)
    expect(wrong.text).not.toMatch(/529\.?982/)
    expect((await admin('erase', { email: 'a@b.c', company: 'nobody' })).status).toBe(422)
    expect((await gateway.call(company, 'POST', '/admin/people/erase', { email: 'a@b.cd' })).status).toBe(401)
    expect((await admin('erasures/00000000-0000-7000-8000-000000000002')).status).toBe(404)
  })
})
