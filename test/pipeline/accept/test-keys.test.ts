import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { mail, rows, send, sendOk } from '../../support/mail.ts'
import { type Receiver, register, startReceiver } from '../../support/webhook-receiver.ts'

const LATER = { delay: 3_600_000 }
let gateway: TestGateway
let receiver: Receiver
let live: TestCompany
let testKey: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  receiver = await startReceiver()
  live = await gateway.company()
  testKey = { ...live, ...(await gateway.key(live.companyId, { mode: 'test' })) }
})
afterAll(async () => {
  await receiver.close()
  await gateway.stop()
})

describe.each([
  ['a test key', () => testKey, () => live],
  ['a live key', () => live, () => testKey],
])('%s', (_name, own, other) => {
  test('neither reads nor changes e-mails of the other mode', async () => {
    const foreign = await sendOk(gateway, other(), LATER)
    const path = `/v1/email/${foreign}`
    const calls: [string, string, unknown?][] = [
      ['GET', path],
      ['GET', `${path}/explain`],
      ['POST', `${path}/cancel`],
      ['PATCH', path, { delay: 0 }],
    ]
    for (const [method, at, body] of calls) {
      const answer = await gateway.call(own(), method, at, body)
      expect([method, at, answer.status, answer.body.code]).toEqual([method, at, 404, 'NOT_FOUND'])
    }
    expect((await gateway.call(other(), 'GET', path)).body.status).toBe('PENDING')
    expect((await gateway.call(other(), 'POST', `${path}/cancel`)).status).toBe(200)
  })

  test('lists the e-mails of its own mode', async () => {
    const mine = await sendOk(gateway, own(), { to: 'listed@example.com', ...LATER })
    await sendOk(gateway, other(), { to: 'listed@example.com', ...LATER })
    for (const query of ['?limit=100', '?recipient=listed@example.com', '?status=PENDING']) {
      const { data } = (await gateway.call(own(), 'GET', `/v1/emails${query}`)).body
      const ids = data.map((one: { outboxId: string }) => one.outboxId)
      expect(ids).toContain(mine)
      const found = await rows(gateway, 'select distinct test from email_outbox where outbox_id = any($1)', [ids])
      expect(found).toEqual([{ test: own() === testKey }])
    }
  })

  test('neither sees nor changes webhook endpoints of the other mode', async () => {
    const foreign = await register(gateway, other(), `${receiver.url}/unseen`)
    const path = `/v1/webhooks/${foreign.id}`
    const { data } = (await gateway.call(own(), 'GET', '/v1/webhooks')).body
    expect(data.map((one: { id: string }) => one.id)).not.toContain(foreign.id)
    const calls: [string, string, unknown?][] = [
      ['GET', path],
      ['PATCH', path, { enabled: false }],
      ['POST', `${path}/rotate-secret`],
      ['POST', `${path}/test`],
      ['GET', `${path}/deliveries`],
      ['POST', `${path}/deliveries/${foreign.id}/replay`],
      ['DELETE', path],
    ]
    for (const [method, at, body] of calls)
      expect([method, at, (await gateway.call(own(), method, at, body)).status]).toEqual([method, at, 404])
    const { body } = await gateway.call(other(), 'GET', path)
    expect(body).toMatchObject({ enabled: true, test: other() === testKey, previousSecretUntil: null })
    await gateway.call(other(), 'DELETE', path)
  })

  test('has as many endpoints as a company may have, whatever the other mode has', async () => {
    const company = await gateway.company()
    const both = [company, { ...company, ...(await gateway.key(company.companyId, { mode: 'test' })) }]
    const [first, second] = own() === live ? both : both.reverse()
    for (let n = 0; n < 10; n++) await register(gateway, first!, `${receiver.url}/${n}`)
    expect((await gateway.call(first!, 'POST', '/v1/webhooks', { url: receiver.url })).status).toBe(409)
    expect((await gateway.call(second!, 'POST', '/v1/webhooks', { url: receiver.url })).status).toBe(201)
  })

  test('receives the events of its own e-mails at its own endpoints', async () => {
    const path = `/events-of-${own() === live ? 'live' : 'test'}`
    const endpoint = await register(gateway, own(), receiver.url + path, { eventTypes: ['email.sent', 'email.failed'] })
    await sendOk(gateway, other())
    const mine = [await sendOk(gateway, own()), await sendOk(gateway, own(), { to: 'reject@simulator.test' })]
    const deliveries = await receiver.got(path, 2)
    expect(deliveries.map(({ body }) => (body.data as { outboxId: string }).outboxId).sort()).toEqual(mine.sort())
    await gateway.call(own(), 'DELETE', `/v1/webhooks/${endpoint.id}`)
  })
})

describe('suppression', () => {
  const suppress = (address: string) =>
    rows(gateway, `insert into suppression_list (company_id, email_hash, reason) values ($1, $2, 'MANUAL')`, [
      live.companyId,
      hashEmail(address),
    ])

  test('is live data: a test key neither sees nor removes an entry, and its mail is not stopped by one', async () => {
    await suppress('listed@example.com')
    const email = 'listed@example.com'
    for (const [method, path, body] of [
      ['GET', `/v1/suppression/check?email=${email}`, undefined],
      ['POST', '/v1/suppression/check', { email }],
    ] as const) {
      expect((await gateway.call(testKey, method, path, body)).body).toEqual({ suppressed: false })
      expect((await gateway.call(live, method, path, body)).body).toMatchObject({ suppressed: true })
    }
    const removal = { email, justification: 'The test suite wants it gone' }
    const refused = await gateway.call(testKey, 'DELETE', '/v1/suppression', removal)
    expect([refused.status, refused.body.code]).toEqual([404, 'NOT_SUPPRESSED'])
    expect((await send(gateway, live, mail({ to: email }))).status).toBe(403)

    const sent = await sendOk(gateway, testKey, { to: email, cc: [email, 'other@example.com'] })
    const done = await until(
      async () => (await gateway.call(testKey, 'GET', `/v1/email/${sent}`)).body,
      one => !['PENDING', 'PROCESSING'].includes(one.status),
    )
    expect(done.status).toBe('SENT')
  })

  test('that comes between accept and send does not stop test mail either', async () => {
    const sent = await sendOk(gateway, testKey, { to: 'meanwhile@example.com', ...LATER })
    await suppress('meanwhile@example.com')
    await gateway.call(testKey, 'PATCH', `/v1/email/${sent}`, { delay: 0 })
    const done = await until(
      async () => (await gateway.call(testKey, 'GET', `/v1/email/${sent}`)).body,
      one => !['PENDING', 'PROCESSING'].includes(one.status),
    )
    expect(done.status).toBe('SENT')
  })
})

describe('recipients', () => {
  const recipient = { externalId: 'customer-1', nome: 'Maria' }

  test('of test mail are others than those of live mail', async () => {
    await sendOk(gateway, live, { recipient })
    await sendOk(gateway, testKey, { recipient: { ...recipient, nome: 'Nobody' }, to: 'nobody@example.com' })
    const known = await rows(gateway, 'select recipient_id, nome, email from recipients order by nome')
    expect(known).toMatchObject([
      { nome: 'Maria', email: 'maria@example.com' },
      { nome: 'Nobody', email: 'nobody@example.com' },
    ])
    const named = { recipient: { recipientId: known[0].recipient_id } }
    expect((await send(gateway, live, mail(named))).status).toBe(202)
    const refused = await send(gateway, testKey, mail(named))
    expect([refused.status, refused.body.code]).toEqual([422, 'RECIPIENT_NOT_FOUND'])
  })
})
