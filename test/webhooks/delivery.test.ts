import { Resend } from 'resend'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { programVersion } from '../../src/platform/version.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import {
  comeDue,
  deliveriesOf,
  type Received,
  type Receiver,
  register,
  startReceiver,
  withStatus,
} from '../support/webhook-receiver.ts'

const ADMINISTRATOR = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }

let gateway: TestGateway
let company: TestCompany
let receiver: Receiver

beforeAll(async () => {
  gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  receiver = await startReceiver()
})
afterAll(async () => {
  await gateway.stop()
  await receiver.close()
})

const testEvent = (of: TestCompany, id: string) => gateway.call(of, 'POST', `/v1/webhooks/${id}/test`)
const verified = ({ text, headers }: Received, secret: string) => new Webhook(secret).verify(text, headers)
const settled = (of: TestCompany, id: string, status: string) =>
  until(
    () => deliveriesOf(gateway, of, id),
    ([newest]) => newest?.status === status,
  )

describe('a delivery', () => {
  beforeAll(async () => {
    company = await gateway.company()
  })

  test('is signed as standardwebhooks and the resend SDK verify it', async () => {
    const { id, secret } = await register(gateway, company, `${receiver.url}/signed`)
    const queued = await testEvent(company, id)
    expect(queued.status).toBe(202)
    const [got] = await receiver.got('/signed', 1)
    expect(got!.headers['webhook-id']).toBe(`msg_${queued.body.id}`)
    expect(got!.headers['content-type']).toBe('application/json')
    expect(got!.headers['user-agent']).toBe(`email-gateway/${programVersion()}`)
    const data = { companyId: company.companyId, webhookId: id, message: 'It works.', sequence: expect.any(Number) }
    expect(verified(got!, secret)).toEqual({ type: 'webhook.test', timestamp: expect.any(String), data })
    const headers = {
      id: got!.headers['webhook-id']!,
      timestamp: got!.headers['webhook-timestamp']!,
      signature: got!.headers['webhook-signature']!,
    }
    const resend = new Resend('re_test')
    expect(resend.webhooks.verify({ payload: got!.text, headers, webhookSecret: secret })).toMatchObject({ data })
    expect(() => verified({ ...got!, text: got!.text.replace('works', 'fails') }, secret)).toThrow()
    expect(await settled(company, id, 'delivered')).toMatchObject([{ attempts: 1, lastStatus: 204, lastError: null }])
  })

  test('that is answered 500 three times arrives in the end, signed anew, under the same id and with the same bytes', async () => {
    const { id, secret } = await register(gateway, company, `${receiver.url}/moody`)
    receiver.answer('/moody', (response, _, nth) => withStatus(nth <= 3 ? 500 : 200)(response, _, nth))
    await testEvent(company, id)
    for (let attempt = 1; attempt <= 3; attempt++) {
      await receiver.got('/moody', attempt)
      await until(
        () => deliveriesOf(gateway, company, id),
        ([one]) => one.attempts === attempt && one.nextAttemptAt !== null,
      )
      // Timestamps are whole seconds: one retry must be seen to have its own.
      const first = receiver.at('/moody')[0]!
      await until(
        async () => Date.now() - first.atMs,
        ms => ms > 1_000,
      )
      await comeDue(gateway)
    }
    const got = await receiver.got('/moody', 4)
    expect(await settled(company, id, 'delivered')).toMatchObject([{ attempts: 4, lastStatus: 200 }])
    expect(new Set(got.map(one => one.headers['webhook-id'])).size).toBe(1)
    expect(new Set(got.map(one => one.text)).size).toBe(1)
    expect(got[1]!.headers['webhook-timestamp']).not.toBe(got[0]!.headers['webhook-timestamp'])
    expect(got[1]!.headers['webhook-signature']).not.toBe(got[0]!.headers['webhook-signature'])
    for (const one of got) expect(verified(one, secret)).toBeTruthy()
  })

  test('waits as the schedule says, and fails for good after the eighth attempt', async () => {
    const { id } = await register(gateway, company, `${receiver.url}/never`)
    receiver.answer('/never', withStatus(500))
    await testEvent(company, id)
    const waits = ['5', '300', '1800', '7200', '18000', '36000', '36000'].map(Number)
    for (const [nth, seconds] of waits.entries()) {
      await until(
        () => deliveriesOf(gateway, company, id),
        ([one]) => one.attempts === nth + 1,
      )
      const [row] = await rows(
        gateway,
        `select extract(epoch from due_at - last_attempt_at)::float8 as wait from webhook_deliveries where endpoint_id = $1`,
        [id],
      )
      expect(row.wait).toBeGreaterThanOrEqual(seconds)
      expect(row.wait).toBeLessThanOrEqual(seconds * 1.1 + 0.1)
      await comeDue(gateway)
    }
    expect(await settled(company, id, 'failed')).toMatchObject([
      { attempts: 8, lastStatus: 500, lastError: 'HTTP_500' },
    ])
    expect(await rows(gateway, 'select from webhook_ready where endpoint_id = $1', [id])).toEqual([])
  })

  test('is not sent before the time that Retry-After names', async () => {
    const { id } = await register(gateway, company, `${receiver.url}/later`)
    receiver.answer('/later', withStatus(429, { 'retry-after': '120' }))
    await testEvent(company, id)
    await until(
      () => deliveriesOf(gateway, company, id),
      ([one]) => one?.attempts === 1,
    )
    const [row] = await rows(
      gateway,
      `select extract(epoch from d.due_at - now())::float8 as wait, extract(epoch from s.resume_at - now())::float8 as pause
       from webhook_deliveries d join webhook_state s using (endpoint_id) where endpoint_id = $1`,
      [id],
    )
    expect(row.wait).toBeGreaterThan(110)
    expect(row.pause).toBeGreaterThan(110)
  })

  test('is not redirected', async () => {
    const { id } = await register(gateway, company, `${receiver.url}/moved`)
    receiver.answer('/moved', withStatus(307, { location: `${receiver.url}/elsewhere` }))
    await testEvent(company, id)
    const found = await until(
      () => deliveriesOf(gateway, company, id),
      ([one]) => one?.attempts === 1,
    )
    expect(found).toMatchObject([{ status: 'waiting', lastStatus: 307, lastError: 'REDIRECT_NOT_FOLLOWED' }])
    expect(receiver.at('/elsewhere')).toEqual([])
  })

  test('keeps the first kilobyte of the answer, masked', async () => {
    const { id } = await register(gateway, company, `${receiver.url}/talks`)
    receiver.answer('/talks', response =>
      response.writeHead(200).end(`maria@example.com 529.982.247-25 \0${'x'.repeat(5000)}`),
    )
    await testEvent(company, id)
    const [one] = await settled(company, id, 'delivered')
    expect(one.lastAnswer).toMatch(/^m\*\*\*@e\*\*\*\.com \*\*\*\.\*\*\*\.\*\*\*-25 x+$/)
    expect(one.lastAnswer.length).toBeLessThanOrEqual(1024)
    expect(gateway.logs()).not.toMatch(/whsec_|It works\./)
  })
})

describe('an endpoint', () => {
  beforeAll(async () => {
    company = await gateway.company()
  })

  test('that answers 410 is disabled at once, and the other endpoints receive an event', async () => {
    const other = await register(gateway, company, `${receiver.url}/other`)
    const { id } = await register(gateway, company, `${receiver.url}/gone`)
    receiver.answer('/gone', withStatus(410))
    await testEvent(company, id)
    const [notice] = await receiver.got('/other', 1)
    expect(verified(notice!, other.secret)).toMatchObject({
      type: 'webhook.disabled',
      data: { webhookId: id, url: `${receiver.url}/gone`, reason: 'GONE' },
    })
    expect((await gateway.call(company, 'GET', `/v1/webhooks/${id}`)).body).toMatchObject({
      enabled: false,
      disabledReason: 'GONE',
    })
    expect(await settled(company, id, 'failed')).toMatchObject([{ lastStatus: 410 }])
    expect(await testEvent(company, id)).toMatchObject({ status: 409, body: { code: 'WEBHOOK_DISABLED' } })
    await gateway.call(company, 'DELETE', `/v1/webhooks/${other.id}`)
  })

  test('that is disabled and was the only one is seen where the company looks, and where the administrator does', async () => {
    const alone = await gateway.company()
    const { id } = await register(gateway, alone, `${receiver.url}/only`)
    receiver.answer('/only', withStatus(410))
    await testEvent(alone, id)
    const { body } = await until(
      () => gateway.call(alone, 'GET', `/v1/webhooks/${id}`),
      answer => answer.body.enabled === false,
    )
    expect(body).toMatchObject({ disabledReason: 'GONE', disabledAt: expect.stringMatching(/^\d{4}-.*Z$/) })
    const { disabledAt } = body
    expect((await gateway.call(alone, 'GET', '/v1/webhooks')).body.data).toMatchObject([{ id, disabledAt }])

    const lines = gateway.logs().split('\n')
    const line = JSON.parse(lines.find(one => one.includes('A webhook endpoint was disabled') && one.includes(id))!)
    expect(line).toMatchObject({ level: 'warn', companyId: alone.companyId, reason: 'GONE' })
    expect((await gateway.call(null, 'GET', '/metrics')).text).toMatch(/^webhook_endpoints_off [1-9]/m)
    await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
    const { data } = (await gateway.call(null, 'GET', '/admin/companies', undefined, ADMINISTRATOR)).body
    expect(data.find((one: { companyId: string }) => one.companyId === alone.companyId).webhooks).toEqual({
      enabled: 0,
      failing: 0,
      disabled: [{ webhookId: id, reason: 'GONE', disabledAt }],
    })
  })

  test('that has failed for five days is disabled, what waits for it fails, and PATCH enables it again', async () => {
    const { id } = await register(gateway, company, `${receiver.url}/broken`)
    receiver.answer('/broken', withStatus(500))
    await testEvent(company, id)
    await until(
      () => deliveriesOf(gateway, company, id),
      ([one]) => one?.attempts === 1,
    )
    await gateway.db.pool.query(
      `update webhook_state set failing_since = now() - interval '5 days 1 minute' where endpoint_id = $1`,
      [id],
    )
    await comeDue(gateway)
    const read = () => gateway.call(company, 'GET', `/v1/webhooks/${id}`)
    await until(read, ({ body }) => body.disabledReason === 'FAILING')
    expect(gateway.logs()).toMatch(/A webhook endpoint was disabled/)
    await comeDue(gateway)
    expect(await settled(company, id, 'failed')).toMatchObject([{ lastError: 'ENDPOINT_DISABLED' }])
    const again = await gateway.call(company, 'PATCH', `/v1/webhooks/${id}`, { enabled: true })
    expect(again.body).toMatchObject({ enabled: true, disabledReason: null, failingSince: null })
    receiver.answer('/broken', withStatus(200))
    const [failed] = await deliveriesOf(gateway, company, id)
    const replayed = await gateway.call(company, 'POST', `/v1/webhooks/${id}/deliveries/${failed.id}/replay`)
    expect(replayed).toMatchObject({ status: 202, body: { id: failed.id, status: 'waiting', attempts: 0 } })
    expect(await settled(company, id, 'delivered')).toMatchObject([{ id: failed.id, attempts: 1 }])
    const ids = new Set(receiver.at('/broken').map(one => one.headers['webhook-id']))
    expect([...ids]).toEqual([`msg_${failed.id}`])
  })

  test('whose secret cannot be read any more is tried again as the schedule says, and is not sent unsigned', async () => {
    const { id } = await register(gateway, company, `${receiver.url}/unreadable`)
    await gateway.db.pool.query(
      `update webhook_endpoints set secret_cipher = decode(repeat('ab', 64), 'hex') where endpoint_id = $1`,
      [id],
    )
    await testEvent(company, id)
    const [tried] = await until(
      () => deliveriesOf(gateway, company, id),
      ([newest]) => newest?.attempts === 1,
    )
    expect(tried).toMatchObject({ status: 'waiting', lastError: 'SECRET_UNREADABLE', lastStatus: null })
    expect(receiver.at('/unreadable')).toEqual([])
    const endpoint = await gateway.call(company, 'GET', `/v1/webhooks/${id}`)
    expect(endpoint.body, 'not a failure of the receiver').toMatchObject({ enabled: true, failingSince: null })
  })

  test('is signed for with both secrets after a rotation, for a day', async () => {
    const { id, secret: old } = await register(gateway, company, `${receiver.url}/rotated`)
    const rotated = await gateway.call(company, 'POST', `/v1/webhooks/${id}/rotate-secret`)
    const fresh = rotated.body.secret
    expect(fresh).not.toBe(old)
    const until24h = Date.parse(rotated.body.previousSecretUntil) - Date.now()
    expect(Math.round(until24h / 3_600_000)).toBe(24)
    await testEvent(company, id)
    const [both] = await receiver.got('/rotated', 1)
    expect(both!.headers['webhook-signature']!.split(' ')).toHaveLength(2)
    expect(verified(both!, old)).toBeTruthy()
    expect(verified(both!, fresh)).toBeTruthy()
    await gateway.db.pool.query(`update webhook_endpoints set previous_until = now() where endpoint_id = $1`, [id])
    await testEvent(company, id)
    const [, alone] = await receiver.got('/rotated', 2)
    expect(verified(alone!, fresh)).toBeTruthy()
    expect(() => verified(alone!, old)).toThrow()
  })

  test('is left alone for a while after failing again and again, and what waits spends no attempt', async () => {
    const { id } = await register(gateway, company, `${receiver.url}/down`)
    receiver.answer('/down', withStatus(503))
    for (let n = 0; n < 20; n++) await testEvent(company, id)
    await receiver.got('/down', 3)
    const [state] = await until(
      () =>
        rows(
          gateway,
          'select failures, resume_at > now() as resting from webhook_state where endpoint_id = $1 and failures >= 3',
          [id],
        ),
      found => found.length > 0,
    )
    expect(state.resting).toBe(true)
    const untried = (await deliveriesOf(gateway, company, id)).filter(one => one.attempts === 0)
    expect(untried.length).toBeGreaterThan(10)
    expect(receiver.at('/down').length).toBeLessThan(8)
  })
})
