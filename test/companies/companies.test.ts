import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { roleNameOf } from '../../src/companies/sql-access.ts'
import { type Answer, startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { captured, type Json, rows, sendOk } from '../support/mail.ts'
import { type Receiver, startReceiver, withStatus } from '../support/webhook-receiver.ts'

const LOGIN = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }

let gateway: TestGateway
let receiver: Receiver
let company: TestCompany
beforeAll(async () => {
  gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  receiver = await startReceiver()
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
  company = await gateway.company({ fromDomains: ['acme.example'] })
})
afterAll(async () => {
  await gateway?.stop()
  await receiver?.close()
})

const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  gateway.call(null, method, `/admin${path}`, body, LOGIN)
const untilCaptured = (outboxId: string) => until(() => captured(gateway, outboxId), Boolean)
const audit = async (companyId: string): Promise<Json[]> =>
  (await admin('GET', `/companies/${companyId}/audit`)).body.data

describe('a company', () => {
  test('is created with a key that works, and once for each name', async () => {
    const wanted = { name: 'Padaria São João', fromDomains: ['Pão.example'], weight: 3, reason: 'A new customer' }
    const made = await admin('POST', '/companies', wanted)
    expect(made.status).toBe(201)
    const { companyId } = made.body.company
    expect(made.headers.get('location')).toBe(`/admin/companies/${companyId}`)
    expect(made.body.company).toMatchObject({ name: wanted.name, fromDomains: ['xn--po-sia.example'], weight: 3 })
    await sendOk(gateway, made.body, { to: 'a@example.com' })
    expect((await admin('POST', '/companies', wanted)).body.code).toBe('COMPANY_EXISTS')
    expect(await audit(companyId)).toMatchObject([
      { action: 'COMPANY_CREATED', performedBy: 'ana', reason: 'A new customer', after: { weight: 3 } },
    ])
    expect((await audit(companyId)).at(-1)).not.toHaveProperty('apiKey')
  })

  test('is changed in the fields that are given, with before and after in the audit log', async () => {
    const path = `/companies/${company.companyId}`
    const change = { ratePerSecond: 20, retryPolicy: 'patient', defaultFrom: 'Acme <hi@acme.example>', isDefault: true }
    expect((await admin('PATCH', path, change)).body).toMatchObject({ ...change, weight: 1 })
    expect((await audit(company.companyId))[0]).toMatchObject({
      action: 'COMPANY_CHANGED',
      before: { ratePerSecond: null, retryPolicy: null, defaultFrom: null, isDefault: false },
      after: change,
    })
    const entries = (await audit(company.companyId)).length
    expect((await admin('PATCH', path, { ratePerSecond: 20 })).status).toBe(200)
    expect(await audit(company.companyId)).toHaveLength(entries)
    expect((await admin('PATCH', path, { ratePerSecond: null })).body.ratePerSecond).toBeNull()
    expect((await admin('GET', path)).body).toMatchObject({
      ratePerSecond: null,
      isDefault: true,
      retryPolicy: 'patient',
    })
  })

  test('keeps a default sender of its own domains, whichever of the two is changed', async () => {
    const other = await gateway.company({ fromDomains: ['one.example', 'two.example'], defaultFrom: 'a@one.example' })
    const path = `/companies/${other.companyId}`
    for (const change of [{ fromDomains: ['two.example'] }, { defaultFrom: 'a@three.example' }])
      expect((await admin('PATCH', path, change)).body.errors).toMatchObject([{ path: 'defaultFrom' }])
    const both = { fromDomains: ['two.example'], defaultFrom: 'b@two.example' }
    expect((await admin('PATCH', path, both)).body).toMatchObject(both)
    expect((await admin('PATCH', `/companies/${crypto.randomUUID()}`, {})).status).toBe(404)
  })

  test('shows its volume, what waits, its activity and its share of the attempts', async () => {
    const busy = await gateway.company({ weight: 3 })
    const outboxId = await sendOk(gateway, busy, { to: 'a@example.com' })
    await untilCaptured(outboxId)
    await admin('POST', `/companies/${busy.companyId}/pause`, { reason: 'To see it wait' })
    await sendOk(gateway, busy, { to: 'b@example.com' })
    const listed = (await admin('GET', '/companies')).body.data.find((one: Json) => one.companyId === busy.companyId)
    expect(listed).toMatchObject({
      state: 'paused',
      accepted: 2,
      waiting: 1,
      weight: 3,
      oldestWaitingSeconds: expect.any(Number),
    })
    const fairness = await until(
      async () => (await admin('GET', `/fairness?company=${busy.companyId}`)).body,
      body => body.data.some((one: Json) => one.companyId === busy.companyId && one.ready === 1),
    )
    const turn = fairness.data.find((one: Json) => one.companyId === busy.companyId)
    expect(turn).toMatchObject({ attempts: 1, paused: true, fairShare: 0, weight: 3 })
    expect(turn.share).toBeCloseTo(1 / fairness.attempts)
    const activity = (await admin('GET', `/companies/${busy.companyId}/activity?range=7d`)).body
    expect(activity).toMatchObject({ step: 'hour' })
    expect(activity.data).toHaveLength(169)
    expect((await admin('GET', `/companies/${busy.companyId}/activity?range=30d`)).body.data).toHaveLength(31)
  })
})

describe('an API key', () => {
  test('is shown once, sends, and is refused after it was revoked', async () => {
    const path = `/companies/${company.companyId}/keys`
    const made = await admin('POST', path, { name: 'shop', scopes: ['send', 'read'] })
    expect(made.body.apiKey).toMatch(/^sk_live_/)
    const outboxId = await sendOk(gateway, made.body, { to: 'c@example.com', from: 'c@acme.example' })
    const [listed] = (await admin('GET', path)).body.data
    expect(listed).toMatchObject({ keyId: made.body.keyId, name: 'shop', scopes: ['send', 'read'], revokedAt: null })
    expect(JSON.stringify(listed)).not.toContain(made.body.apiKey.split('_')[3])
    const revoke = () => admin('POST', `${path}/${made.body.keyId}/revoke`, { reason: 'It leaked' })
    expect((await revoke()).body).toEqual({ keyId: made.body.keyId, revoked: true })
    expect((await revoke()).status).toBe(200)
    await until(
      () => gateway.call(made.body, 'GET', `/v1/email/${outboxId}`),
      answer => answer.status === 401,
    )
    expect((await audit(company.companyId)).slice(0, 2)).toMatchObject([
      { action: 'API_KEY_REVOKED', reason: 'It leaked', subjectId: made.body.keyId },
      { action: 'API_KEY_CREATED', after: { name: 'shop', mode: 'live' } },
    ])
    const other = await gateway.company()
    expect((await admin('POST', `/companies/${other.companyId}/keys/${made.body.keyId}/revoke`, {})).status).toBe(404)
  })
})

describe('a webhook', () => {
  test('is registered, tested, replayed, rotated, disabled and removed, each of them audited', async () => {
    const owner = await gateway.company()
    const made = await admin('POST', `/companies/${owner.companyId}/webhooks`, { url: `${receiver.url}/admin` })
    expect(made.body).toMatchObject({ secret: expect.stringMatching(/^whsec_/), enabled: true })
    const path = `/companies/${owner.companyId}/webhooks/${made.body.id}`
    receiver.answer('/admin', withStatus(500))
    const sent = (await admin('POST', `${path}/test`, {})).body
    const exchange = await until(
      async () => (await admin('GET', `${path}/deliveries/${sent.id}`)).body,
      body => body.attempts === 1,
    )
    expect(exchange).toMatchObject({ lastStatus: 500, status: 'waiting', request: { webhookId: `msg_${sent.id}` } })
    expect(JSON.parse(exchange.request.body)).toMatchObject({ type: 'webhook.test', data: { message: 'It works.' } })
    const listed = (await admin('GET', `/webhooks?companyId=${owner.companyId}`)).body
    expect(listed.data).toMatchObject([
      {
        id: made.body.id,
        companyName: owner.name,
        waiting: 1,
        recent: { delivered: 0, retrying: 1, lastFailure: { status: 500 } },
      },
    ])
    receiver.answer('/admin', withStatus(200))
    await admin('POST', `${path}/deliveries/${sent.id}/replay`, {})
    await until(
      async () => (await admin('GET', `${path}/deliveries?status=delivered`)).body.data,
      data => data.length === 1,
    )
    expect((await admin('POST', `${path}/rotate-secret`, {})).body.secret).not.toBe(made.body.secret)
    expect((await admin('PATCH', path, { enabled: false })).body.enabled).toBe(false)
    expect((await admin('POST', `${path}/test`, {})).body.code).toBe('WEBHOOK_DISABLED')
    expect((await admin('DELETE', path, {})).body.deleted).toBe(true)
    expect((await admin('GET', `/webhooks/${made.body.id}`)).status).toBe(404)
    expect((await audit(owner.companyId)).map(one => [one.action, one.performedBy])).toEqual([
      ['WEBHOOK_REMOVED', 'ana'],
      ['WEBHOOK_CHANGED', 'ana'],
      ['WEBHOOK_SECRET_ROTATED', 'ana'],
      ['WEBHOOK_REPLAYED', 'ana'],
      ['WEBHOOK_TESTED', 'ana'],
      ['WEBHOOK_CREATED', 'ana'],
    ])
  })

  test('is found page by page, and by its state', async () => {
    const owner = await gateway.company()
    for (const name of ['one', 'two', 'three'])
      await admin('POST', `/companies/${owner.companyId}/webhooks`, { url: `${receiver.url}/${name}` })
    const list = async (query: string) => (await admin('GET', `/webhooks?companyId=${owner.companyId}&${query}`)).body
    const first = await list('limit=2')
    expect([first.data.length, first.hasMore]).toEqual([2, true])
    const second = await list(`limit=2&cursor=${first.cursor}`)
    expect([second.data.map((one: Json) => one.url), second.hasMore]).toEqual([[`${receiver.url}/three`], false])
    await admin('PATCH', `/companies/${owner.companyId}/webhooks/${first.data[0].id}`, { enabled: false })
    expect((await list('state=disabled')).data.map((one: Json) => one.id)).toEqual([first.data[0].id])
    expect((await list('state=enabled')).counts).toMatchObject({ enabled: expect.any(Number), disabled: 1 })
  })
})

describe('a template', () => {
  test('is written, previewed, tested, published and rolled back', async () => {
    const path = `/companies/${company.companyId}/templates`
    const source = { subject: 'Hi {{ name }}', html: '<p>{{ name }}</p>', text: null }
    const made = (await admin('POST', path, { type: 'from_admin', locale: 'en', ...source })).body
    expect(made).toMatchObject({ draft: 1, version: { variables: ['name'], createdBy: 'ana' } })
    expect((await admin('GET', `/templates/${made.id}`)).body).toMatchObject({ companyName: company.name, draft: 1 })
    const template = `${path}/${made.id}`
    const saved = (await admin('PATCH', template, { subject: 'Dear {{ name }}' })).body
    expect(saved).toMatchObject({ draft: 2, version: { html: source.html } })
    expect((await admin('POST', `${template}/publish`, {})).body).toMatchObject({ published: 2, draft: null })
    await admin('PATCH', template, { subject: 'Oops' })
    await admin('POST', `${template}/publish`, {})
    expect((await admin('POST', `${template}/publish`, { version: 2 })).body).toMatchObject({ published: 2 })
    expect((await audit(company.companyId))[0]).toMatchObject({
      action: 'TEMPLATE_PUBLISHED',
      before: { version: 3 },
      after: { version: 2 },
    })
    const sent = await admin('POST', `${template}/test`, {
      to: 'd@example.com',
      variables: { name: 'Ana' },
      version: 2,
    })
    expect(sent.status).toBe(202)
    expect(await untilCaptured(sent.body.outboxId)).toMatchObject({ subject: '[Test] Dear Ana' })
    expect((await audit(company.companyId))[0]).toMatchObject({
      ...{ action: 'TEMPLATE_TESTED', performedBy: expect.any(String) },
      after: { version: 2, sentAs: sent.body.outboxId },
    })
    expect((await admin('DELETE', template, {})).body.deleted).toBe(true)
  })

  test('a preview shows what an editor holds, or says what is wrong with it, and stores nothing', async () => {
    const preview = async (body: object) => (await admin('POST', '/templates/preview', body)).body
    const before = await rows(gateway, 'select count(*)::int as count from template_versions')
    expect(await preview({ subject: 'Hi {{ a }}', text: '{{ b.c }}', variables: { a: 1, b: { c: 2 } } })).toEqual({
      rendered: { subject: 'Hi 1', html: null, text: '2' },
      variables: ['a', 'b.c'],
      problems: [],
    })
    expect(await preview({ subject: 'Hi {{ a }}', text: 'x' })).toMatchObject({
      rendered: null,
      variables: ['a'],
      problems: [{ code: 'TEMPLATE_VARIABLE_MISSING' }],
    })
    expect(await preview({ subject: 'Hi {% if', text: 'x' })).toMatchObject({
      rendered: null,
      problems: [{ path: 'subject' }],
    })
    const script = await preview({ subject: 'x', html: '<script>alert(1)</script>' })
    expect(script.problems).toMatchObject([{ path: 'html' }])
    expect(await rows(gateway, 'select count(*)::int as count from template_versions')).toEqual(before)
  })

  test('of a starter cannot be changed, and is tested as a company', async () => {
    const { data } = (await admin('GET', `/templates?companyId=${company.companyId}&limit=200`)).body
    const starter = data.find((one: Json) => one.starter)
    expect(starter.figures).toEqual({ accepted: 0, sent: 0, failed: 0, retries: 0 })
    const path = `/companies/${company.companyId}/templates/${starter.id}`
    expect((await admin('PATCH', path, { subject: 'x' })).body.code).toBe('TEMPLATE_IS_STARTER')
    const unnamed = (await admin('POST', `${path}/test`, { to: 'e@example.com' })).body
    expect(unnamed.errors[0].code).toBe('TEMPLATE_VARIABLE_MISSING')
    const found = (await admin('GET', `/templates?text=${starter.type.slice(1, 5)}&limit=1`)).body
    expect(found.data[0].type).toContain(starter.type.slice(1, 5))
  })
})

test('SQL access is given with a connection that works once it is known, and taken away', async () => {
  const owner = await gateway.company()
  const path = `/companies/${owner.companyId}/sql-access`
  try {
    expect((await admin('GET', path)).body).toMatchObject({ grantedAt: null, role: roleNameOf(owner.companyId) })
    const granted = (await admin('POST', path, { reason: 'For their reports' })).body
    const client = new pg.Client({ connectionString: granted.url })
    await client.connect()
    expect((await client.query('select count(*)::int as count from email_logs')).rows).toEqual([{ count: 0 }])
    expect((await admin('GET', path)).body).toMatchObject({ grantedAt: expect.any(String), sessions: 1 })
    const ended = new Promise(resolve => client.once('end', resolve))
    client.on('error', () => {})
    expect((await admin('POST', `${path}/revoke`, {})).body).toMatchObject({ removed: true })
    await ended
    expect((await audit(owner.companyId)).map(one => one.action)).toEqual(['SQL_ACCESS_REVOKED', 'SQL_ACCESS_GRANTED'])
    expect(JSON.stringify(await audit(owner.companyId))).not.toContain(granted.password)
  } finally {
    await gateway.db.pool.query(`drop role if exists ${roleNameOf(owner.companyId)}`)
  }
})
