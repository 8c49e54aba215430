import { afterAll, beforeAll, expect, test } from 'vitest'
import { cliOn, type TestCli } from '../support/cli.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { cleanUp, runCommand } from '../support/process.ts'

let gateway: TestGateway
let cli: TestCli
let acme: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  cli = await cliOn(gateway.databaseUrl)
  acme = await gateway.company({ name: 'acme' })
})
afterAll(async () => {
  await gateway.stop()
  await cleanUp()
})

const NOBODYS = '01890000-0000-7000-8000-000000000000'
const WHY = ['--justification', 'a test of codes']

async function codeOf(...args: string[]): Promise<string> {
  const { code, stdout } = await runCommand([...args, '--json'], { env: cli.env })
  expect({ args, code }).toEqual({ args, code: 1 })
  return JSON.parse(stdout).error.code
}

async function codeOfApi(method: string, path: string, body?: object): Promise<string> {
  return (await gateway.call(acme, method, path, body)).body.code
}

async function sentEmail(): Promise<string> {
  const body = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
  const { outboxId } = (await gateway.call(acme, 'POST', '/v1/email/send', body)).body
  await until(
    () => gateway.call(acme, 'GET', `/v1/email/${outboxId}`),
    ({ body: email }) => email.status === 'SENT',
  )
  return outboxId
}

test('to cancel an e-mail that was sent has the code of the API', async () => {
  const outboxId = await sentEmail()
  const codes = [
    await codeOf('email', 'cancel', outboxId),
    await codeOfApi('POST', `/v1/email/${outboxId}/cancel`, undefined),
  ]
  expect(codes).toEqual(['ALREADY_STARTED', 'ALREADY_STARTED'])
})

test('to remove a complaint, or an address that is not listed, has the codes of the API', async () => {
  await cli.lines('suppression', 'add', 'ana@example.com', '--reason', 'COMPLAINT', '--company', 'acme', ...WHY)
  const remove = async (email: string) => [
    await codeOf('suppression', 'remove', email, '--company', 'acme', ...WHY),
    await codeOfApi('DELETE', '/v1/suppression', { email, justification: 'a test of codes' }),
  ]
  expect(await remove('ana@example.com')).toEqual(['COMPLAINT_NOT_REMOVABLE', 'COMPLAINT_NOT_REMOVABLE'])
  expect(await remove('nobody@example.com')).toEqual(['NOT_SUPPRESSED', 'NOT_SUPPRESSED'])
})

test('to publish a template that has no draft has the code of the API', async () => {
  const template = { type: 'order_sent', locale: 'pt-BR', subject: 'Order', text: 'It is sent.', publish: true }
  const { id } = (await gateway.call(acme, 'POST', '/v1/templates', template)).body
  const codes = [
    await codeOf('template', 'publish', 'order_sent', '--company', 'acme'),
    await codeOfApi('POST', `/v1/templates/${id}/publish`, {}),
  ]
  expect(codes).toEqual(['NOTHING_TO_PUBLISH', 'NOTHING_TO_PUBLISH'])
})

test('to test a webhook endpoint that is disabled has the code of the API', async () => {
  const endpoint = { url: 'http://127.0.0.1:9/hooks', eventTypes: ['email.sent'] }
  const { id } = (await gateway.call(acme, 'POST', '/v1/webhooks', endpoint)).body
  await gateway.call(acme, 'PATCH', `/v1/webhooks/${id}`, { enabled: false })
  const codes = [await codeOf('webhook', 'test', id), await codeOfApi('POST', `/v1/webhooks/${id}/test`)]
  expect(codes).toEqual(['WEBHOOK_DISABLED', 'WEBHOOK_DISABLED'])
})

test.each([
  ['NOT_FOUND', ['email', 'resolve', NOBODYS, '--not-sent']],
  ['NOT_FOUND', ['dlq', 'replay', NOBODYS]],
  ['NOT_FOUND', ['ledger', 'acknowledge', '--reason', 'known']],
  ['NOT_FOUND', ['company', 'sql-access', 'acme', '--revoke']],
  ['NOT_FOUND', ['domain', 'check', 'none.example', '--company', 'acme']],
])('%s: %j', async (code, args) => expect(await codeOf(...args)).toBe(code))
