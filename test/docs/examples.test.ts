import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/faults.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { cleanUp, launchShell, ROOT, runShell } from '../support/process.ts'

/** How each example of the folder is run, as its README says. */
const COMMANDS: Record<string, string> = {
  'curl.sh': 'bash examples/curl.sh',
  'fetch.mjs': 'node examples/fetch.mjs',
  'resend-sdk.mjs': 'node examples/resend-sdk.mjs',
  'nodemailer.mjs': 'node examples/nodemailer.mjs',
  'enqueue.sql': 'psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f examples/enqueue.sql',
  'pg.mjs': 'node examples/pg.mjs',
}
const RECEIVER = 'webhook-receiver.mjs'

let gateway: TestGateway
let company: TestCompany
let env: Record<string, string>

beforeAll(async () => {
  const smtpPort = String(await freePort())
  gateway = await startTestGateway({ env: { SMTP_INGRESS_PORT: smtpPort, WEBHOOK_ALLOW_PRIVATE: 'true' } })
  company = await gateway.company()
  env = {
    GATEWAY_URL: gateway.url,
    API_KEY: company.apiKey,
    SMTP_URL: `smtp://gateway@127.0.0.1:${smtpPort}`,
    DATABASE_URL: gateway.databaseUrl,
  }
})
afterAll(async () => {
  await cleanUp()
  await gateway?.stop()
})

test('every example is run here', () => {
  const others = ['README.md', 'environment.mjs']
  const files = readdirSync(join(ROOT, 'examples')).filter(name => !others.includes(name))
  expect([...Object.keys(COMMANDS), RECEIVER].sort()).toEqual(files.sort())
})

test.each(Object.entries(COMMANDS))('%s sends an e-mail', async (_name, command) => {
  const before = (await sentEmails()).length
  const { code, stderr } = await runShell(command, { env })
  expect(`${code} ${stderr}`).toBe('0 ')
  const sent = await until(sentEmails, list => list.length === before + 1)
  expect(sent.at(-1)).toMatchObject({ company_id: company.companyId, address: 'maria@example.com' })
})

test.each(['bash examples/curl.sh', 'node examples/pg.mjs'])('%s says what is not set', async command => {
  const { code, stderr } = await runShell(command, { env: {} })
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^.*is not set: see examples\/README\.md\.?\n$/),
  })
})

test(`${RECEIVER} verifies what it is told`, async () => {
  const port = await freePort()
  const endpoint = { url: `http://127.0.0.1:${port}/`, eventTypes: ['email.sent'] }
  const { body } = await gateway.call(company, 'POST', '/v1/webhooks', endpoint)
  const receiver = launchShell(`exec node examples/${RECEIVER}`, {
    env: { WEBHOOK_SECRET: body.secret, RECEIVER_PORT: String(port) },
  })
  await receiver.printed(/Listening/)
  const forged = await fetch(endpoint.url, { method: 'POST', body: '{"type":"email.sent"}' })
  expect(forged.status).toBe(401)
  const mail = { to: 'maria@example.com', subject: 'Hello', text: 'Hello' }
  const { outboxId } = (await gateway.call(company, 'POST', '/v1/email/send', mail)).body
  await receiver.printed(new RegExp(`email\\.sent ${outboxId}`))
})

const sentEmails = () =>
  rows(
    gateway,
    `select o.company_id, r.address from email_outbox o join email_recipients r using (outbox_id)
     where o.status in ('SENT', 'DELIVERED') order by o.outbox_id`,
  )
