import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pauseCompany, resumeCompany } from '../../../src/companies/companies.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import {
  captured,
  type Json,
  keptOf,
  mail,
  NOTHING_KEPT,
  read,
  rows,
  send,
  sendOk,
  sleep,
  untilStatus,
} from '../../support/mail.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ env: { EMAIL_FROM: 'The Gateway <gateway@sender.test>' } })
  company = await gateway.company()
})
afterAll(() => gateway.stop())

const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString()
const ms = (instant: string) => Date.parse(instant)
const patch = (outboxId: string, body: unknown, by = company) =>
  gateway.call(by, 'PATCH', `/v1/email/${outboxId}`, body)
const cancel = (outboxId: string, by = company) => gateway.call(by, 'POST', `/v1/email/${outboxId}/cancel`)
const explain = async (outboxId: string, by = company) =>
  (await gateway.call(by, 'GET', `/v1/email/${outboxId}/explain`)).body

async function pausedCompany(): Promise<TestCompany> {
  const paused = await gateway.company()
  await pauseCompany(gateway.db.pool, paused.companyId, 'reputation under review')
  return paused
}

async function sentAndCaptured(change: Record<string, unknown>): Promise<Json> {
  const outboxId = await sendOk(gateway, company, change)
  await untilStatus(gateway, company, outboxId, 'SENT')
  return captured(gateway, outboxId)
}

/** In which of the two waiting places it is. */
async function indexInBatch(outboxId: string): Promise<{ ready: number; scheduled: Date[] }> {
  const [row] = await rows(
    gateway,
    `select (select count(*)::int from email_ready where outbox_id = $1) as ready,
       array(select due_at from email_scheduled where outbox_id = $1 order by due_at) as scheduled`,
    [outboxId],
  )
  return row
}

describe('a 202', () => {
  test('has the id as outboxId and jobId, the request id, QUEUED and the time, and nothing else', async () => {
    const answer = await send(gateway, company)
    expect(answer.status).toBe(202)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.body).toEqual({
      outboxId: expect.stringMatching(UUID_V7),
      jobId: answer.body.outboxId,
      requestId: answer.headers.get('x-request-id'),
      status: 'QUEUED',
      queuedAt: expect.stringMatching(INSTANT),
    })
    expect(Math.abs(Date.now() - ms(answer.body.queuedAt))).toBeLessThan(5_000)
  })

  test('comes after outbox, content, recipients and event are committed', async () => {
    const alone = await pausedCompany()
    await sendOk(gateway, alone, { cc: ['joao@example.com'] })
    expect(await keptOf(gateway, alone.companyId)).toEqual({
      ...NOTHING_KEPT,
      email_outbox: 1,
      email_ready: 1,
      email_events: 1,
      email_content: 1,
      email_recipients: 2,
    })
  })

  test('leads to SENT within a second, with its five events in order', async () => {
    const outboxId = await sendOk(gateway, company)
    const email = await untilStatus(gateway, company, outboxId, 'SENT')
    expect(email.events.map((event: Json) => event.type)).toEqual([
      'QUEUED',
      'RECEIVED',
      'VALIDATED',
      'SENT_ATTEMPT',
      'SENT',
    ])
    const times = email.events.map((event: Json) => ms(event.createdAt))
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(ms(email.sentAt) - ms(email.createdAt)).toBeLessThan(1_000)
  })

  test('has its events in order also when Postgres plans anew, as after every analyze', async () => {
    const own = await gateway.company()
    for (let round = 0; round < 100; round++) {
      await rows(gateway, 'analyze email_ready')
      await Promise.all(Array.from({ length: 1 + (round % 4) }, () => sendOk(gateway, own)))
    }
    const ordersOf = () =>
      rows(
        gateway,
        `select distinct array_agg(type order by email_events.created_at, event_id) as types
         from email_events join email_outbox o using (outbox_id) where o.company_id = $1 group by outbox_id`,
        [own.companyId],
      )
    await until(ordersOf, orders => orders.every(({ types }) => types.length === 5))
    expect((await ordersOf()).map(({ types }) => types.join(' '))).toEqual([
      'QUEUED RECEIVED VALIDATED SENT_ATTEMPT SENT',
    ])
  })

  test('gives each event the facts of its step', async () => {
    const outboxId = await sendOk(
      gateway,
      company,
      { externalId: 'order-9', priority: 2 },
      { 'x-request-id': 'facts-1' },
    )
    const { events, messageId, durationMs } = await untilStatus(gateway, company, outboxId, 'SENT')
    const [queued, received, validated, attempted, sent] = events.map((event: Json) => event.metadata)
    expect(queued).toMatchObject({ externalId: 'order-9', priority: 2, queuedAt: expect.stringMatching(INSTANT) })
    expect(queued.recipientHash).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(received).toMatchObject({ attempt: 1, requestId: 'facts-1' })
    expect(validated.validations).toEqual(['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'])
    expect(attempted).toMatchObject({ attempt: 1, provider: 'capture' })
    expect(sent).toMatchObject({ messageId, sesMessageId: messageId, durationMs, processingTimeMs: durationMs })
  })
})

describe('GET', () => {
  test('shows every field of an e-mail that was sent', async () => {
    const body = mail({
      from: 'Shop <shop@acme.example>',
      to: 'Maria <Maria@Example.COM>',
      cc: ['joao@example.com'],
      bcc: ['audit@example.com'],
      externalId: 'order-77',
      tags: ['welcome', 'v2'],
    })
    const { body: accepted } = await send(gateway, company, body, { 'x-request-id': 'every-field' })
    const email = await untilStatus(gateway, company, accepted.outboxId, 'SENT')
    expect(email).toEqual({
      outboxId: accepted.outboxId,
      companyId: company.companyId,
      requestId: 'every-field',
      externalId: 'order-77',
      status: 'SENT',
      from: 'Shop <shop@acme.example>',
      to: ['Maria@example.com'],
      cc: ['joao@example.com'],
      bcc: ['audit@example.com'],
      subject: 'Hello',
      templateType: null,
      tags: ['welcome', 'v2'],
      attempts: 1,
      maxAttempts: 5,
      provider: 'capture',
      messageId: expect.stringMatching(/^capture-/),
      lastError: null,
      createdAt: expect.stringMatching(INSTANT),
      scheduledAt: null,
      nextAttemptAt: null,
      sentAt: expect.stringMatching(INSTANT),
      deliveredAt: null,
      failedAt: null,
      expiresAt: expect.stringMatching(INSTANT),
      durationMs: expect.any(Number),
      resendOf: null,
      resentAs: [],
      events: expect.any(Array),
    })
    expect(ms(email.expiresAt) - ms(email.createdAt)).toBe(DAY_MS)
    expect(email.createdAt).toBe(accepted.queuedAt)
  })

  test.each(['0190a0b0-0000-7000-8000-000000000000', 'not-a-uuid', '%00', '..%2f..', '1'.repeat(150)])(
    'answers 404 to %s, which is no e-mail',
    async id => {
      for (const [method, path, body] of [
        ['GET', `/v1/email/${id}`, undefined],
        ['GET', `/v1/email/${id}/explain`, undefined],
        ['POST', `/v1/email/${id}/cancel`, undefined],
        ['PATCH', `/v1/email/${id}`, { delay: 0 }],
      ] as const) {
        const answer = await gateway.call(company, method, path, body)
        expect(`${method} ${answer.status} ${answer.body?.code}`).toBe(`${method} 404 NOT_FOUND`)
        if (id.length < 100) expect(answer.body.detail).toMatch(/^There is no e-mail with this id; /)
      }
    },
  )
})

describe('a known path with another method', () => {
  test.each([
    ['GET', '/v1/email/send', '/v1/email/send', 'POST'],
    ['DELETE', '/v1/email/batch', '/v1/email/batch', 'POST'],
    ['POST', '/v1/emails', '/v1/emails', 'GET, HEAD'],
    ['PUT', '/v1/email/0190a0b0-0000-7000-8000-000000000000', '/v1/email/:outboxId', 'GET, HEAD, PATCH'],
    ['GET', '/v1/email/x/cancel?a=b', '/v1/email/:outboxId/cancel', 'POST'],
  ])('is 405 and names those it takes: %s %s', async (method, path, pattern, allowed) => {
    const answer = await gateway.call(null, method, path)
    expect([answer.status, answer.body.code]).toEqual([405, 'METHOD_NOT_ALLOWED'])
    expect(answer.headers.get('allow')).toBe(allowed)
    expect(answer.body.detail).toBe(`${pattern} does not take ${method}; it takes ${allowed}.`)
  })

  test('is not what a path that does not exist is', async () => {
    expect((await gateway.call(null, 'GET', '/v1/email/x/cancelled')).status).toBe(404)
  })
})

describe('X-Request-Id', () => {
  test.each(['order-123', 'a', 'R'.repeat(128), 'req_01:part/2+3=5.6-7', '0190a0b0-1111-7000-8000-00000000abcd'])(
    '%s is echoed and carried to row, event and log lines',
    async requestId => {
      const answer = await send(gateway, company, mail(), { 'x-request-id': requestId })
      expect(answer.headers.get('x-request-id')).toBe(requestId)
      expect(answer.body.requestId).toBe(requestId)
      const email = await untilStatus(gateway, company, answer.body.outboxId, 'SENT')
      expect(email.requestId).toBe(requestId)
      const messages = await until(
        async () => logLinesOf(requestId),
        lines => lines.includes('E-mail sent') && lines.includes('Request'),
      )
      expect(messages.toSorted()).toEqual(['Attempt started', 'E-mail accepted', 'E-mail sent', 'Request'])
    },
  )

  test.each(['', 'two words', 'R'.repeat(129), 'quote"', '<script>', 'ação', 'semi;colon', '{json}', 'back\\slash'])(
    '"%s" is not sane, so one is made',
    async requestId => {
      const answer = await send(gateway, company, mail(), { 'x-request-id': requestId })
      expect(answer.status).toBe(202)
      const made = answer.headers.get('x-request-id')
      expect(made).toMatch(/^[0-9a-f-]{36}$/)
      expect(answer.body.requestId).toBe(made)
      if (requestId.length > 1) expect(gateway.logs()).not.toContain(requestId)
    },
  )

  test('is on refusals too', async () => {
    const answer = await send(gateway, company, {}, { 'x-request-id': 'refused-1' })
    expect(answer.headers.get('x-request-id')).toBe('refused-1')
    expect(answer.body.requestId).toBe('refused-1')
    expect(logLinesOf('refused-1')).toEqual(['Request'])
  })

  function logLinesOf(requestId: string): string[] {
    const lines = gateway.logs().trim().split('\n')
    return lines
      .map(line => JSON.parse(line))
      .filter(line => line.requestId === requestId)
      .map(line => line.message)
  }
})

describe('scheduled mail', () => {
  test('waits apart from the ready, and has 24 hours from its due time', async () => {
    const scheduledAt = fromNow(2 * HOUR_MS)
    const outboxId = await sendOk(gateway, company, { scheduledAt })
    expect(await indexInBatch(outboxId)).toEqual({ ready: 0, scheduled: [new Date(scheduledAt)] })
    await sleep(600)
    const email = await read(gateway, company, outboxId)
    expect(email).toMatchObject({ status: 'PENDING', attempts: 0, scheduledAt, nextAttemptAt: scheduledAt })
    expect(ms(email.expiresAt)).toBe(ms(scheduledAt) + DAY_MS)
    expect(email.events.map((event: Json) => event.type)).toEqual(['QUEUED'])
  })

  test('may name its time with an offset', async () => {
    const utc = new Date(Math.floor(Date.now() / 1000) * 1000 + HOUR_MS)
    const inBrasilia = new Date(utc.getTime() - 3 * HOUR_MS).toISOString().replace('.000Z', '-03:00')
    const outboxId = await sendOk(gateway, company, { scheduledAt: inBrasilia })
    expect((await read(gateway, company, outboxId)).scheduledAt).toBe(utc.toISOString())
  })

  test('with a delay is sent when that is over, not before', async () => {
    const outboxId = await sendOk(gateway, company, { delay: 1_200 })
    expect(await indexInBatch(outboxId)).toMatchObject({ ready: 0, scheduled: [expect.any(Date)] })
    const email = await untilStatus(gateway, company, outboxId, 'SENT')
    expect(ms(email.scheduledAt) - ms(email.createdAt)).toBe(1_200)
    expect(ms(email.sentAt)).toBeGreaterThanOrEqual(ms(email.scheduledAt))
    expect(ms(email.sentAt) - ms(email.scheduledAt)).toBeLessThan(1_500)
    expect(ms(email.expiresAt)).toBe(ms(email.scheduledAt) + DAY_MS)
  })

  test.each([{ delay: 0 }, { scheduledAt: fromNow(0) }, { scheduledAt: fromNow(-HOUR_MS) }])(
    'whose time has come already is sent at once: %o',
    async when => {
      await untilStatus(gateway, company, await sendOk(gateway, company, when), 'SENT')
    },
  )

  test('whose time was days ago is sent at once, instead of expiring before it could be', async () => {
    const outboxId = await sendOk(gateway, company, { scheduledAt: fromNow(-3 * DAY_MS) })
    const email = await until(
      () => read(gateway, company, outboxId),
      one => !['PENDING', 'PROCESSING'].includes(one.status),
    )
    expect(email.status).toBe('SENT')
  })

  test('may be exactly 30 days ahead', async () => {
    await sendOk(gateway, company, { scheduledAt: fromNow(30 * DAY_MS - 1_000) })
    await sendOk(gateway, company, { delay: 30 * DAY_MS })
  })
})

describe('PATCH', () => {
  test('moves it to later, and its end with it', async () => {
    const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
    const scheduledAt = fromNow(5 * HOUR_MS)
    const answer = await patch(outboxId, { scheduledAt })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ outboxId, status: 'PENDING', scheduledAt })
    const email = await read(gateway, company, outboxId)
    expect(email).toMatchObject({ status: 'PENDING', scheduledAt, nextAttemptAt: scheduledAt })
    expect(ms(email.expiresAt)).toBe(ms(scheduledAt) + DAY_MS)
    expect((await indexInBatch(outboxId)).scheduled).toContainEqual(new Date(scheduledAt))
  })

  test('to later means that nothing happens at the first time', async () => {
    const outboxId = await sendOk(gateway, company, { delay: 700 })
    await patch(outboxId, { delay: HOUR_MS })
    await sleep(1_700)
    expect(await read(gateway, company, outboxId)).toMatchObject({ status: 'PENDING', attempts: 0 })
  })

  test('takes it out of the ready', async () => {
    const paused = await pausedCompany()
    const outboxId = await sendOk(gateway, paused)
    await patch(outboxId, { delay: HOUR_MS }, paused)
    expect(await indexInBatch(outboxId)).toMatchObject({ ready: 0, scheduled: [expect.any(Date)] })
  })

  test.each([
    ['the present', () => ({ scheduledAt: fromNow(0) })],
    ['the past', () => ({ scheduledAt: fromNow(-2 * DAY_MS) })],
    ['a delay of nothing', () => ({ delay: 0 })],
    ['a short delay', () => ({ delay: 300 })],
  ])('to %s gets it sent', async (_name, body) => {
    const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
    expect((await patch(outboxId, body())).status).toBe(200)
    const email = await untilStatus(gateway, company, outboxId, 'SENT')
    expect(email.events).toHaveLength(5)
  })

  test.each([
    ['nothing', {}, ''],
    ['both forms', { delay: 5, scheduledAt: fromNow(HOUR_MS) }, 'delay'],
    ['31 days', { scheduledAt: fromNow(31 * DAY_MS) }, 'scheduledAt'],
    ['a delay of more than 30 days', { delay: 30 * DAY_MS + 1 }, 'delay'],
    ['a negative delay', { delay: -1 }, 'delay'],
    ['a delay with a fraction', { delay: 1.5 }, 'delay'],
    ['a delay as text', { delay: '5' }, 'delay'],
    ['words', { scheduledAt: 'tomorrow' }, 'scheduledAt'],
    ['a date without a time', { scheduledAt: '2030-01-01' }, 'scheduledAt'],
    ['a time without a zone', { scheduledAt: '2030-01-01T00:00:00' }, 'scheduledAt'],
    ['a month that is none', { scheduledAt: '2030-13-01T00:00:00Z' }, 'scheduledAt'],
    ['another field', { delay: 5, subject: 'x' }, 'subject'],
    ['a list', [{ delay: 5 }], ''],
    ['null', null, ''],
  ])('with %s is refused and changes nothing', async (_name, body, path) => {
    const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
    const before = await read(gateway, company, outboxId)
    const answer = await patch(outboxId, body)
    expect([answer.status, answer.body.code]).toEqual([422, 'INVALID_PAYLOAD'])
    expect(answer.body.errors.map((error: Json) => error.path)).toContain(path)
    expect(await read(gateway, company, outboxId)).toEqual(before)
  })

  test('with both forms is refused in the words of a send', async () => {
    const both = { delay: 5, scheduledAt: fromNow(HOUR_MS) }
    const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
    const { errors } = (await patch(outboxId, both)).body
    expect(errors).toEqual((await send(gateway, company, mail(both))).body.errors)
    expect(errors).toEqual([{ path: 'delay', code: 'INVALID_PAYLOAD', message: 'cannot be combined with scheduledAt' }])
  })

  test.each(['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'])(
    'to %s, which Postgres cannot read or which is too far, is no failure of ours',
    async scheduledAt => {
      const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
      expect([200, 422]).toContain((await patch(outboxId, { scheduledAt })).status)
    },
  )

  test('after it was sent is too late', async () => {
    const outboxId = await sendOk(gateway, company)
    await untilStatus(gateway, company, outboxId, 'SENT')
    const answer = await patch(outboxId, { delay: HOUR_MS })
    expect([answer.status, answer.body.code]).toEqual([409, 'ALREADY_STARTED'])
  })

  test('after it was cancelled is too late', async () => {
    const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
    await cancel(outboxId)
    expect((await patch(outboxId, { delay: 0 })).status).toBe(409)
    await sleep(500)
    expect((await read(gateway, company, outboxId)).status).toBe('CANCELLED')
  })
})

describe('cancel', () => {
  test('ends what waits for its turn', async () => {
    const paused = await pausedCompany()
    const outboxId = await sendOk(gateway, paused)
    const answer = await cancel(outboxId, paused)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ outboxId, status: 'CANCELLED', scheduledAt: null })
    expect((await indexInBatch(outboxId)).ready).toBe(0)
    await resumeCompany(gateway.db.pool, paused.companyId)
    await untilStatus(gateway, paused, await sendOk(gateway, paused), 'SENT')
    const email = await read(gateway, paused, outboxId)
    expect(email.status).toBe('CANCELLED')
    expect(email.events.map((event: Json) => event.type)).toEqual(['QUEUED', 'CANCELLED'])
    expect(email.events[1].metadata.cancelledBy).toContain(paused.keyId)
  })

  test('ends what is scheduled: its time passes and nothing is sent', async () => {
    const outboxId = await sendOk(gateway, company, { delay: 500 })
    expect((await cancel(outboxId)).status).toBe(200)
    await sleep(1_300)
    expect(await read(gateway, company, outboxId)).toMatchObject({ status: 'CANCELLED', attempts: 0, messageId: null })
    expect(await captured(gateway, outboxId)).toBeUndefined()
    expect(await indexInBatch(outboxId)).toEqual({ ready: 0, scheduled: [] })
  })

  test('takes an empty JSON object as body as well', async () => {
    const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
    expect((await gateway.call(company, 'POST', `/v1/email/${outboxId}/cancel`, {})).status).toBe(200)
  })

  test('twice answers 409 and writes one event', async () => {
    const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
    const answers = await Promise.all([cancel(outboxId), cancel(outboxId), cancel(outboxId)])
    expect(answers.map(answer => answer.status).sort()).toEqual([200, 409, 409])
    const { code, message } = (await cancel(outboxId)).body
    expect([code, message]).toEqual(['ALREADY_STARTED', 'The e-mail is already cancelled'])
    const { events, scheduledAt } = await read(gateway, company, outboxId)
    expect(events).toHaveLength(2)
    expect(answers.find(answer => answer.status === 200)!.body.scheduledAt).toBe(scheduledAt)
  })

  test('of what was sent answers 409', async () => {
    const outboxId = await sendOk(gateway, company)
    await untilStatus(gateway, company, outboxId, 'SENT')
    const answer = await cancel(outboxId)
    expect([answer.status, answer.body.code]).toEqual([409, 'ALREADY_STARTED'])
    expect((await read(gateway, company, outboxId)).status).toBe('SENT')
  })

  test('racing with the worker either cancels or lets it be sent, never both', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => sendOk(gateway, company)))
    const answers = await Promise.all(ids.map(id => cancel(id)))
    for (const [index, outboxId] of ids.entries()) {
      const wanted = answers[index]!.status === 200 ? 'CANCELLED' : 'SENT'
      await untilStatus(gateway, company, outboxId, wanted)
      expect(Boolean(await captured(gateway, outboxId))).toBe(wanted === 'SENT')
    }
  })
})

describe('attachments', () => {
  const files = [
    { filename: 'one.bin', bytes: Buffer.from([0]) },
    { filename: 'every byte.bin', bytes: Buffer.from(Array.from({ length: 256 }, (_, index) => index)) },
    { filename: 'relatório ✓.pdf', bytes: randomBytes(100_001), contentType: 'application/pdf' },
    { filename: 'logo.png', bytes: randomBytes(1_000), contentType: 'image/png', contentId: 'logo@acme' },
  ]
  const given = files.map(({ bytes, ...file }) => ({ ...file, content: bytes.toString('base64') }))
  const html = '<p><img src="cid:logo@acme"></p>'

  test('are kept byte for byte', async () => {
    const outboxId = await sendOk(gateway, company, { html, attachments: given })
    const kept = await rows(gateway, 'select * from email_attachments where outbox_id = $1 order by ordinal', [
      outboxId,
    ])
    expect(kept.map(row => row.content.equals(files[row.ordinal]!.bytes))).toEqual([true, true, true, true])
    expect(kept.map(row => [row.filename, row.content_type, row.content_id])).toEqual([
      ['one.bin', 'application/octet-stream', null],
      ['every byte.bin', 'application/octet-stream', null],
      ['relatório ✓.pdf', 'application/pdf', null],
      ['logo.png', 'image/png', 'logo@acme'],
    ])
  })

  test('reach the provider with their sizes, names and content ids', async () => {
    const message = await sentAndCaptured({ html, attachments: given })
    expect(message.attachments).toEqual(
      files.map(({ bytes, contentType = 'application/octet-stream', contentId = null, filename }) => ({
        filename,
        contentType,
        contentId,
        bytes: bytes.length,
      })),
    )
  })

  test('may have 10 MB in all, to the byte', async () => {
    const parts = [randomBytes(4 * 1024 * 1024), randomBytes(6 * 1024 * 1024)]
    const attachments = parts.map((bytes, index) => ({ filename: `${index}.bin`, content: bytes.toString('base64') }))
    const outboxId = await sendOk(gateway, company, { attachments })
    const kept = await rows(
      gateway,
      `select encode(sha256(content), 'hex') as digest from email_attachments where outbox_id = $1 order by ordinal`,
      [outboxId],
    )
    expect(kept.map(row => row.digest)).toEqual(parts.map(part => createHash('sha256').update(part).digest('hex')))
    await untilStatus(gateway, company, outboxId, 'SENT')
  })
})

describe('recipients', () => {
  const recipientsOf = (owner: TestCompany) =>
    rows(gateway, 'select * from recipients where company_id = $1 order by created_at', [owner.companyId])
  const recipientIdOf = async (outboxId: string) =>
    (await rows(gateway, 'select recipient_id from email_outbox where outbox_id = $1', [outboxId]))[0].recipient_id

  test.each([
    ['externalId', { externalId: 'c-1', nome: 'Maria' }, { externalId: 'c-1', nome: 'Maria Silva' }],
    [
      'cpfCnpj, however it is written',
      { cpfCnpj: '529.982.247-25', nome: 'Maria' },
      { cpfCnpj: '52998224725', nome: 'Maria Silva' },
    ],
    [
      'alphanumeric CNPJ',
      { cpfCnpj: '12.abc.345/01de-35', nome: 'Maria' },
      { cpfCnpj: '12ABC34501DE35', nome: 'Maria Silva' },
    ],
    [
      'cpfCnpjHash',
      { cpfCnpjHash: 'ab'.repeat(32), nome: 'Maria' },
      { cpfCnpjHash: 'ab'.repeat(32), nome: 'Maria Silva' },
    ],
    ['address', { nome: 'Maria' }, { nome: 'Maria Silva', email: 'MARIA@example.com' }],
  ])('the same %s twice is one recipient, brought up to date', async (_name, first, second) => {
    const owner = await gateway.company()
    const ids = [
      await sendOk(gateway, owner, { recipient: first }),
      await sendOk(gateway, owner, { recipient: second }),
    ]
    const kept = await recipientsOf(owner)
    expect(kept).toHaveLength(1)
    expect(kept[0]).toMatchObject({ nome: 'Maria Silva', email: 'maria@example.com' })
    expect(await Promise.all(ids.map(recipientIdOf))).toEqual([kept[0].recipient_id, kept[0].recipient_id])
    for (const id of ids) await untilStatus(gateway, owner, id, 'SENT')
  })

  test('a known externalId with a new address moves there, and what is not said again stays', async () => {
    const owner = await gateway.company()
    await sendOk(gateway, owner, { recipient: { externalId: 'c-1', nome: 'Maria', razaoSocial: 'Maria ME' } })
    await sendOk(gateway, owner, { to: 'maria@new.example', recipient: { externalId: 'c-1' } })
    expect(await recipientsOf(owner)).toMatchObject([
      { external_id: 'c-1', nome: 'Maria', razao_social: 'Maria ME', email: 'maria@new.example' },
    ])
  })

  test('two companies do not share a recipient', async () => {
    const owners = [await gateway.company(), await gateway.company()]
    for (const owner of owners) await sendOk(gateway, owner, { recipient: { externalId: 'c-1' } })
    for (const owner of owners) expect(await recipientsOf(owner)).toHaveLength(1)
  })

  test('fifty at once with one externalId make one recipient and fifty e-mails', async () => {
    const owner = await gateway.company()
    const bodies = Array.from({ length: 50 }, (_, index) => ({
      recipient: { externalId: 'c-1', nome: `Maria ${index}` },
    }))
    const ids = await Promise.all(bodies.map(body => sendOk(gateway, owner, body)))
    expect(new Set(ids).size).toBe(50)
    expect(await recipientsOf(owner)).toHaveLength(1)
  })

  test('without recipient none is made', async () => {
    const owner = await gateway.company()
    await sendOk(gateway, owner)
    expect(await recipientsOf(owner)).toEqual([])
  })

  test('a recipientId that is known is used', async () => {
    const owner = await gateway.company()
    const first = await sendOk(gateway, owner, { recipient: { externalId: 'c-1' } })
    const recipientId = await recipientIdOf(first)
    const second = await sendOk(gateway, owner, { to: 'MARIA@example.com', recipient: { recipientId } })
    expect(await recipientIdOf(second)).toBe(recipientId)
    expect(await recipientsOf(owner)).toHaveLength(1)
    await untilStatus(gateway, owner, second, 'SENT')
  })

  test.each([
    ['nobody has', async () => ({ recipient: { recipientId: '0190a0b0-0000-7000-8000-000000000000' } })],
    [
      'another company has',
      async () => {
        const other = await gateway.company()
        const outboxId = await sendOk(gateway, other, { recipient: { externalId: 'theirs' } })
        return { recipient: { recipientId: await recipientIdOf(outboxId) } }
      },
    ],
  ])('a recipientId that %s is refused by name', async (_name, change) => {
    const owner = await gateway.company()
    const answer = await send(gateway, owner, mail(await change()), { 'idempotency-key': 'k' })
    expect([answer.status, answer.body.code]).toEqual([422, 'RECIPIENT_NOT_FOUND'])
    expect(answer.body.errors).toMatchObject([{ path: 'recipient.recipientId', code: 'RECIPIENT_NOT_FOUND' }])
    expect(await keptOf(gateway, owner.companyId)).toEqual(NOTHING_KEPT)
  })

  test('a recipientId with another address than its own is refused', async () => {
    const owner = await gateway.company()
    const recipientId = await recipientIdOf(await sendOk(gateway, owner, { recipient: { externalId: 'c-1' } }))
    const answer = await send(gateway, owner, mail({ to: 'other@example.com', recipient: { recipientId } }))
    expect([answer.status, answer.body.code]).toEqual([422, 'RECIPIENT_NOT_FOUND'])
    expect(answer.body.errors[0].path).toBe('recipient.recipientId')
  })
})

describe('what is sent', () => {
  test('with a test key is marked and captured', async () => {
    const { apiKey } = await gateway.key(company.companyId, { mode: 'test' })
    expect(apiKey).toMatch(/^sk_test_/)
    const outboxId = await sendOk(gateway, { apiKey }, { from: 'anyone@anywhere.example' })
    await untilStatus(gateway, { ...company, apiKey }, outboxId, 'SENT')
    expect(await rows(gateway, 'select test, provider from email_outbox where outbox_id = $1', [outboxId])).toEqual([
      { test: true, provider: 'capture' },
    ])
    expect((await captured(gateway, outboxId)).from).toBe('anyone@anywhere.example')
  })

  test('with a live key is not marked as a test', async () => {
    const outboxId = await sendOk(gateway, company)
    expect((await rows(gateway, 'select test from email_outbox where outbox_id = $1', [outboxId]))[0].test).toBe(false)
  })

  test('comes from EMAIL_FROM when nobody says otherwise', async () => {
    expect((await sentAndCaptured({})).from).toBe('The Gateway <gateway@sender.test>')
  })

  test.each([
    ['Maria Silva <maria@example.com>', ['Maria Silva', 'maria@example.com']],
    ['"Silva, Maria" <maria@example.com>', ['Silva, Maria', 'maria@example.com']],
    ['José Ação <jose@example.com>', ['José Ação', 'jose@example.com']],
    ['"The \\"Best\\" Shop" <shop@example.com>', ['The \\"Best\\" Shop', 'shop@example.com']],
    ['"日本 🎉" <nihon@example.com>', ['日本 🎉', 'nihon@example.com']],
    ['plain@example.com', ['', 'plain@example.com']],
  ])('keeps the display name of %s', async (address, [name, bare]) => {
    const message = await sentAndCaptured({
      to: address,
      from: address,
      cc: [address.replace('@', '.cc@')],
      replyTo: address,
    })
    const shapes = name ? [`"${name}" <${bare}>`, `${name} <${bare}>`] : [bare]
    expect(shapes).toContain(message.to[0])
    expect(shapes).toContain(message.from)
    expect(shapes).toContain(message.replyTo[0])
    expect(shapes.map(shape => shape!.replace('@', '.cc@'))).toContain(message.cc[0])
  })

  test('keeps the spelling of the local part, with the domain as DNS knows it', async () => {
    const message = await sentAndCaptured({ to: 'Maria.SILVA@BÜCHER.example' })
    expect(message.to).toEqual(['Maria.SILVA@xn--bcher-kva.example'])
  })

  test('reaches everybody once, as to before cc before bcc', async () => {
    const message = await sentAndCaptured({
      to: 'a@example.com',
      cc: ['B@example.com', 'A@Example.com', 'b@example.com', 'C <c@example.com>'],
      bcc: ['a@example.com', 'c@example.com', 'd@example.com', 'D@EXAMPLE.com'],
    })
    expect([message.to, message.cc.map((one: string) => one.replace(/.*<|>/g, '')), message.bcc]).toEqual([
      ['a@example.com'],
      ['B@example.com', 'c@example.com'],
      ['d@example.com'],
    ])
  })

  test('has a text part made from the HTML', async () => {
    const message = await sentAndCaptured({
      html: '<h1>Olá, Maria</h1><p>Seu pedido <b>saiu</b>. <a href="https://acme.example/p/1">Acompanhe</a></p><style>p{}</style>',
    })
    expect(message.text).toContain('Olá, Maria')
    expect(message.text).toContain('Seu pedido saiu.')
    expect(message.text).toContain('https://acme.example/p/1')
    expect(message.text).not.toMatch(/[<>]|p\{\}/)
  })

  test('keeps the text part that was given, and needs no HTML', async () => {
    expect(await sentAndCaptured({ text: 'My own text.' })).toMatchObject({ text: 'My own text.', html: mail().html })
    expect(await sentAndCaptured({ text: 'Only text.', html: undefined })).toMatchObject({
      text: 'Only text.',
      html: null,
    })
  })

  test('carries subject, headers and every replyTo', async () => {
    const headers = {
      'List-Unsubscribe': '<https://acme.example/u/1>, <mailto:u@acme.example>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'X-Order': '77',
    }
    const message = await sentAndCaptured({
      subject: 'Pedido nº 77 ✓',
      headers,
      replyTo: ['a@x.example', 'b@x.example'],
    })
    expect(message).toMatchObject({ subject: 'Pedido nº 77 ✓', headers, replyTo: ['a@x.example', 'b@x.example'] })
  })

  test('may be as large as every rule allows, and still passes the checks before the send', async () => {
    const people = (count: number, kind: string) =>
      Array.from(
        { length: count },
        (_, index) => `"${'N'.repeat(60)}" <${kind}${index}.${'x'.repeat(50)}@${'d'.repeat(60)}.example>`,
      )
    const outboxId = await sendOk(
      gateway,
      company,
      {
        to: `${'t'.repeat(64)}@${'d'.repeat(60)}.${'e'.repeat(60)}.example`,
        cc: people(5, 'cc'),
        bcc: people(5, 'bcc'),
        replyTo: people(5, 'reply'),
        subject: 'ç'.repeat(150),
        html: 'é'.repeat(256 * 1024),
        text: 'x'.repeat(512 * 1024),
        tags: Array.from({ length: 5 }, (_, index) => `${index}${'ã'.repeat(63)}`),
        headers: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`X-Header-${index}`, 'v'.repeat(998)])),
        attachments: Array.from({ length: 10 }, (_, index) => ({
          filename: `${index}${'f'.repeat(254)}`,
          content: 'AAAA',
        })),
        recipient: {
          externalId: 'é'.repeat(255),
          nome: 'n'.repeat(200),
          razaoSocial: 'r'.repeat(200),
          cpfCnpj: '11.222.333/0001-81',
        },
        externalId: 'ü'.repeat(255),
        priority: 10,
        retryPolicy: 'patient',
        onUnknown: 'hold',
      },
      { 'x-request-id': 'M'.repeat(128), 'idempotency-key': '~'.repeat(256) },
    )
    await untilStatus(gateway, company, outboxId, 'SENT')
  })

  test.each(['steps', 'exponential', 'patient', 'persistent'])(
    'follows the retry policy %s when asked to',
    async retryPolicy => {
      const outboxId = await sendOk(gateway, company, { retryPolicy, delay: HOUR_MS })
      const [row] = await rows(gateway, 'select retry_policy, max_attempts from email_outbox where outbox_id = $1', [
        outboxId,
      ])
      expect(row).toEqual({ retry_policy: retryPolicy, max_attempts: { patient: 4, persistent: 48 }[retryPolicy] ?? 5 })
    },
  )

  test('follows the retry policy of the company when nobody asks', async () => {
    const patient = await gateway.company({ retryPolicy: 'patient' })
    const outboxId = await sendOk(gateway, patient, { delay: HOUR_MS })
    const [row] = await rows(gateway, 'select retry_policy from email_outbox where outbox_id = $1', [outboxId])
    expect(row.retry_policy).toBe('patient')
  })
})

describe('explain', () => {
  test('says when a scheduled e-mail will be ready', async () => {
    const scheduledAt = fromNow(HOUR_MS)
    const explained = await explain(await sendOk(gateway, company, { scheduledAt }))
    expect(explained).toMatchObject({
      status: 'PENDING',
      nextAt: scheduledAt,
      aheadInCompany: null,
      attempts: 0,
      maxAttempts: 5,
    })
    expect(explained.summary).toContain(scheduledAt)
    expect(explained.next).toBeTruthy()
  })

  test('says who took a sent e-mail, when, and as what', async () => {
    const outboxId = await sendOk(gateway, company)
    const email = await untilStatus(gateway, company, outboxId, 'SENT')
    const explained = await explain(outboxId)
    expect(explained).toMatchObject({ outboxId, status: 'SENT', attempts: 1, lastError: null, nextAt: null })
    for (const fact of ['capture', email.sentAt, email.messageId]) expect(explained.summary).toContain(fact)
  })

  test('says that the company is paused, and why', async () => {
    const paused = await pausedCompany()
    const explained = await explain(await sendOk(gateway, paused), paused)
    expect(explained.status).toBe('PENDING')
    expect(explained.summary).toMatch(/paused.*reputation under review/)
    expect(explained.next).toMatch(/resume/)
  })

  test('says that a scheduled e-mail is scheduled also after it was moved to later', async () => {
    const paused = await pausedCompany()
    const outboxId = await sendOk(gateway, paused, { delay: 300 })
    await patch(outboxId, { delay: HOUR_MS }, paused)
    await sleep(1_000)
    const explained = await explain(outboxId, paused)
    expect(explained.nextAt).toBe((await read(gateway, paused, outboxId)).scheduledAt)
  })

  test('says that it was cancelled', async () => {
    const outboxId = await sendOk(gateway, company, { delay: HOUR_MS })
    await cancel(outboxId)
    const explained = await explain(outboxId)
    expect(explained).toMatchObject({ status: 'CANCELLED', next: null, nextAt: null })
    expect(explained.summary).toMatch(/cancelled/i)
  })

  test('says what a retry waits for and which error it had', async () => {
    const outboxId = await sendOk(gateway, company, { to: 'unavailable@simulator.test' })
    const email = await untilStatus(gateway, company, outboxId, 'RETRY_SCHEDULED')
    expect(email.lastError.code).toBeTruthy()
    const explained = await explain(outboxId)
    expect(explained.summary).toContain(explained.lastError.code)
    expect(explained.nextAt ?? explained.next).toBeTruthy()
    await cancel(outboxId)
  })

  describe('while nobody sends', () => {
    let idle: TestGateway

    beforeAll(async () => {
      idle = await startTestGateway({ role: 'api' })
    })
    afterAll(() => idle.stop())

    test('says how many of the company go first, by priority and age, and how many companies share', async () => {
      const [own, other] = [await idle.company(), await idle.company()]
      const askFor = async (outboxId: string) => (await idle.call(own, 'GET', `/v1/email/${outboxId}/explain`)).body
      const [first, second, urgent] = [
        await sendOk(idle, own),
        await sendOk(idle, own),
        await sendOk(idle, own, { priority: 1 }),
      ]
      await sendOk(idle, other)
      expect(await askFor(urgent)).toMatchObject({
        status: 'PENDING',
        aheadInCompany: 0,
        companiesSharing: 2,
        nextAt: null,
      })
      expect(await askFor(first)).toMatchObject({ aheadInCompany: 1 })
      const explained = await askFor(second)
      expect(explained).toMatchObject({ aheadInCompany: 2, companiesSharing: 2, attempts: 0, lastError: null })
      expect(explained.summary).toMatch(/2 of this company before it, 2 companies/)
    })
  })
})
