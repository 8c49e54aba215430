import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { type FakeResend, startFakeResend } from '../support/fake-resend.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows, sendOk, sleep } from '../support/mail.ts'

const BASIC = { authorization: `Basic ${Buffer.from('admin:correct horse battery').toString('base64')}` }

let resend: FakeResend
let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  resend = await startFakeResend({ apiKey: 're_test' })
  gateway = await startTestGateway({
    env: {
      EMAIL_PROVIDER: 'resend',
      RESEND_API_KEY: 're_test',
      RESEND_BASE_URL: resend.url,
      SEND_RATE_PER_SECOND: '50',
      EMAIL_FROM: 'Gateway <gateway@sender.test>',
    },
  })
  company = await gateway.company()
  await putAdministrator(gateway.db.pool, 'admin', await hashPassword('correct horse battery'))
})
afterAll(async () => {
  await gateway?.stop()
  await resend?.close()
})

const list = async () => (await gateway.call(null, 'GET', '/admin/providers', undefined, BASIC)).body.data
const probe = (name: string) => gateway.call(null, 'POST', `/admin/providers/${name}/probe`, {}, BASIC)
const status = async (outboxId: string) =>
  (await rows(gateway, 'select status from email_outbox where outbox_id = $1', [outboxId]))[0]!.status

test('a healthy provider shows its rate against its quota, what it sent last, and its errors by code', async () => {
  const outboxId = await sendOk(gateway, company)
  await until(
    () => status(outboxId),
    found => found === 'SENT',
  )
  const answer = { kind: 'error', status: 500, name: 'internal_server_error' } as const
  resend.control({ rules: [{ next: 1, answer }] })
  const failing = await sendOk(gateway, company)
  await until(
    () => status(failing),
    found => found === 'RETRY_SCHEDULED' || found === 'SENT',
  )
  const [provider] = await until(list, data => data[0].errors.length > 0)
  expect(provider).toMatchObject({
    name: 'resend',
    configured: true,
    state: 'healthy',
    parkedAt: null,
    nextProbeAt: null,
    quotaPerSecond: 50,
    allowedPerSecond: 50,
    inFlight: 0,
    lastSentAt: expect.any(String),
    errors: [{ code: expect.stringMatching(/^[A-Z_]+$/), count: 1, lastAt: expect.any(String) }],
  })
  expect(provider.sentPerSecond).toBeGreaterThan(0)
})

/** Again until the gateway, which reads the state once a second, has read it: an e-mail that is sent before shows it that the provider works. */
async function parkAndSend(): Promise<string> {
  for (;;) {
    await gateway.db.pool.query(
      `update providers set state = 'open', opened_at = now(), reason_code = 'RESEND_DAILY_QUOTA', reason = 'The daily quota is used up',
         probes = 4, probe_at = now() + interval '1 hour'`,
    )
    await sleep(1_200)
    const outboxId = await sendOk(gateway, company)
    await sleep(300)
    if ((await list())[0].state === 'parked' && (await status(outboxId)) !== 'SENT') return outboxId
  }
}

test('"try now" makes the next e-mail the probe of a parked provider, whose mail then goes on', async () => {
  expect(await probe('resend')).toMatchObject({ status: 409, body: { code: 'PROVIDER_NOT_PARKED' } })
  expect((await probe('nobody')).status).toBe(404)
  const outboxId = await parkAndSend()
  const [parked] = await until(list, data => data[0].state === 'parked')
  expect(parked).toMatchObject({
    reasonCode: 'RESEND_DAILY_QUOTA',
    reason: 'The daily quota is used up',
    failedProbes: 4,
  })
  expect(Date.parse(parked.nextProbeAt) - Date.now()).toBeGreaterThan(3_500_000)

  expect(await probe('resend')).toMatchObject({ status: 200, body: { reasonCode: 'RESEND_DAILY_QUOTA' } })
  await until(
    () => status(outboxId),
    found => found === 'SENT',
  )
  await until(list, data => data[0].state === 'healthy')
  expect(
    await rows(
      gateway,
      `select performed_by, subject_id, before from audit_log where action = 'PROVIDER_PROBE_REQUESTED'`,
    ),
  ).toEqual([
    {
      performed_by: 'admin',
      subject_id: 'resend',
      before: { reasonCode: 'RESEND_DAILY_QUOTA', failedProbes: 4, probeAt: expect.any(String) },
    },
  ])
})
