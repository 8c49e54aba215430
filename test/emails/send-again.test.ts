import { afterAll, beforeAll, expect, test } from 'vitest'
import { replayNamed } from '../../src/dead-letters/jobs.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions, removeSuppression } from '../../src/suppression/list.ts'
import { cliOn, type TestCli } from '../support/cli.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { cancelLater, captured, read, rows, sendOk, untilStatus } from '../support/mail.ts'
import { cleanUp } from '../support/process.ts'

let gateway: TestGateway
let company: TestCompany
let cli: TestCli
beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
  cli = await cliOn(gateway.databaseUrl)
})
afterAll(async () => {
  await gateway?.stop()
  await cleanUp()
})

const LATER = { delay: 3_600_000 }
const resend = (id: string, headers?: Record<string, string>) =>
  gateway.call(company, 'POST', `/v1/email/${id}/resend`, undefined, headers)
const suppress = (address: string) =>
  addSuppressions(gateway.db.pool, [
    {
      companyId: null,
      emailHash: hashEmail(address),
      reason: 'MANUAL',
      expiresInDays: 0,
      metadata: {},
      performedBy: 'ana',
    },
  ])
const lift = (address: string) =>
  removeSuppression(gateway.db.pool, {
    emailHash: hashEmail(address),
    lists: [null],
    performedBy: 'ana',
    justification: 'the mailbox works again',
  })

/** Accepted, and suppressed before it was sent. */
async function suppressedBeforeSending(address: string, change: Record<string, unknown> = {}): Promise<string> {
  const id = await sendOk(gateway, company, { to: address, ...LATER, ...change })
  await suppress(address)
  await gateway.call(company, 'PATCH', `/v1/email/${id}`, { delay: 0 })
  await untilStatus(gateway, company, id, 'REJECTED')
  return id
}

test('a bounced e-mail is refused while its address is suppressed, and sent again afterwards, whole', async () => {
  const content = {
    to: 'Bounce <bounce@simulator.test>',
    cc: ['Cc <copy@example.com>'],
    subject: 'Ação 1',
    html: '<p>Hello</p>',
    text: 'Hello',
    replyTo: ['a@example.com'],
    headers: { 'X-Order': '7' },
    tags: ['order'],
    externalId: 'order-7',
    priority: 2,
    recipient: { externalId: 'client-7', nome: 'Maria' },
    attachments: [{ filename: 'a.txt', content: 'aGk=', contentId: 'logo' }],
  }
  const old = await sendOk(gateway, company, content)
  await untilStatus(gateway, company, old, 'BOUNCED')
  expect((await resend(old)).body).toMatchObject({
    status: 403,
    code: 'RECIPIENT_SUPPRESSED',
    recipient: hashEmail('bounce@simulator.test'),
  })

  await lift('bounce@simulator.test')
  const answer = await resend(old, { 'idempotency-key': 'again' })
  expect([answer.status, answer.body]).toMatchObject([202, { status: 'QUEUED', resendOf: old }])
  const { outboxId } = answer.body
  expect(outboxId).not.toBe(old)
  const repeated = await resend(old, { 'idempotency-key': 'again' })
  expect(repeated.body).toEqual(answer.body)

  await untilStatus(gateway, company, outboxId, 'BOUNCED')
  const [first, second] = [await captured(gateway, old), await captured(gateway, outboxId)]
  expect(second).toEqual(first)
  const email = await read(gateway, company, outboxId)
  expect(email).toMatchObject({ resendOf: old, resentAs: [], externalId: 'order-7', tags: ['order'] })
  expect(await read(gateway, company, old)).toMatchObject({ resendOf: null, resentAs: [outboxId] })
  const records = await rows(gateway, 'select recipient_id, priority from email_outbox where outbox_id = any($1)', [
    [old, outboxId],
  ])
  expect(records[0]).toEqual(records[1])
})

test('what was suppressed before it was sent is sent again by resend, or replayed under its own id', async () => {
  const [one, two] = [
    await suppressedBeforeSending('one@example.com'),
    await suppressedBeforeSending('two@example.com'),
  ]
  const explained = await gateway.call(company, 'GET', `/v1/email/${one}/explain`)
  expect(explained.body.next).toBe('It can be sent again (resend) once the address is no longer suppressed.')
  await lift('one@example.com')
  await lift('two@example.com')
  const { outboxId, resendOf } = await cli.json<{ outboxId: string; resendOf: string }>('email', 'resend', one)
  expect(resendOf).toBe(one)
  await untilStatus(gateway, company, outboxId, 'SENT')
  expect(await replayNamed(gateway.db.pool, [two], 'ana')).toMatchObject([{ outcome: 'replayed' }])
  await untilStatus(gateway, company, two, 'SENT')
  expect((await captured(gateway, two)).to).toEqual(['two@example.com'])
})

test('what has not ended, is not there, or has lost its content is refused with the reason', async () => {
  const waiting = await sendOk(gateway, company, LATER)
  expect((await resend(waiting)).body).toMatchObject({
    status: 409,
    code: 'NOT_ENDED',
    detail: expect.stringMatching(/^The e-mail is PENDING; .*BOUNCED/),
  })
  expect(await cli.fails(1, 'email', 'resend', waiting)).toContain('It is PENDING: only an e-mail that has ended (')
  await cancelLater(gateway, company, waiting)
  await gateway.db.pool.query('update email_content set html = null, text = null where outbox_id = $1', [waiting])
  expect((await resend(waiting)).body).toMatchObject({ status: 410, code: 'CONTENT_GONE' })
  const other = await gateway.company()
  expect((await gateway.call(other, 'POST', `/v1/email/${waiting}/resend`)).status).toBe(404)
  const { apiKey } = await gateway.key(company.companyId, { scopes: ['read'] })
  expect((await gateway.call({ apiKey }, 'POST', `/v1/email/${waiting}/resend`)).body.code).toBe('INSUFFICIENT_SCOPE')
})
