import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { addSuppressions } from '../../../src/suppression/list.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'

const HELLO = { from: 'shop@example.com', to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
const NOT_FOUND = { statusCode: 404, name: 'not_found', message: expect.any(String) }

let gateway: TestGateway
let company: TestCompany
let resend: Resend

const client = (apiKey: string) => new Resend(apiKey, { baseUrl: gateway.url })

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  company = await gateway.company({ fromDomains: ['example.com'] })
  resend = client(company.apiKey)
})
afterAll(() => gateway.stop())

describe('an API key', () => {
  test('is made for sending, listed, used and revoked', async () => {
    const made = await resend.apiKeys.create({ name: 'mailer', permission: 'sending_access' })
    expect(made.data).toEqual({ id: expect.any(String), token: expect.stringMatching(/^sk_live_/) })
    const { id, token } = made.data!
    const own = client(token)
    expect((await own.emails.send(HELLO)).error).toBeNull()
    expect((await own.emails.list()).error).toMatchObject({ statusCode: 401, name: 'restricted_api_key' })
    expect((await own.apiKeys.create({ name: 'x' })).error).toMatchObject({ name: 'restricted_api_key' })

    const { data: list } = await resend.apiKeys.list()
    expect(list).toMatchObject({ object: 'list', has_more: false })
    expect(list!.data[0]).toEqual({ id, name: 'mailer', created_at: ISO, last_used_at: null })
    expect(list!.data.map(key => key.id)).toContain(company.keyId)

    expect((await resend.apiKeys.remove(id)).data).toEqual({ object: 'api_key', id, deleted: true })
    expect((await resend.apiKeys.remove(id)).error).toEqual({ ...NOT_FOUND, message: 'API key not found' })
    expect((await resend.apiKeys.list()).data!.data.map(key => key.id)).not.toContain(id)
    const refused = await until(
      () => own.emails.send(HELLO),
      ({ error }) => error !== null,
    )
    expect(refused.error).toMatchObject({ statusCode: 403, name: 'invalid_api_key' })
  })

  test('gives no more than it has itself', async () => {
    const { apiKey } = await gateway.key(company.companyId, { scopes: ['manage'] })
    for (const permission of ['full_access', 'sending_access'] as const) {
      const { error } = await client(apiKey).apiKeys.create({ name: 'more', permission })
      expect(error).toMatchObject({ statusCode: 401, name: 'restricted_api_key' })
    }
  })

  test('is made up to a limit for each company', async () => {
    const full = await gateway.company()
    await gateway.db.pool.query(
      `insert into api_keys (key_id, company_id, mode, secret_hash, scopes)
       select lpad(n::text, 16, 'z'), $1, 'live', decode(repeat('00', 32), 'hex'), '{send}' from generate_series(1, 999) n`,
      [full.companyId],
    )
    const refused = await client(full.apiKey).apiKeys.create({ name: 'one too many' })
    expect(refused.error).toMatchObject({ statusCode: 409, message: expect.stringMatching(/at most 1000/) })
  })

  test('of test mode makes, lists and revokes test keys only', async () => {
    const tester = await gateway.key(company.companyId, { mode: 'test' })
    const own = client(tester.apiKey)
    const { data: made } = await own.apiKeys.create({ name: 'test' })
    expect(made!.token).toMatch(/^sk_test_/)
    const ids = (await own.apiKeys.list()).data!.data.map(key => key.id)
    expect(ids).toEqual([made!.id, tester.keyId])
    expect((await own.apiKeys.remove(company.keyId)).error).toEqual({ ...NOT_FOUND, message: 'API key not found' })
    expect((await client(made!.token).apiKeys.list({ limit: 1 })).data).toMatchObject({ has_more: true })
  })

  test('of another company is not found, and wrong bodies are refused', async () => {
    const others = client((await gateway.company()).apiKey)
    expect((await others.apiKeys.remove(company.keyId)).error).toMatchObject({ statusCode: 404 })
    expect((await resend.apiKeys.create({} as never)).error).toEqual({
      statusCode: 422,
      name: 'missing_required_field',
      message: 'Missing `name` field.',
    })
    const domain = await resend.apiKeys.create({ name: 'x', domain_id: 'd1' } as never)
    expect(domain.error).toMatchObject({ statusCode: 422, message: expect.stringMatching(/domain_id.*not offered/) })
  })
})

describe('a suppression', () => {
  test('is added, read, stops mail of its company only, and is removed by its address', async () => {
    const email = 'no-more@example.com'
    const added = await resend.suppressions.add({ email })
    expect(added.data).toEqual({ object: 'suppression', id: expect.any(String) })
    const { id } = added.data!
    expect((await resend.suppressions.add({ email })).data).toEqual({ object: 'suppression', id })
    const { data } = await resend.suppressions.get(email)
    expect(data).toEqual({ object: 'suppression', id, email, origin: 'manual', source_id: null, created_at: ISO })

    const refused = await resend.emails.send({ ...HELLO, to: email })
    expect(refused.error).toMatchObject({ statusCode: 403, name: 'validation_error' })
    const others = client((await gateway.company({ fromDomains: ['example.com'] })).apiKey)
    expect((await others.emails.send({ ...HELLO, to: email })).error).toBeNull()
    expect((await others.suppressions.get(email)).error).toEqual(NOT_FOUND)
    expect((await others.suppressions.remove(email)).error).toEqual(NOT_FOUND)

    expect((await resend.suppressions.remove(email)).data).toEqual({ object: 'suppression', id, deleted: true })
    expect((await resend.suppressions.get(email)).error).toEqual(NOT_FOUND)
    expect((await resend.emails.send({ ...HELLO, to: email })).error).toBeNull()
  })

  test('of many is added in one call, or of none when an address is wrong', async () => {
    const { data } = await resend.suppressions.batch.add({ emails: ['b1@example.com', 'b2@example.com'] })
    const ids = await Promise.all(
      ['b1@example.com', 'b2@example.com'].map(async email => (await resend.suppressions.get(email)).data!.id),
    )
    expect(data).toEqual({ data: ids.map(id => ({ object: 'suppression', id })) })
    const wrong = await resend.suppressions.batch.add({ emails: ['b3@example.com', 'x'] })
    expect(wrong.error).toMatchObject({ statusCode: 422, message: expect.stringMatching(/`emails\[1\]`/) })
    expect((await resend.suppressions.get('b3@example.com')).error).toEqual(NOT_FOUND)
  })

  test('of a complaint stays', async () => {
    const email = 'angry@example.com'
    const entry = {
      companyId: null,
      emailHash: hashEmail(email),
      expiresInDays: 0,
      metadata: {},
      performedBy: 'system',
    }
    await addSuppressions(gateway.db.pool, [{ ...entry, reason: 'COMPLAINT' }])
    expect((await resend.suppressions.get(email)).data).toMatchObject({ origin: 'complaint' })
    const { error } = await resend.suppressions.remove(email)
    expect(error).toMatchObject({ statusCode: 403, name: 'validation_error' })
    expect((await resend.suppressions.get(email)).data).toMatchObject({ origin: 'complaint' })
  })

  test('is live data, and has no id that leads to an address', async () => {
    const { apiKey } = await gateway.key(company.companyId, { mode: 'test' })
    const tester = client(apiKey)
    expect((await tester.suppressions.add({ email: 'a@example.com' })).error).toMatchObject({ statusCode: 401 })
    const { data } = await resend.suppressions.add({ email: 'a@example.com' })
    expect((await tester.suppressions.get('a@example.com')).error).toEqual(NOT_FOUND)
    expect((await resend.suppressions.get(data!.id)).error).toMatchObject({
      statusCode: 404,
      message: expect.stringMatching(/by its address/),
    })
  })
})

describe('what is not offered', () => {
  const CALLS: [string, (resend: Resend) => PromiseLike<{ error: unknown }>, RegExp][] = [
    ['domains.update', one => one.domains.update({ id: 'd1', tls: 'enforced' }), /tracks nothing/],
    ['domains.claims.create', one => one.domains.claims.create({ name: 'x.example' }), /Domains can be added/],
    ['contacts.list', one => one.contacts.list(), /no contacts/],
    ['segments.list', one => one.segments.list(), /no contacts/],
    ['topics.list', one => one.topics.list(), /no contacts/],
    ['broadcasts.list', one => one.broadcasts.list(), /POST \/emails\/batch/],
    ['emails.receiving.list', one => one.emails.receiving.list(), /receives no e-mail/],
    ['emails.share', one => one.emails.share('e1'), /\/v1\/email/],
    ['suppressions.list', one => one.suppressions.list(), /hashes/],
    ['apiKeys.update', one => one.apiKeys.update('k1', { name: 'x' }), /new key/],
    ['webhooks.events.attempts', one => one.webhooks.events.attempts.list({ webhookId: 'w', eventId: 'e' }), /\/v1\//],
    ['inboxes.list', one => one.inboxes.list(), /receives no e-mail/],
    ['logs.list', one => one.logs.list(), /GET \/v1\/email/],
    ['usage.get', one => one.usage.get(), /\/metrics/],
    ['automations.list', one => one.automations.list(), /no automations/],
  ]
  test('every path of the SDK is known, so that a newer SDK is noticed', async () => {
    const source = readFileSync(fileURLToPath(import.meta.resolve('resend')), 'utf8')
    const paths = new Set([...source.matchAll(/[`"](\/[a-z][a-z-]+)(?=[/?`"$])/g)].map(match => match[1]!))
    expect([...paths]).toEqual(expect.arrayContaining(['/emails', '/domains', '/templates', '/webhooks', '/usage']))
    for (const path of paths) {
      const { status, body } = await gateway.call(company, 'PUT', `${path}/a/b`)
      expect({ path, status, body }).toMatchObject({ path, status: 501, body: { statusCode: 501 } })
    }
  })

  test.each(CALLS)('%s answers 501 and says what there is instead', async (_call, call, instead) => {
    const { error } = await call(resend)
    expect(error).toEqual({ statusCode: 501, name: 'application_error', message: expect.stringMatching(instead) })
  })
})
