import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { type Receiver, register, startReceiver } from '../../support/webhook-receiver.ts'

const FROM = 'shop@example.com'
const HELLO = { from: FROM, subject: 'Hello', text: 'It works.' }
const SECRET = expect.stringMatching(/^whsec_/)
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
const NOT_FOUND = { statusCode: 404, name: 'not_found', message: expect.any(String) }

let gateway: TestGateway
let receiver: Receiver
let company: TestCompany
let resend: Resend

const client = (apiKey: string) => new Resend(apiKey, { baseUrl: gateway.url })

beforeAll(async () => {
  receiver = await startReceiver()
  gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  company = await gateway.company({ fromDomains: ['example.com'] })
  resend = client(company.apiKey)
})
afterAll(async () => {
  await gateway.stop()
  await receiver.close()
})

const create = async (path: string, events: string[], own = resend) =>
  (await own.webhooks.create({ endpoint: receiver.url + path, events: events as never })).data!

describe('a webhook', () => {
  test('of an e-mail is verified by the SDK, with both names of the headers', async () => {
    const { signing_secret: webhookSecret } = await create('/sent', ['email.sent', 'email.bounced'])
    const sent = await resend.emails.send({
      ...HELLO,
      to: ['maria@example.com', 'joao@example.com'],
      tags: [{ name: 'category', value: 'order' }],
    })
    const [delivery] = await receiver.got('/sent', 1)
    const { text: payload, headers } = delivery!
    for (const family of ['svix', 'webhook']) {
      const given = {
        id: headers[`${family}-id`]!,
        timestamp: headers[`${family}-timestamp`]!,
        signature: headers[`${family}-signature`]!,
      }
      const event = resend.webhooks.verify({ payload, headers: given, webhookSecret })
      expect(event).toEqual({
        type: 'email.sent',
        created_at: ISO,
        data: {
          email_id: sent.data!.id,
          message_id: expect.stringMatching(/./),
          created_at: ISO,
          from: FROM,
          to: ['maria@example.com', 'joao@example.com'],
          subject: 'Hello',
          tags: { category: 'order' },
        },
      })
      expect(() => resend.webhooks.verify({ payload: `${payload} `, headers: given, webhookSecret })).toThrow()
    }
  })

  test('of a bounce says what the recipient’s server said', async () => {
    const { id: webhookId } = await create('/bounced', ['email.bounced'])
    await resend.emails.send({ ...HELLO, to: 'bounce@simulator.test' })
    const [delivery] = await receiver.got('/bounced', 1)
    expect(delivery!.body).toMatchObject({
      type: 'email.bounced',
      data: {
        to: ['bounce@simulator.test'],
        bounce: { message: expect.any(String), type: 'Permanent', subType: expect.any(String) },
      },
    })
    await resend.webhooks.remove(webhookId)
  })

  test('of one recipient among several names that one, and each has its own status', async () => {
    const { id: webhookId } = await create('/several', ['email.bounced', 'email.complained'])
    const to = ['bounce+several@simulator.test', 'Angry <complaint+several@simulator.test>']
    const { data } = await resend.emails.send({ ...HELLO, to })
    const deliveries = await receiver.got('/several', 2)
    const recipients = deliveries.map(({ body }) => [body.type, (body.data as { to: string[] }).to])
    expect(Object.fromEntries(recipients)).toEqual({
      'email.bounced': ['bounce+several@simulator.test'],
      'email.complained': ['complaint+several@simulator.test'],
    })
    const { rows } = await gateway.db.pool.query(
      'select status from email_recipients where outbox_id = $1 order by ordinal',
      [data!.id],
    )
    expect(rows).toEqual([{ status: 'BOUNCED' }, { status: 'COMPLAINED' }])
    expect((await resend.emails.get(data!.id)).data).toMatchObject({ last_event: 'complained' })
    await resend.webhooks.remove(webhookId)
  })

  test('of the native API keeps its body and its headers', async () => {
    const native = await register(gateway, company, `${receiver.url}/native`)
    expect(native).toMatchObject({ format: 'native' })
    await resend.emails.send({ ...HELLO, to: 'maria@example.com' })
    const [delivery] = await receiver.got('/native', 1)
    expect(delivery!.body).toMatchObject({ type: 'email.sent', timestamp: ISO, data: { outboxId: expect.any(String) } })
    expect(Object.keys(delivery!.headers).filter(name => name.startsWith('svix-'))).toEqual([])
    expect((await resend.webhooks.get(native.id)).error).toEqual(NOT_FOUND)
    expect((await resend.webhooks.list()).data!.data.map(one => one.id)).not.toContain(native.id)
    await gateway.call(company, 'DELETE', `/v1/webhooks/${native.id}`)
  })
})

describe('an endpoint', () => {
  test('is made, read, changed, rotated and removed', async () => {
    const own = client((await gateway.company()).apiKey)
    const endpoint = `${receiver.url}/life`
    const made = await own.webhooks.create({ endpoint, events: ['email.failed', 'email.sent'] })
    expect(made.data).toEqual({ object: 'webhook', id: expect.any(String), signing_secret: SECRET })
    const { id, signing_secret: secret } = made.data!
    const shown = { id, created_at: ISO, status: 'enabled', endpoint, events: ['email.sent', 'email.failed'] }
    expect((await own.webhooks.get(id)).data).toEqual({ object: 'webhook', ...shown, signing_secret: secret })
    expect((await own.webhooks.list()).data).toEqual({ object: 'list', has_more: false, data: [shown] })

    const change = { status: 'disabled', events: ['email.delivered'] } as const
    expect((await own.webhooks.update(id, change as never)).data).toEqual({ object: 'webhook', id })
    expect((await own.webhooks.get(id)).data).toMatchObject({ status: 'disabled', events: ['email.delivered'] })
    await own.webhooks.update(id, { status: 'enabled' })
    expect((await own.webhooks.get(id)).data).toMatchObject({ status: 'enabled', events: ['email.delivered'] })

    const rotated = await own.webhooks.rotateSigningSecret(id)
    expect(rotated.data).toEqual({ object: 'webhook', id, signing_secret: SECRET })
    expect(rotated.data!.signing_secret).not.toBe(secret)
    expect((await own.webhooks.get(id)).data).toMatchObject({ signing_secret: rotated.data!.signing_secret })
    expect((await own.webhooks.remove(id)).data).toEqual({ object: 'webhook', id, deleted: true })
    expect((await own.webhooks.get(id)).error).toEqual(NOT_FOUND)
    expect((await own.webhooks.remove(id)).error).toEqual(NOT_FOUND)
  })

  test('of another company is not found', async () => {
    const { id } = await create('/others', ['email.sent'])
    const others = client((await gateway.company()).apiKey)
    expect((await others.webhooks.get(id)).error).toEqual(NOT_FOUND)
    expect((await others.webhooks.update(id, { status: 'disabled' })).error).toEqual(NOT_FOUND)
    expect((await others.webhooks.rotateSigningSecret(id)).error).toEqual(NOT_FOUND)
    expect((await others.webhooks.events.list({ webhookId: id })).error).toEqual(NOT_FOUND)
    await resend.webhooks.remove(id)
  })

  test('is refused with events that the gateway does not send, and with a wrong address', async () => {
    const endpoint = `${receiver.url}/x`
    const opened = await resend.webhooks.create({ endpoint, events: ['email.opened', 'email.sent'] })
    expect(opened.error).toEqual({
      statusCode: 422,
      name: 'validation_error',
      message: expect.stringMatching(/`events` field has email\.opened, which the gateway does not send/),
    })
    const ftp = await resend.webhooks.create({ endpoint: 'ftp://x.example', events: ['email.sent'] })
    expect(ftp.error).toMatchObject({ statusCode: 422, message: expect.stringMatching(/`endpoint`/) })
    const reader = await gateway.key(company.companyId, { scopes: ['send', 'read'] })
    expect((await client(reader.apiKey).webhooks.list()).error).toMatchObject({ name: 'restricted_api_key' })
  })

  test('has events, each with its body, that are delivered again', async () => {
    const own = client((await gateway.company({ fromDomains: ['example.com'] })).apiKey)
    const { id: webhookId } = await create('/again', ['email.sent'], own)
    await own.emails.send({ ...HELLO, to: 'maria@example.com' })
    await own.emails.send({ ...HELLO, to: 'joao@example.com' })
    const received = await receiver.got('/again', 2)
    const { data: list } = await until(
      () => own.webhooks.events.list({ webhookId }),
      ({ data }) => data?.data.every(event => event.status === 'success') === true,
    )
    expect(list).toMatchObject({ object: 'list', has_more: false })
    const newest = { id: expect.stringMatching(/^msg_/), type: 'email.sent', created_at: ISO, status: 'success' }
    expect(list!.data).toEqual([newest, newest])
    const [first, second] = list!.data
    const { data: rest } = await own.webhooks.events.list({ webhookId, limit: 1, after: first!.id })
    expect(rest).toEqual({ object: 'list', has_more: false, data: [second] })

    const delivered = received.find(one => one.headers['svix-id'] === first!.id)!
    const { data: event } = await own.webhooks.events.get({ webhookId, eventId: first!.id })
    expect(event).toEqual({ object: 'webhook_event', ...first, next_attempt_at: null, payload: delivered.body })

    const replayed = await own.webhooks.events.replay({ webhookId, eventId: first!.id })
    expect(replayed.data).toEqual({ object: 'webhook_event', id: first!.id })
    const again = (await receiver.got('/again', 3))[2]!
    expect(again.headers['svix-id']).toBe(first!.id)
    expect(again.text).toBe(delivered.text)
    const unknown = `msg_${webhookId}`
    expect((await own.webhooks.events.get({ webhookId, eventId: unknown })).error).toEqual(NOT_FOUND)
    expect((await own.webhooks.events.replay({ webhookId, eventId: 'x' })).error).toEqual(NOT_FOUND)
  })
})

test('the routes for events of providers stay where they are', async () => {
  for (const provider of ['ses', 'resend']) {
    const { status, body } = await gateway.call(company, 'POST', `/webhooks/${provider}`, {})
    expect({ status, code: body.code }).toEqual({ status: 503, code: 'EVENTS_NOT_SET_UP' })
  }
})
