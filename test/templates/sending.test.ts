import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { captured, type Json, read, rows, send, untilStatus } from '../support/mail.ts'

let gateway: TestGateway
let company: TestCompany
beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
})
afterAll(() => gateway?.stop())

const MARIA = { user_data: { full_name: 'Maria <Silva>' } }
const sendTemplate = (change: Json = {}) =>
  send(gateway, company, { to: 'maria@example.com', template: 'welcome_user', variables: MARIA, ...change })

async function template(type: string, html: string, owner = company, locale = 'pt-BR') {
  await gateway.db.pool.query(
    `with t as (insert into templates (company_id, type, locale, published_number) values ($1, $2, $3, 1) returning template_id)
     insert into template_versions (template_id, number, subject, html, created_by) select template_id, 1, 'Subject of ' || $2, $4, 'test' from t`,
    [owner.companyId, type, locale, html],
  )
}

describe('a request that names a template', () => {
  test('is rendered when it is accepted, and shows its type and version', async () => {
    const answer = await sendTemplate()
    expect(answer.status).toBe(202)
    const { outboxId } = answer.body
    const email = await untilStatus(gateway, company, outboxId, 'SENT')
    expect(email).toMatchObject({ subject: 'Boas-vindas, Maria <Silva>!', templateType: 'welcome_user' })
    expect(email.events[0]).toMatchObject({
      type: 'QUEUED',
      metadata: { templateType: 'welcome_user', templateVersion: 1 },
    })
    const message = await captured(gateway, outboxId)
    expect(message.html).toContain('Olá, Maria &lt;Silva&gt;!')
    expect(message.text).toContain('Olá, Maria <Silva>!')
    const [content] = await rows(gateway, 'select variables from email_content where outbox_id = $1', [outboxId])
    expect(content.variables).toBeNull()
  })

  test('gets the locale that it names, and its own subject wins', async () => {
    const { outboxId } = (await sendTemplate({ locale: 'en', subject: 'Mine {{ x }}' })).body
    expect(await read(gateway, company, outboxId)).toMatchObject({ subject: 'Mine {{ x }}' })
    const other = (await sendTemplate({ locale: 'en-GB' })).body.outboxId
    expect(await read(gateway, company, other)).toMatchObject({ subject: 'Welcome, Maria <Silva>!' })
    const unknown = (await sendTemplate({ locale: 'fr' })).body.outboxId
    expect(await read(gateway, company, unknown)).toMatchObject({ subject: 'Boas-vindas, Maria <Silva>!' })
  })

  test("gets the company's own template in place of the starter, and no other company does", async () => {
    const owner = await gateway.company()
    await template('welcome_user', '<p>Ours, {{ user_data.full_name }}</p>', owner)
    const own = await send(gateway, owner, {
      to: 'a@example.com',
      template: 'welcome_user',
      variables: MARIA,
      locale: 'en',
    })
    expect(await read(gateway, owner, own.body.outboxId)).toMatchObject({ subject: 'Subject of welcome_user' })
    await template('only_theirs', '<p>x</p>', owner)
    expect(await sendTemplate({ template: 'only_theirs' })).toMatchObject({
      status: 422,
      body: { code: 'TEMPLATE_NOT_FOUND' },
    })
  })

  test('is refused with the names of missing variables, and nothing is kept', async () => {
    const answer = await sendTemplate({ template: 'payment_receipt', variables: { user_data: {} } })
    expect(answer).toMatchObject({ status: 422, body: { code: 'TEMPLATE_VARIABLE_MISSING' } })
    expect(answer.body.errors.map((error: Json) => error.path)).toEqual([
      'variables.user_data.full_name',
      'variables.payment.amount',
    ])
  })

  test('is refused when what was rendered breaks the rules of HTML', async () => {
    await template('linked', '<a href="{{ url }}">x</a>')
    const answer = await sendTemplate({ template: 'linked', variables: { url: 'javascript:alert(1)' } })
    expect(answer).toMatchObject({ status: 422, body: { code: 'INVALID_TEMPLATE', errors: [{ path: 'template' }] } })
    await template('scripted', '<script>{{ url }}</script>')
    expect(await sendTemplate({ template: 'scripted', variables: { url: 'x' } })).toMatchObject({ status: 422 })
  })

  test.each([
    ['a template and html', { html: '<p>x</p>' }, 'template'],
    ['a type that cannot be', { template: '../x' }, 'template'],
    ['a locale that cannot be', { locale: 'english' }, 'locale'],
    ['too many variables', { variables: { a: 'x'.repeat(70_000) } }, 'variables'],
  ])('is refused with %s', async (_, change, path) => {
    const answer = await sendTemplate(change)
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([422, path])
  })

  test('variables without a template are refused', async () => {
    const answer = await send(gateway, company, { to: 'a@example.com', subject: 'x', text: 'x', variables: {} })
    expect(answer.body.errors).toMatchObject([{ path: 'variables', message: 'needs a template' }])
  })

  test('is found by its template in the list', async () => {
    const { outboxId } = (await sendTemplate({ template: 'signup_confirmation' })).body
    const list = await gateway.call(company, 'GET', '/v1/emails?template=signup_confirmation')
    expect(list.body.data.map((email: Json) => email.outboxId)).toEqual([outboxId])
  })
})

describe('a batch', () => {
  test('names the member whose template does not exist, and the field of another whose variable is missing', async () => {
    const bodies = ['nothing', 'welcome_user'].map(type => ({ to: 'a@example.com', template: type }))
    const answer = await gateway.call(company, 'POST', '/v1/email/batch', bodies)
    expect(answer.body.errors).toMatchObject([
      { path: '[0].template', code: 'TEMPLATE_NOT_FOUND' },
      { path: '[1].variables.user_data.full_name', code: 'TEMPLATE_VARIABLE_MISSING' },
    ])
  })
})

/** As SQL writes it: a template and variables, and no content. */
async function insertBySql(type: string, variables: object): Promise<string> {
  const outboxId = uuidv7()
  await gateway.db.pool.query(
    `with outbox as (
       insert into email_outbox (outbox_id, company_id, request_id, test, from_address, template_type, priority, on_unknown, max_attempts, expires_at)
       values ($1, $2, 'sql', false, 'shop@example.com', $3, 5, 'resend', 3, now() + interval '1 day')
     ), recipients as (
       insert into email_recipients (outbox_id, ordinal, kind, address, address_key) values ($1, 0, 'to', 'maria@example.com', 1)
     ), content as (insert into email_content (outbox_id, variables) values ($1, $4))
     insert into email_ready (company_id, priority, outbox_id) values ($2, 5, $1)`,
    [outboxId, company.companyId, type, JSON.stringify(variables)],
  )
  return outboxId
}

describe('an e-mail that came by SQL', () => {
  test('is rendered by the worker, sent, and shows what was sent', async () => {
    const outboxId = await insertBySql('welcome_user', MARIA)
    const email = await until(
      () => read(gateway, company, outboxId),
      one => one?.sentAt,
    )
    expect(email).toMatchObject({ subject: 'Boas-vindas, Maria <Silva>!' })
    expect((await captured(gateway, outboxId)).html).toContain('Olá, Maria &lt;Silva&gt;!')
    const [content] = await rows(gateway, 'select html, html_proof, text from email_content where outbox_id = $1', [
      outboxId,
    ])
    expect(content).toMatchObject({ html: expect.stringContaining('Olá, Maria'), html_proof: expect.any(String) })
  })

  test.each([
    ['without a template of this type', 'nothing', MARIA, 'TEMPLATE_NOT_FOUND'],
    ['without a variable', 'welcome_user', {}, 'TEMPLATE_VARIABLE_MISSING'],
    ['with HTML that is not allowed', 'linked', { url: 'javascript:x' }, 'INVALID_TEMPLATE'],
  ])('%s fails for good, with a dead letter', async (_, type, variables, code) => {
    const outboxId = await insertBySql(type, variables)
    const email = await untilStatus(gateway, company, outboxId, 'FAILED')
    expect(email).toMatchObject({ lastError: { code }, attempts: 1 })
    const types = email.events.map((event: Json) => event.type)
    expect(types).toEqual(expect.arrayContaining(['VALIDATION_FAILED', 'FAILED', 'DLQ_MOVED']))
    expect(email.events.find((event: Json) => event.type === 'VALIDATION_FAILED').metadata).toMatchObject({
      validation: 'TEMPLATE',
    })
    expect(await rows(gateway, 'select last_failure_code from dead_letters where outbox_id = $1', [outboxId])).toEqual([
      { last_failure_code: code },
    ])
  })
})
