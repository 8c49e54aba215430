import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readWebhookBacklog } from '../../src/webhooks/deliveries.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { register } from '../support/webhook-receiver.ts'

const URL = 'https://hooks.example.com/x'

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  company = await gateway.company()
})
afterAll(() => gateway.stop())

describe('an endpoint', () => {
  test('shows its secret once, and keeps it encrypted', async () => {
    const answer = await gateway.call(company, 'POST', '/v1/webhooks', { url: URL, description: 'Orders' })
    expect(answer).toMatchObject({
      status: 201,
      body: {
        url: URL,
        description: 'Orders',
        eventTypes: ['email.sent', 'email.failed'],
        enabled: true,
        disabledAt: null,
        failingSince: null,
        secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      },
    })
    const { id, secret } = answer.body
    const read = await gateway.call(company, 'GET', `/v1/webhooks/${id}`)
    expect(read.status).toBe(200)
    expect(read.text).not.toContain('whsec_')
    expect((await gateway.call(company, 'GET', '/v1/webhooks')).body.data).toEqual([read.body])
    const [row] = await rows(gateway, 'select secret_cipher from webhook_endpoints where endpoint_id = $1', [id])
    expect(row.secret_cipher.toString('latin1')).not.toContain(secret.slice(6))
    expect(gateway.logs()).not.toContain(secret)
  })

  test('is changed by the fields that are named, disabled and enabled', async () => {
    const { id } = await register(gateway, company, URL)
    const patch = (body: unknown) => gateway.call(company, 'PATCH', `/v1/webhooks/${id}`, body)
    expect((await patch({ eventTypes: ['email.bounced', 'email.bounced'] })).body).toMatchObject({
      url: URL,
      eventTypes: ['email.bounced'],
    })
    expect((await patch({ enabled: false })).body).toMatchObject({ enabled: false, disabledReason: 'MANUAL' })
    expect((await gateway.call(company, 'POST', `/v1/webhooks/${id}/test`)).body.code).toBe('WEBHOOK_DISABLED')
    expect((await patch({ enabled: true, description: 'x' })).body).toMatchObject({
      enabled: true,
      description: 'x',
      disabledAt: null,
    })
    expect((await patch({ description: null })).body.description).toBeNull()
  })

  test('that was removed is gone, with its deliveries', async () => {
    const { id } = await register(gateway, company, URL)
    expect(await gateway.call(company, 'DELETE', `/v1/webhooks/${id}`)).toMatchObject({ status: 200, body: { id } })
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/test'],
      ['POST', '/rotate-secret'],
    ] as const)
      expect((await gateway.call(company, method, `/v1/webhooks/${id}${path}`)).status, `${method} ${path}`).toBe(404)
  })

  test.each([
    [{}, 'url'],
    [{ url: 5 }, 'url'],
    [{ url: `https://hooks.example.com/${'x'.repeat(2048)}` }, 'url'],
    [{ url: 'https://hooks.example.com/\u0000' }, ''],
    [{ url: URL, eventTypes: [] }, 'eventTypes'],
    [{ url: URL, eventTypes: ['email.opened'] }, 'eventTypes[0]'],
    [{ url: URL, eventTypes: 'email.sent' }, 'eventTypes'],
    [{ url: URL, description: 'x'.repeat(201) }, 'description'],
    [{ url: URL, secret: 'mine' }, 'secret'],
  ])('is refused with a body like %j', async (body, path) => {
    const answer = await gateway.call(company, 'POST', '/v1/webhooks', body)
    expect(answer.status).toBe(422)
    expect(answer.body.errors[0].path).toMatch(path)
  })

  test('beyond the tenth is refused, also when they come all at once', async () => {
    const busy = await gateway.company()
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => gateway.call(busy, 'POST', '/v1/webhooks', { url: URL })),
    )
    expect(answers.filter(one => one.status === 201)).toHaveLength(10)
    expect(answers.find(one => one.status !== 201)).toMatchObject({
      status: 409,
      body: { code: 'WEBHOOK_LIMIT_REACHED' },
    })
    await gateway.call(busy, 'DELETE', `/v1/webhooks/${answers.find(one => one.status === 201)!.body.id}`)
    expect((await gateway.call(busy, 'POST', '/v1/webhooks', { url: URL })).status).toBe(201)
  })

  test('of another company is not found', async () => {
    const { id } = await register(gateway, company, URL)
    const queued = await gateway.call(company, 'POST', `/v1/webhooks/${id}/test`)
    const stranger = await gateway.company()
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { enabled: false }],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
      ['GET', '/deliveries'],
      ['POST', `/deliveries/${queued.body.id}/replay`],
    ] as const)
      expect(
        (await gateway.call(stranger, method, `/v1/webhooks/${id}${path}`, body)).status,
        `${method} ${path}`,
      ).toBe(404)
    // And a delivery of one endpoint is none of another.
    const other = await register(gateway, company, URL)
    const crossed = await gateway.call(company, 'POST', `/v1/webhooks/${other.id}/deliveries/${queued.body.id}/replay`)
    expect(crossed.status).toBe(404)
    expect((await gateway.call(company, 'GET', '/v1/webhooks/nonsense')).status).toBe(404)
  })

  test('is managed with the scope manage, and read with read', async () => {
    const { id } = await register(gateway, company, URL)
    const reader = await gateway.key(company.companyId, { scopes: ['read'] })
    const sender = await gateway.key(company.companyId, { scopes: ['send'] })
    expect((await gateway.call(reader, 'GET', `/v1/webhooks/${id}`)).status).toBe(200)
    expect((await gateway.call(reader, 'GET', `/v1/webhooks/${id}/deliveries`)).status).toBe(200)
    expect((await gateway.call(sender, 'GET', '/v1/webhooks')).status).toBe(403)
    for (const [method, path, body] of [
      ['POST', '', { url: URL }],
      ['PATCH', `/${id}`, { enabled: false }],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/rotate-secret`],
      ['POST', `/${id}/test`],
    ] as const)
      expect((await gateway.call(reader, method, `/v1/webhooks${path}`, body)).status, `${method} ${path}`).toBe(403)
    expect((await gateway.call(null, 'GET', '/v1/webhooks')).status).toBe(401)
  })

  test('lists its deliveries in pages, newest first', async () => {
    const { id } = await register(gateway, await gateway.company().then(made => (company = made)), URL)
    const queued: string[] = []
    for (let n = 0; n < 5; n++) queued.push((await gateway.call(company, 'POST', `/v1/webhooks/${id}/test`)).body.id)
    const page = (query: string) => gateway.call(company, 'GET', `/v1/webhooks/${id}/deliveries?limit=2${query}`)
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await page(cursor)
      seen.push(...body.data.map((one: { id: string }) => one.id))
      if (!body.hasMore) break
      cursor = `&cursor=${body.cursor}`
    }
    expect(seen).toEqual(queued.toReversed())
    expect((await page('&status=delivered')).body).toEqual({ data: [], cursor: null, hasMore: false })
    expect((await page('&cursor=nonsense')).status).toBe(422)
  })
})

test('a webhook waits unserved when no worker holds its endpoint, and not when the endpoint is slow or fails', async () => {
  const db = gateway.db.pool
  const unserved = async () => Math.round((await readWebhookBacklog(db)).unservedSeconds ?? -1)
  await db.query('delete from webhook_ready')
  expect(await unserved()).toBe(-1)
  const { id } = await register(gateway, await gateway.company().then(made => (company = made)), URL)
  await gateway.call(company, 'POST', `/v1/webhooks/${id}/test`)
  await gateway.call(company, 'POST', `/v1/webhooks/${id}/test`)
  await db.query(`update webhook_deliveries set created_at = now() - interval '1 hour' where endpoint_id = $1`, [id])
  const state = (change: string) => db.query(`update webhook_state set ${change} where endpoint_id = $1`, [id])
  expect(await unserved()).toBe(3600)
  await state('failures = 1')
  expect(await unserved(), 'failing').toBe(-1)
  await state(`failures = 0, held_until = now() + interval '15 seconds'`)
  expect(await unserved(), 'slow: a worker delivers').toBe(-1)
  await state(`held_until = now() - interval '1 second'`)
  expect(await unserved(), 'its worker was lost').toBe(3600)
})

test('webhooks are in the metrics, without a word about where they go', async () => {
  const { text } = await gateway.call(null, 'GET', '/metrics')
  expect(text).toMatch(/^webhook_backlog \d+$/m)
  expect(text).toMatch(/^webhook_oldest_ready_seconds [\d.]+$/m)
  expect(text).toMatch(/^webhook_unserved_seconds [\d.]+$/m)
  expect(text).toMatch(/^webhook_endpoints_off 0$/m)
  expect(text).not.toContain('hooks.example')
})
