import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashEmail } from '../src/contracts/hashing.ts'
import { type FakeSmtp, type SmtpRefusal, startFakeSmtp } from './support/fake-smtp.ts'
import { startTestGateway, type TestCompany, type TestGateway } from './support/gateway.ts'
import { rows, sendOk, untilStatus } from './support/mail.ts'

let relay: FakeSmtp
let gateway: TestGateway
let company: TestCompany
let made = 0

beforeAll(async () => {
  relay = await startFakeSmtp()
  const env = { EMAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://127.0.0.1:${relay.port}`, EMAIL_FROM: 'shop@example.com' }
  gateway = await startTestGateway({ env })
  company = await gateway.company()
})
afterAll(async () => {
  await gateway?.stop()
  await relay?.close()
})
beforeEach(() => relay.refuse({}))

/** An address that no other test knows, and what the relay says about it. */
function refused(code: number, text: string): string {
  const address = `refused${++made}@example.com`
  relay.refuse({ recipients: { [address]: { code, text } satisfies SmtpRefusal } })
  return address
}
const reasonOf = async (address: string) =>
  (await rows(gateway, 'select reason from suppression_list where email_hash = $1', [hashEmail(address)]))[0]?.reason

test('no such mailbox bounces and suppresses, alone as beside a recipient who exists', async () => {
  const lone = refused(550, '5.1.1 user unknown')
  const alone = await sendOk(gateway, company, { to: lone })
  await untilStatus(gateway, company, alone, 'BOUNCED')
  expect(await reasonOf(lone)).toBe('HARD_BOUNCE')
  const accompanied = refused(550, '5.1.1 user unknown')
  const beside = await sendOk(gateway, company, { to: accompanied, cc: ['cc@example.com'] })
  await untilStatus(gateway, company, beside, 'BOUNCED')
  expect(await reasonOf(accompanied)).toBe('HARD_BOUNCE')
  expect(await rows(gateway, 'select from dead_letters where outbox_id = any($1)', [[alone, beside]])).toEqual([])
})

test.each([
  ['policy', 550, '5.7.1 rejected by policy'],
  ['relaying', 554, '5.7.1 relay access denied'],
  ['size', 552, '5.3.4 message too large'],
  ['quota', 552, '5.2.2 mailbox full'],
  ['a bare 550', 550, 'not today'],
])('a refusal for %s suppresses nobody, alone or beside a recipient who exists', async (_, code, text) => {
  const lone = refused(code, text)
  await untilStatus(gateway, company, await sendOk(gateway, company, { to: lone }), 'REJECTED')
  const accompanied = refused(code, text)
  const beside = await sendOk(gateway, company, { to: accompanied, cc: ['cc@example.com'] })
  const { events } = await untilStatus(gateway, company, beside, 'BOUNCED')
  expect(events.find((event: { type: string }) => event.type === 'BOUNCE').metadata.bounceType).not.toBe('Permanent')
  expect([await reasonOf(lone), await reasonOf(accompanied)]).toEqual([undefined, undefined])
})
