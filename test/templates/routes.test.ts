import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rollUpStatistics } from '../../src/companies/statistics.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { captured, type Json, read, rows, send, untilStatus } from '../support/mail.ts'

let gateway: TestGateway
let company: TestCompany
beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
})
afterAll(() => gateway?.stop())

const call = (method: string, path: string, body?: unknown, owner: { apiKey: string } = company) =>
  gateway.call(owner, method, `/v1/templates${path}`, body)
let made = 0
const create = (change: Json = {}, owner?: { apiKey: string }) =>
  call('POST', '', { type: `type_${++made}`, subject: 'Hi {{ name }}', html: '<p>{{ name }}</p>', ...change }, owner)
const variables = { name: 'Ana' }
const subjectSent = async (type: string) => {
  const answer = await send(gateway, company, { to: 'a@example.com', template: type, variables })
  return answer.status === 202 ? (await read(gateway, company, answer.body.outboxId)).subject : answer.body.code
}

describe('the life of a template', () => {
  test('a draft is not used until it is published, an update is a new draft, and an older version can return', async () => {
    const created = await create()
    expect(created.status).toBe(201)
    const { id, type } = created.body
    expect(created.body).toMatchObject({
      ...{ locale: 'pt-BR', starter: false, published: null, draft: 1 },
      version: { number: 1, status: 'draft', variables: ['name'], createdBy: `key ${company.keyId}` },
    })
    expect(created.headers.get('location')).toBe(`/v1/templates/${id}`)
    expect(await subjectSent(type)).toBe('TEMPLATE_NOT_FOUND')

    expect((await call('POST', `/${id}/publish`, {})).body).toMatchObject({ published: 1, draft: null })
    expect(await subjectSent(type)).toBe('Hi Ana')

    const changed = await call('PATCH', `/${id}`, { subject: 'Dear {{ name }}' })
    expect(changed.body).toMatchObject({ published: 1, draft: 2, version: { number: 2, html: '<p>{{ name }}</p>' } })
    await call('PATCH', `/${id}`, { subject: 'Hello {{ name }}' })
    expect(await subjectSent(type)).toBe('Hi Ana')
    const published = (await call('POST', `/${id}/publish`, {})).body
    expect(published).toMatchObject({ published: 3, draft: null })
    expect(published.versions.map((one: Json) => [one.number, one.status])).toEqual([
      [3, 'published'],
      [1, 'replaced'],
    ])
    expect(await subjectSent(type)).toBe('Hello Ana')

    expect((await call('POST', `/${id}/publish`, { version: 1 })).body.published).toBe(1)
    expect(await subjectSent(type)).toBe('Hi Ana')
    expect((await call('GET', `/${id}?version=3`)).body.version).toMatchObject({
      number: 3,
      subject: 'Hello {{ name }}',
    })

    expect((await call('DELETE', `/${id}`)).body).toEqual({ id, deleted: true })
    expect(await subjectSent(type)).toBe('TEMPLATE_NOT_FOUND')
    expect(
      (await rows(gateway, `select action from audit_log where subject_id = $1 order by id`, [id])).map(
        one => one.action,
      ),
    ).toEqual(
      'CREATED PUBLISHED UPDATED UPDATED PUBLISHED PUBLISHED DELETED'.split(' ').map(action => `TEMPLATE_${action}`),
    )
  })

  test('at most one draft and fifty versions are kept', async () => {
    const { id } = (await create({ publish: true })).body
    for (let count = 0; count < 55; count++) {
      await call('PATCH', `/${id}`, { subject: `Number ${count}` })
      if (count % 10 !== 5) await call('POST', `/${id}/publish`, {})
    }
    const { versions } = (await call('GET', `/${id}`)).body
    expect(versions.length).toBeLessThanOrEqual(50)
    expect(versions.filter((one: Json) => one.status === 'draft').length).toBeLessThanOrEqual(1)
  })
})

describe('the starters', () => {
  const TYPES = ['email_verification', 'password_reset', 'payment_receipt', 'signup_confirmation', 'welcome_user']
  const list = async (owner?: TestCompany) => (await call('GET', '', undefined, owner)).body.data as Json[]

  test('are there for every company, in two languages', async () => {
    const starters = (await list()).filter(one => one.starter)
    expect(starters.map(one => [one.type, one.locale])).toEqual(
      TYPES.flatMap(type => [
        [type, 'en'],
        [type, 'pt-BR'],
      ]),
    )
  })

  test('all render, with and without what is optional, and pass the rules of HTML', async () => {
    const least = { user_data: { full_name: 'Ana' }, payment: { amount: 'R$ 10,00' } }
    const url = 'https://shop.example/x'
    const most = {
      user_data: { full_name: 'Ana' },
      payment: { amount: 'R$ 10,00', number: '7', date: '1/2' },
      ...{
        action_url: url,
        confirmation_url: url,
        reset_url: url,
        verification_url: url,
        receipt_url: url,
        code: '123',
      },
    }
    for (const { id } of (await list()).filter(one => one.starter)) {
      for (const given of [least, most]) {
        const answer = await call('POST', `/${id}/preview`, { variables: given })
        expect(answer.status, answer.text).toBe(200)
        expect(answer.body.html.includes(url)).toBe(given === most)
        expect(answer.body.text).toContain('Ana')
      }
    }
  })

  test('cannot be changed, and a published template of the type replaces them', async () => {
    const owner = await gateway.company()
    const [starter] = (await list(owner)).filter(one => one.type === 'welcome_user')
    for (const [method, path] of [
      ['PATCH', ''],
      ['POST', '/publish'],
      ['DELETE', ''],
    ] as const) {
      const answer = await call(method, `/${starter.id}${path}`, method === 'DELETE' ? undefined : {}, owner)
      expect([answer.status, answer.body.code]).toEqual([409, 'TEMPLATE_IS_STARTER'])
    }
    await create({ type: 'welcome_user', publish: true }, owner)
    const left = (await list(owner)).filter(one => one.type === 'welcome_user')
    expect(left.map(one => one.starter)).toEqual([false])
  })
})

describe('refusals', () => {
  test.each([
    ['an unclosed tag', { html: '{% if a %}' }, 'html'],
    ['an unknown filter', { subject: '{{ a | raw }}' }, 'subject'],
    ['no content', { html: null }, 'html'],
    ['a wrong type', { type: 'A B' }, 'type'],
    ['a wrong locale', { locale: 'x' }, 'locale'],
    ['too much HTML', { html: 'x'.repeat(524_289) }, 'html'],
  ])('%s', async (_, change, path) => {
    const answer = await create(change)
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([422, path])
  })

  test('a second template of the type and locale, and a publication without a draft', async () => {
    const { id, type } = (await create({ publish: true })).body
    expect((await create({ type })).body.code).toBe('TEMPLATE_EXISTS')
    expect((await create({ type, locale: 'en' })).status).toBe(201)
    expect((await call('POST', `/${id}/publish`, {})).body.code).toBe('NOTHING_TO_PUBLISH')
    expect((await call('POST', `/${id}/publish`, { version: 9 })).body.code).toBe('NOTHING_TO_PUBLISH')
  })

  test('another company sees nothing of it', async () => {
    const { id } = (await create({ publish: true })).body
    const other = await gateway.company()
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', {}],
      ['POST', '/publish', {}],
      ['POST', '/preview', {}],
      ['POST', '/test', { to: 'a@example.com' }],
      ['DELETE', '', undefined],
    ] as const)
      expect((await call(method, `/${id}${path}`, body, other)).status, `${method} ${path}`).toBe(404)
  })

  test('a key needs the scope, and a test key changes nothing', async () => {
    const { id } = (await create()).body
    const reader = await gateway.key(company.companyId, { scopes: ['read'] })
    expect((await call('GET', `/${id}`, undefined, reader)).status).toBe(200)
    expect((await create({}, reader)).status).toBe(403)
    const tester = await gateway.key(company.companyId, { mode: 'test' })
    expect((await create({}, tester)).body.detail).toContain('live key')
    expect((await call('DELETE', `/${id}`, undefined, tester)).status).toBe(403)
  })
})

describe('preview and test send', () => {
  test('a preview shows what would be sent and which variables are used, or names what is missing', async () => {
    const { id } = (await create()).body
    expect((await call('POST', `/${id}/preview`, { variables: { name: '<b>' } })).body).toEqual({
      ...{ number: 1, subject: 'Hi <b>', html: '<p>&lt;b&gt;</p>', text: '<b>', variables: ['name'] },
    })
    const both = (await create({ text: 'Dear {{ name }}' })).body
    expect((await call('POST', `/${both.id}/preview`, { variables: { name: 'Ana' } })).body.text).toBe('Dear Ana')
    const missing = await call('POST', `/${id}/preview`, {})
    expect(missing.body).toMatchObject({ code: 'TEMPLATE_VARIABLE_MISSING', errors: [{ path: 'variables.name' }] })
    const linked = (await create({ html: '<a href="{{ url }}">x</a>' })).body
    const unsafe = await call('POST', `/${linked.id}/preview`, { variables: { name: 'x', url: 'javascript:alert(1)' } })
    expect(unsafe.body.code).toBe('INVALID_TEMPLATE')
    const scripted = await create({ html: '<script>x</script>' })
    expect(scripted.body).toMatchObject({ code: 'INVALID_TEMPLATE', errors: [{ path: 'html' }] })
  })

  test('a draft is sent to one address, marked as a test', async () => {
    const { id } = (await create()).body
    const answer = await call('POST', `/${id}/test`, { to: 'me@example.com', variables })
    expect(answer.status).toBe(202)
    await untilStatus(gateway, company, answer.body.outboxId, 'SENT')
    expect(await captured(gateway, answer.body.outboxId)).toMatchObject({
      subject: '[Test] Hi Ana',
      to: ['me@example.com'],
    })
    expect((await call('POST', `/${id}/test`, { to: 'nobody', variables })).body.code).toBe('INVALID_EMAIL')
  })

  test('a hostile template is refused before it has run for long', async () => {
    const loops = (depth: number): string =>
      depth === 0 ? '{{ x }}' : `{% for x in (1..999) %}${loops(depth - 1)}{% endfor %}`
    // A billion rounds: without the limit, this test would not end in its time.
    const { id } = (await create({ html: loops(3) })).body
    expect((await call('POST', `/${id}/preview`, { variables })).status).toBe(422)
  })
})

test('the statistics of a template count what was sent, failed and tried again', async () => {
  const owner = await gateway.company()
  const { type } = (await create({ publish: true }, owner)).body
  const body = { template: type, variables }
  for (const to of ['a@example.com', 'b@example.com', 'reject@simulator.test'])
    await send(gateway, owner, { to, ...body })
  await until(
    async () => (await gateway.call(owner, 'GET', '/v1/emails')).body.data as Json[],
    emails => emails.every(one => ['SENT', 'REJECTED', 'DLQ', 'FAILED'].includes(one.status)),
  )
  await gateway.db.pool.query(`update email_events set created_at = created_at - interval '2 minutes' where company_id = '${owner.companyId}';
    update statistics_cursor set counted_until = now() - interval '10 minutes'`)
  await rollUpStatistics(gateway.db.pool)
  const { data } = (await call('GET', '/statistics?since=2020-01-01T00:00:00Z', undefined, owner)).body
  expect(data).toEqual([{ type, accepted: 3, sent: 2, failed: 1, failureRate: 1 / 3, retries: 0 }])
  expect((await call('GET', '/statistics', undefined, owner)).body.data).toHaveLength(1)
})
