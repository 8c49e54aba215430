import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway } from '../../support/gateway.ts'

const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/)
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
const NOT_FOUND = { statusCode: 404, name: 'not_found', message: 'Template not found' }
const ORDER = {
  name: 'Order sent',
  subject: 'Order {{{NUMBER}}}',
  html: '<p>Hello {{{NAME}}}, order {{{NUMBER}}} costs {{ 5 }}.</p>',
  variables: [
    { key: 'NAME', type: 'string' as const, fallbackValue: 'friend' },
    { key: 'NUMBER', type: 'number' as const },
  ],
}

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

const FROM = { from: 'shop@example.com', to: 'maria@example.com' }

describe('a template', () => {
  test('is made as a draft, read as it was written, and published', async () => {
    const made = await resend.templates.create({ ...ORDER, alias: 'order-sent', from: 'Shop <shop@example.com>' })
    expect(made.data).toEqual({ object: 'template', id: UUID })
    const { id } = made.data!
    const draft = await resend.templates.get(id)
    const variable = { created_at: ISO, updated_at: ISO }
    expect(draft.data).toEqual({
      object: 'template',
      id,
      name: 'Order sent',
      subject: ORDER.subject,
      html: ORDER.html,
      text: null,
      status: 'draft',
      variables: [
        { key: 'NAME', type: 'string', fallback_value: 'friend', ...variable },
        { key: 'NUMBER', type: 'number', fallback_value: null, ...variable },
      ],
      alias: 'order-sent',
      from: 'Shop <shop@example.com>',
      reply_to: null,
      published_at: null,
      created_at: ISO,
      updated_at: ISO,
      has_unpublished_versions: true,
      current_version_id: UUID,
    })
    expect((await resend.templates.publish(id)).data).toEqual({ object: 'template', id })
    expect((await resend.templates.publish('order-sent')).data).toEqual({ object: 'template', id })
    const published = { status: 'published', published_at: ISO, has_unpublished_versions: false }
    expect((await resend.templates.get('order-sent')).data).toMatchObject({ id, ...published })

    const { data: list } = await resend.templates.list()
    const { published_at, created_at, updated_at } = (await resend.templates.get(id)).data!
    const item = { id, name: 'Order sent', status: 'published', alias: 'order-sent' }
    expect(list).toEqual({
      object: 'list',
      has_more: false,
      data: [{ ...item, published_at, created_at, updated_at }],
    })
  })

  test('gives subject, content and sender to an e-mail that names it by id or alias', async () => {
    const other = { ...ORDER, from: 'Boss <boss@example.com>', replyTo: 'help@example.com', alias: 'from-boss' }
    const { data } = await resend.templates.create(other).publish()
    for (const id of [data!.id, 'from-boss']) {
      const variables = { NUMBER: 42, NAME: '<b>Ana' }
      const sent = await resend.emails.send({ to: 'maria@example.com', template: { id, variables } })
      expect(sent.error).toBeNull()
      expect((await resend.emails.get(sent.data!.id)).data).toMatchObject({
        from: 'Boss <boss@example.com>',
        reply_to: ['help@example.com'],
        subject: 'Order 42',
        html: '<p>Hello &lt;b&gt;Ana, order 42 costs {{ 5 }}.</p>',
      })
    }
    const batch = await resend.batch.send([
      { ...FROM, template: { id: 'from-boss', variables: { NUMBER: 1 } }, subject: 'Own subject' },
    ])
    expect((await resend.emails.get(batch.data!.data[0]!.id)).data).toMatchObject({
      from: 'shop@example.com',
      subject: 'Own subject',
      html: expect.stringContaining('Hello friend'),
    })
  })

  test('refuses values that are missing or of another type, and is refused as a draft', async () => {
    const draft = await resend.templates.create({ ...ORDER, alias: 'values' })
    const template = { id: 'values', variables: { NUMBER: 1 } }
    const unpublished = await resend.emails.send({ ...FROM, template })
    expect(unpublished.error).toMatchObject({ statusCode: 422, name: 'validation_error' })
    await resend.templates.publish(draft.data!.id)
    const missing = await resend.emails.send({ ...FROM, template: { id: 'values' } })
    expect(missing.error).toMatchObject({ statusCode: 422, message: expect.stringMatching(/NUMBER/) })
    const wrong = await resend.emails.send({ ...FROM, template: { id: 'values', variables: { NUMBER: 'x' } } })
    expect(wrong.error).toMatchObject({
      statusCode: 422,
      message: 'The `template.variables.NUMBER` field must be a number.',
    })
    const both = await resend.emails.send({ ...FROM, template, html: '<p>x</p>' } as never)
    expect(both.error).toMatchObject({ statusCode: 422, message: expect.stringMatching(/cannot be combined/) })
  })

  test('is refused with a taken alias, with wrong braces, and without what it needs', async () => {
    await resend.templates.create({ ...ORDER, alias: 'taken' })
    const taken = await resend.templates.create({ ...ORDER, alias: 'taken' })
    expect(taken.error).toMatchObject({ statusCode: 409, message: expect.stringMatching(/alias taken/) })
    const braces = await resend.templates.create({ ...ORDER, html: '{{{a b}}}' })
    expect(braces.error).toMatchObject({ statusCode: 422, message: expect.stringMatching(/`html` field has \{\{\{/) })
    const script = await resend.templates.create({ ...ORDER, html: '<p>{{{NAME}}}</p><script>1</script>' })
    expect(script.error).toMatchObject({ statusCode: 422, message: expect.stringMatching(/<script> is not allowed/) })
    const { subject: _, ...withoutSubject } = ORDER
    expect((await resend.templates.create(withoutSubject)).error).toEqual({
      statusCode: 422,
      name: 'missing_required_field',
      message: 'Missing `subject` field.',
    })
  })

  test('of another company is not found, and removed ones are gone', async () => {
    const { data } = await resend.templates.create(ORDER)
    // Without an alias of its own, it gets one.
    const alias = expect.stringMatching(/^order-sent-[0-9a-f]{8}$/)
    expect((await resend.templates.get(data!.id)).data).toMatchObject({ alias })
    const others = client((await gateway.company()).apiKey)
    expect((await others.templates.get(data!.id)).error).toEqual(NOT_FOUND)
    expect((await others.templates.publish(data!.id)).error).toEqual(NOT_FOUND)
    expect((await others.templates.list()).data).toEqual({ object: 'list', has_more: false, data: [] })
    const sent = await others.emails.send({ ...FROM, template: { id: data!.id } })
    expect(sent.error).toMatchObject({ statusCode: 422 })
    const { id } = data!
    expect((await resend.templates.remove(id)).data).toEqual({ object: 'template', id, deleted: true })
    expect((await resend.templates.get(id)).error).toEqual(NOT_FOUND)
  })
})

test('a template of the native API is read and sent here, too', async () => {
  const native = { type: 'native_one', subject: 'Hi {{ name }}', text: 'Hello {{ name }}', publish: true }
  const { body } = await gateway.call(company, 'POST', '/v1/templates', native)
  const { data } = await resend.templates.get(body.id)
  expect(data).toMatchObject({ name: 'native_one', alias: 'native_one', subject: 'Hi {{ name }}', variables: null })
  const sent = await resend.emails.send({ ...FROM, template: { id: body.id, variables: { name: 'Ana' } } })
  expect((await resend.emails.get(sent.data!.id)).data).toMatchObject({ subject: 'Hi Ana', text: 'Hello Ana' })
})

test('templates of the native API and starters take objects and lists, Resend templates do not', async () => {
  const native = { type: 'native_list', subject: 'Hi', text: '{{ user.name }}: {{ items | join: "+" }}', publish: true }
  await gateway.call(company, 'POST', '/v1/templates', native)
  const send = (id: string, variables: object) =>
    resend.emails.send({ ...FROM, template: { id, variables: variables as Record<string, string> } })
  const listed = await send('native_list', { user: { name: 'Ana' }, items: ['a', 'b'] })
  expect((await resend.emails.get(listed.data!.id)).data).toMatchObject({ text: 'Ana: a+b' })
  const started = await send('welcome_user', { user_data: { full_name: 'Ana' } })
  expect((await resend.emails.get(started.data!.id)).data).toMatchObject({ subject: expect.stringContaining('Ana') })
  const own = await resend.templates.create({ ...ORDER, alias: 'no-objects' })
  await resend.templates.publish(own.data!.id)
  expect((await send('no-objects', { NUMBER: 1, OTHER: {} })).error).toMatchObject({
    statusCode: 422,
    message: 'The `template.variables.OTHER` field must be a string or a number.',
  })
})

test('what is not offered of templates answers 501', async () => {
  const { error } = await resend.templates.duplicate('x')
  expect(error).toMatchObject({ statusCode: 501, message: expect.stringMatching(/\/v1\/templates/) })
})
