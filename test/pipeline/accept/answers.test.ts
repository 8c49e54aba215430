import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../../src/admins/administrators.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../../support/gateway.ts'
import { captured, mail, read, send, sendOk, untilStatus } from '../../support/mail.ts'

const LOGIN = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
})
afterAll(() => gateway.stop())

describe('the examples of the API document', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a document of any form
  type Json = any

  test('are accepted as they stand, by every route that takes a body', async () => {
    const document: Json = (await gateway.call(null, 'GET', '/openapi.json')).body
    // Paused by one of them.
    const company = await gateway.company()
    const webhook = { url: 'https://example.com/hooks' }
    const ids: Record<string, string> = {
      outboxId: await sendOk(gateway, company, { delay: 3_600_000 }),
      id: (await gateway.call(company, 'POST', '/v1/webhooks', webhook)).body.id,
      companyId: company.companyId,
      emailHash: `sha256:${'a'.repeat(64)}`,
    }
    let sent = 0
    const withoutExample: string[] = []
    const refusedOnes: string[] = []
    for (const [path, operations] of Object.entries<Json>(document.paths)) {
      for (const [method, { requestBody, security }] of Object.entries<Json>(operations)) {
        const schema = requestBody?.content['application/json']?.schema
        if (!schema) continue
        const route = `${method.toUpperCase()} ${path}`
        const resolved = schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema
        if (resolved.example === undefined) {
          withoutExample.push(route)
          continue
        }
        const url = path.replace(/\{(\w+)\}/g, (_, name) => ids[name]!)
        const admin = security?.some((one: object) => 'administrator' in one)
        const answer = await gateway.call(
          admin ? null : company,
          method.toUpperCase(),
          url,
          resolved.example,
          admin ? LOGIN : {},
        )
        // Nothing may be there to remove or to resume, and nobody signs in with an example; what is said must be understood.
        const refused = path.startsWith('/admin/session') ? [401] : [404, 409]
        if (![200, 201, 202, ...refused].includes(answer.status)) refusedOnes.push(`${route}: ${answer.text}`)
        sent++
      }
    }
    expect({ withoutExample, refusedOnes }).toEqual({ withoutExample: [], refusedOnes: [] })
    expect(sent).toBeGreaterThan(8)
  })
})

test('everything that is missing or wrong is in one answer, with limits and sizes', async () => {
  const answer = await send(gateway, company, {
    cc: ['x'],
    priority: 11,
    tags: ['x'.repeat(65)],
  })
  expect(answer.status).toBe(422)
  const said = Object.fromEntries(
    answer.body.errors.map((one: { path: string; message: string }) => [one.path, one.message]),
  )
  expect(said).toEqual({
    to: 'is required',
    subject: 'is required',
    html: 'html or text is required',
    'cc[0]': expect.stringContaining('@'),
    priority: 'must be at most 10, is 11',
    'tags[0]': 'must have at most 64 characters, has 65',
  })
  const many = await send(gateway, company, mail({ cc: Array(7).fill('a@example.com') }))
  expect(many.body.errors).toMatchObject([{ path: 'cc', message: 'must have at most 5 items, has 7' }])
  const replies = await send(gateway, company, mail({ replyTo: Array(12).fill('a@example.com') }))
  expect(replies.body.errors).toMatchObject([{ path: 'replyTo', message: 'must have at most 5 items, has 12' }])
  const long = await send(gateway, company, mail({ subject: 'x'.repeat(163) }))
  expect(long.body.errors).toMatchObject([{ path: 'subject', message: 'must have at most 150 characters, has 163' }])
})

test('the type of an attachment is guessed from its name', async () => {
  const content = Buffer.from('x').toString('base64')
  const files = [
    { filename: 'nota.pdf', content },
    { filename: 'a', content },
    { filename: 'a.pdf', contentType: 'text/plain', content },
  ]
  const outboxId = await sendOk(gateway, company, { attachments: files })
  await untilStatus(gateway, company, outboxId, 'SENT')
  const types = (await captured(gateway, outboxId)).attachments.map((file: { contentType: string }) => file.contentType)
  expect(types).toEqual(['application/pdf', 'application/octet-stream', 'text/plain'])
})

test('an http webhook URL is refused with the setting that would allow it', async () => {
  const answer = await gateway.call(company, 'POST', '/v1/webhooks', { url: 'http://example.com/hooks' })
  expect(answer.status).toBe(422)
  expect(answer.body.errors[0].message).toMatch(/^must be an https URL.*WEBHOOK_ALLOW_PRIVATE=true/)
})

test('the 202 says where to look, and what is found there begins with its word', async () => {
  const answer = await send(gateway, company, mail({ delay: 3_600_000 }))
  expect(answer.body.status).toBe('QUEUED')
  expect(answer.headers.get('location')).toBe(`/v1/email/${answer.body.outboxId}`)
  const email = await read(gateway, company, answer.body.outboxId)
  expect(email.status).toBe('PENDING')
  expect(email.events[0].type).toBe('QUEUED')
})

test('the log line of a refused request names the error code', async () => {
  const requestId = 'the-request-of-this-test'
  await send(gateway, company, mail({ to: 'nobody' }), { 'x-request-id': requestId })
  const lines = gateway
    .logs()
    .split('\n')
    .filter(line => line.includes(requestId))
    .map(line => JSON.parse(line))
  expect(lines).toMatchObject([{ message: 'Request', status: 422, errorCode: 'INVALID_EMAIL' }])
})
