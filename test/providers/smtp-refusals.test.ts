import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { type FakeSmtp, type SmtpRefusal, startFakeSmtp } from '../support/fake-smtp.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows, sendOk, untilStatus } from '../support/mail.ts'
import { makeDue } from '../support/outbox.ts'

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

describe('a recipient that is greylisted', () => {
  const rowOf = async (outboxId: string) =>
    (await rows(gateway, 'select status, attempts, max_attempts from email_outbox where outbox_id = $1', [outboxId]))[0]
  const delays = async (outboxId: string): Promise<number[]> =>
    (
      await rows(
        gateway,
        `select (metadata ->> 'backoffDelay')::float8 / 60000 as minutes from email_events
         where outbox_id = $1 and type = 'RETRY_SCHEDULED' order by created_at, event_id`,
        [outboxId],
      )
    ).map(row => row.minutes)

  test('is asked again for hours, not five times, and sent in the end', { timeout: 60_000 }, async () => {
    const address = refused(450, '4.7.1 greylisted, try again later')
    const outboxId = await sendOk(gateway, company, { to: address })
    const steps = [1, 5, 15, 30, 60, 60, 60]
    for (const attempts of steps.keys()) {
      await until(
        () => rowOf(outboxId),
        row => row.status === 'RETRY_SCHEDULED' && row.attempts === attempts + 1,
      )
      if (attempts + 1 < steps.length) await makeDue(gateway.db.pool, [outboxId])
    }
    const waited = await delays(outboxId)
    for (const [place, minutes] of steps.entries()) {
      expect(waited[place]).toBeGreaterThanOrEqual(minutes * 0.75)
      expect(waited[place]).toBeLessThanOrEqual(minutes * 1.25)
    }
    // Once its lease has ended.
    await until(
      async () => (await gateway.call(company, 'GET', `/v1/email/${outboxId}/explain`)).body.summary,
      summary => /^Attempt 8 \(repeated until it expires at /.test(summary),
    )
    relay.refuse({})
    await makeDue(gateway.db.pool, [outboxId])
    await untilStatus(gateway, company, outboxId, 'SENT')
  })

  test('follows the policy that the company or the request chose', async () => {
    const steady = await gateway.company({ retryPolicy: 'patient' })
    const address = refused(450, '4.7.1 greylisted, try again later')
    const chosen = await sendOk(gateway, company, { to: address, retryPolicy: 'patient' })
    const ofCompany = await sendOk(gateway, steady, { to: address })
    await untilStatus(gateway, company, chosen, 'RETRY_SCHEDULED')
    await untilStatus(gateway, steady, ofCompany, 'RETRY_SCHEDULED')
    for (const outboxId of [chosen, ofCompany]) expect(await rowOf(outboxId)).toMatchObject({ max_attempts: 4 })
  })

  test('is not tried after its time: the last retry is at its expiry', async () => {
    const address = refused(450, '4.7.1 greylisted, try again later')
    const outboxId = await sendOk(gateway, company, { to: address, delay: 3_600_000 })
    await rows(gateway, `update email_outbox set expires_at = now() + interval '20 seconds' where outbox_id = $1`, [
      outboxId,
    ])
    await makeDue(gateway.db.pool, [outboxId])
    await untilStatus(gateway, company, outboxId, 'RETRY_SCHEDULED')
    const [row] = await rows(
      gateway,
      'select next_attempt_at = expires_at as ends, attempts from email_outbox where outbox_id = $1',
      [outboxId],
    )
    expect(row).toEqual({ ends: true, attempts: 1 })
  })
})
