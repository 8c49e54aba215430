import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { normaliseDocument } from '../../src/platform/text/documents.ts'
import { type FakeSmtp, startFakeSmtp } from '../support/fake-smtp.ts'
import { type Answer, call, startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { atCleanUp, cleanUp, launchGateway } from '../support/process.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'
import { smtpClient } from '../support/smtp-client.ts'
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts'

const CPF = '529.982.247-25'
const CNPJ = '12.ABC.345/01DE-35'
const MARIA = 'canary.maria@secret-person.example'
const OTHERS = ['canary.cc@secret-person.example', 'canary.bcc@secret-person.example', 'canary.reply@secret.example']
const REFUSED = 'canary.refused@secret-person.example'
const SENDER = 'canary.loja@secret-shop.example'
const WRONG_KEY = `sk_live_${'c4n4ry'.repeat(7)}`

/** Settings whose values are secrets. */
const SECRET_SETTINGS = {
  ADMIN_PASSWORD: 'canary-admin-password',
  METRICS_TOKEN: 'canary-metrics-token-0123456789',
  RESEND_WEBHOOK_SECRET: `whsec_${Buffer.from('canary-resend-webhook-secret!').toString('base64')}`,
  SNS_RAW_DELIVERY_PASSWORD: 'canary-sns-raw-delivery-password-0123',
}
const SMTP_PASSWORD = 'canary-relay-password'
const CONTENT = ['canary-subject', 'canary-html', 'canary-variable', 'canary-template', 'canary-file', 'canary-token']
const IDEMPOTENCY_KEY = 'canary-idempotency-key'

let gateway: TestGateway
let company: TestCompany
let receiver: Receiver
let relay: FakeSmtp
/** The id of a template of the company. */
let templateId: string
/** Secrets that are made while the test runs. */
const made: string[] = []

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api', env: SECRET_SETTINGS })
  company = await gateway.company({ fromDomains: ['secret-shop.example'], defaultFrom: SENDER })
  templateId = await makeTemplate('bill')
  const sql = 'update template_versions set subject = $2, html = $3 where template_id = $1'
  // It was fine when it was published.
  const [subject, html] = [`{% ${normaliseDocument(CPF)} %}`, `<p>{% ${company.apiKey} ${MARIA} %}</p>`]
  await gateway.db.pool.query(sql, [await makeTemplate('ruined'), subject, html])
  receiver = await startReceiver()
  receiver.answer('/hook?token=canary-token', (response, _request, nth) =>
    nth === 1 ? response.writeHead(500).end(`no ${MARIA} ${CPF}`) : response.writeHead(204).end(),
  )
  relay = await startFakeSmtp({ users: { relay: SMTP_PASSWORD } })
  relay.refuse({ recipients: { [REFUSED]: { code: 550, text: `5.1.1 <${REFUSED}> (${CPF}) does not exist` } } })
})
afterAll(async () => {
  await cleanUp()
  await Promise.all([gateway?.stop(), receiver?.close(), relay?.close()])
})

const body = (change: Record<string, unknown> = {}) => ({
  to: MARIA,
  cc: [OTHERS[0]],
  bcc: [OTHERS[1]],
  replyTo: OTHERS[2],
  from: `Loja <${SENDER}>`,
  subject: `canary-subject ${CPF}`,
  html: `<p>canary-html ${CNPJ}</p>`,
  externalId: CPF,
  recipient: { cpfCnpj: CNPJ, nome: 'Maria', externalId: CPF },
  ...change,
})

async function makeTemplate(type: string): Promise<string> {
  const answer = await gateway.call(company, 'POST', '/v1/templates', {
    type,
    subject: `canary-subject ${CNPJ} {{ person.document }} {{ person.key }}`,
    html: `<p>canary-html ${OTHERS[0]} {{ person.name }}</p><p><a href="{{ person.link }}">canary-template</a></p>`,
    publish: true,
  })
  expect(answer.status).toBe(201)
  return answer.body.id
}

const variables = (link = 'https://shop.example/canary-token') => ({
  person: { document: CPF, key: company.apiKey, name: `canary-variable ${MARIA}`, link },
})
/** What must not be in the error about them. */
const badVariables = () => [variables(`javascript:${company.apiKey}-${CPF}-${MARIA}`), { person: { document: CPF } }]

const byTemplate = (given: object, template = 'bill') =>
  body({ template, variables: given, html: undefined, subject: undefined })

/** Requests that are accepted and requests that are refused in many places, all full of what must not be logged. */
async function requests(url: string): Promise<string[]> {
  const ask = (method: string, path: string, content?: unknown, headers: Record<string, string> = {}) =>
    call(url, { apiKey: company.apiKey }, method, path, content, headers)
  const as = (apiKey: string) => call(url, { apiKey }, 'POST', '/v1/email/send', body())
  const basic = (name: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
  })
  const admin = basic('admin', SECRET_SETTINGS.ADMIN_PASSWORD)
  const accepted = [
    await ask('POST', '/v1/email/send', body(), { 'idempotency-key': IDEMPOTENCY_KEY, 'x-request-id': CPF }),
    await ask('POST', '/v1/email/batch', [body({ recipient: { cpfCnpj: CPF } }), body({ to: REFUSED })]),
    await ask('POST', '/v1/email/send', body({ delay: 3_600_000 })),
    await ask('POST', '/v1/email/send', byTemplate(variables())),
  ]
  const refused: Promise<Answer>[] = [
    as(WRONG_KEY),
    as(`${company.apiKey}x`),
    ask('POST', '/v1/email/send', body({ to: `not an address ${MARIA} ${CPF}` })),
    ask('POST', '/v1/email/send', body({ html: '<script>canary-html</script>' })),
    ask('POST', '/v1/email/send', body({ template: `canary-template-${CPF}`, html: undefined, subject: undefined })),
    ask('POST', '/v1/email/send', body({ recipient: { cpfCnpj: CPF, email: OTHERS[0] } })),
    ask('POST', '/v1/email/send', `{"to":"${MARIA}","subject":"canary-subject`),
    ask('POST', `/v1/nothing/${MARIA}/${CPF}`, body()),
    ask('GET', `/v1/email/${MARIA}`),
    ask('GET', `/v1/suppression/check?email=${encodeURIComponent(MARIA)}&cpf=${CPF}`),
    ask('GET', `/v1/emails?recipient=${encodeURIComponent(MARIA)}`),
    ask('POST', '/v1/webhooks', { url: `http://user:canary-token@127.0.0.1/${MARIA}` }),
    ask('POST', '/emails', { from: SENDER, to: 'nobody', subject: `canary-subject ${MARIA}`, html: 'canary-html' }),
    ask('POST', '/webhooks/resend', { to: MARIA, cpf: CPF }, { 'svix-id': 'x', 'svix-signature': 'v1,canary-token' }),
    call(url, null, 'GET', '/admin/stats', undefined, basic('admin', 'canary-token-password')),
    call(url, null, 'GET', `/admin/emails?recipient=${encodeURIComponent(MARIA)}`, undefined, admin),
    call(url, null, 'GET', '/metrics', undefined, { authorization: `Bearer ${SECRET_SETTINGS.METRICS_TOKEN}` }),
    ask('POST', `/v1/email/${accepted[2]!.body.outboxId}/cancel`),
    ...badVariables().map(given => ask('POST', '/v1/email/send', byTemplate(given))),
    ask('POST', '/v1/email/send', byTemplate(variables(), 'ruined')),
    ask('POST', '/v1/templates', { type: 'new', subject: `canary-subject ${CPF} {{`, html: `{% ${MARIA} %}` }),
    ask('POST', `/v1/templates/${templateId}/preview`, { variables: badVariables()[0] }),
    ask('PATCH', `/v1/templates/${templateId}`, { html: `<script>canary-html ${company.apiKey} ${MARIA}</script>` }),
  ]
  await Promise.all(refused)
  expect(accepted.map(one => one.status)).toEqual([202, 202, 202, 202])
  const batch = accepted[1]!.body.data.map((one: { outboxId: string }) => one.outboxId)
  return [accepted[0]!.body.outboxId, accepted[3]!.body.outboxId, ...batch]
}

async function bySmtp(port: number): Promise<void> {
  const wrong = await smtpClient(port)
  await wrong.logIn(WRONG_KEY)
  wrong.socket.destroy()
  const client = await smtpClient(port)
  await client.logIn(company.apiKey)
  await client.say('MAIL FROM:<app@client.test>')
  await client.say(`RCPT TO:<${CPF} not an address ${MARIA}>`)
  await client.say('RSET')
  const head = [`From: ${SENDER}`, `To: ${MARIA}`, `Subject: canary-subject ${CPF}`, 'Content-Type: text/plain']
  const taken = await client.send([MARIA], [...head, '', `canary-html ${CNPJ}`].join('\r\n'))
  expect(taken.code).toBe(250)
  await client.send([MARIA], [`From: ${MARIA}`, 'Content-Type: canary-token', '', 'x'].join('\r\n'))
  client.socket.destroy()
}

async function bySql(): Promise<string[]> {
  const app = new pg.Client({ connectionString: gateway.databaseUrl })
  await app.connect()
  try {
    const payload = { user_data: { full_name: `canary-variable ${CPF}`, email: MARIA } }
    const sql = 'select enqueue_email($1, $2, $3, $4) as id'
    const { rows: found } = await app.query(sql, [crypto.randomUUID(), 'welcome_user', MARIA, payload])
    await app.query(sql, [crypto.randomUUID(), `canary-template ${CPF}`, MARIA, payload])
    const ids = [found[0].id]
    for (const [template, given] of [
      ...[variables(), ...badVariables()].map(one => ['bill', one]),
      ['ruined', variables()],
    ])
      ids.push((await app.query(sql, [crypto.randomUUID(), template, MARIA, given])).rows[0].id)
    return ids
  } finally {
    await app.end()
  }
}

/** Everything that must not be in a log, in the forms in which it could be there. */
function forbidden(): string[] {
  const people = [MARIA, REFUSED, SENDER, ...OTHERS].flatMap(address => [
    address,
    encodeURIComponent(address),
    Buffer.from(address).toString('base64').replace(/=+$/, ''),
  ])
  const documents = [CPF, CNPJ].flatMap(document => [
    document,
    document.replace(/[./-]/g, ''),
    document.replace('/', '\\/'),
    encodeURIComponent(document),
  ])
  const secrets = [
    WRONG_KEY,
    company.apiKey,
    SMTP_PASSWORD,
    IDEMPOTENCY_KEY,
    ...Object.values(SECRET_SETTINGS),
    ...made,
  ]
  const logins = [`\0anyone\0${company.apiKey}`, `admin:${SECRET_SETTINGS.ADMIN_PASSWORD}`].map(login =>
    Buffer.from(login).toString('base64').replace(/=+$/, ''),
  )
  const shared = Object.values(SHARED_SECRETS)
  const database = decodeURIComponent(new URL(gateway.databaseUrl).password)
  return [...people, ...documents, ...secrets, ...logins, ...shared, ...CONTENT, database].filter(text => text !== '')
}

/** The lines that have one of them, with what it is. */
function leaks(output: string): string[] {
  const texts = forbidden().map(text => text.toLowerCase())
  return output
    .split('\n')
    .flatMap(line => texts.filter(text => line.toLowerCase().includes(text)).map(text => `${text} in ${line}`))
}

test.each(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])(
  'a gateway at level %s logs no address, document, key or secret of what it is asked',
  async level => {
    const before = gateway.logs().length
    gateway.setLogLevel(level)
    await requests(gateway.url)
    const output = gateway.logs().slice(before)
    gateway.setLogLevel('trace')
    expect(leaks(output)).toEqual([])
    // The answers are sent before their lines are written, but the first of many are there.
    if (['trace', 'debug', 'info'].includes(level)) expect(output).toContain('c***@s***.example')
  },
)

test('a gateway process at level trace writes none to its output while it accepts, sends and reports', async () => {
  const process = launchGateway({
    env: {
      ...SHARED_SECRETS,
      ...SECRET_SETTINGS,
      ...{ DATABASE_URL: gateway.databaseUrl, PORT: '0', LOG_LEVEL: 'trace', SMTP_INGRESS_PORT: '0' },
      ...{ EMAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://relay:${SMTP_PASSWORD}@127.0.0.1:${relay.port}` },
      ...{ WEBHOOK_ALLOW_PRIVATE: 'true', RETRY_POLICY: 'steps' },
    },
  })
  atCleanUp(() => process.exited)
  await process.printed(/API at http/)
  const smtpPort = Number(/SMTP at [^"]+:(\d+)/.exec(process.output())![1])
  const url = /API at (http:\/\/[^\s,"]+)/.exec(process.output())![1]!
  const hook = await call(url, company, 'POST', '/v1/webhooks', { url: `${receiver.url}/hook?token=canary-token` })
  made.push(hook.body.secret)

  const ids = await requests(url)
  await bySmtp(smtpPort)
  ids.push(...(await bySql()))
  const settled = `select count(*)::int as open from email_outbox where outbox_id = any($1) and status in ('PENDING', 'PROCESSING')`
  await until(
    () => rows(gateway, settled, [ids]),
    ([row]) => row.open === 0,
  )
  // The first delivery was refused, and its answer named a person.
  await receiver.got('/hook?token=canary-token', 2)

  process.signal('SIGTERM')
  await process.exited
  const output = process.output() + process.errors()
  expect(leaks(output)).toEqual([])
  const lines = ['E-mail accepted', 'Attempt started', 'E-mail sent', 'E-mail moved to the dead letter queue']
  for (const line of [
    ...lines,
    'E-mail bounced',
    'E-mail cancelled',
    'SMTP message refused',
    'Webhook attempt finished',
  ])
    expect(output).toContain(line)
  for (const code of ['TEMPLATE_VARIABLE_MISSING', 'INVALID_TEMPLATE']) expect(output).toContain(code)
  for (const masked of ['c***@s***.example', '***.***.***-25']) expect(output).toContain(masked)
})
