import { afterEach, describe, expect, test } from 'vitest'
import { type FakeResend, startFakeResend } from '../support/fake-resend.ts'
import { type FakeSes, startFakeSes } from '../support/fake-ses.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { rows, sendOk, untilStatus } from '../support/mail.ts'
import { accept, draft } from '../support/outbox.ts'
import { startWorker } from '../support/worker.ts'

const PER_SECOND = 8
const EMAILS = 40

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

type Limited = { fake: FakeResend | FakeSes; env: Record<string, string> }

async function resend(headers: boolean): Promise<Limited> {
  const fake = await startFakeResend()
  fake.control({ limit: { perSecond: PER_SECOND, headers } })
  return { fake, env: { EMAIL_PROVIDER: 'resend', RESEND_API_KEY: 're_test', RESEND_BASE_URL: fake.url } }
}

/** The account is said to take more than it does. */
async function ses(): Promise<Limited> {
  process.env.AWS_ACCESS_KEY_ID = 'test'
  process.env.AWS_SECRET_ACCESS_KEY = 'test'
  const fake = await startFakeSes()
  fake.control({ limit: { perSecond: PER_SECOND } })
  return { fake, env: { EMAIL_PROVIDER: 'ses', AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_SESV2: fake.url } }
}

/** Two workers at once: the rate is theirs together. */
async function drain({ fake, env }: Limited): Promise<TestGateway> {
  open.push(() => fake.close())
  const api = await startTestGateway({ role: 'api', env: { EMAIL_FROM: 'shop@example.com', ...env } })
  open.push(() => api.stop())
  const { companyId } = await api.company()
  await accept(
    api.db.short,
    Array.from({ length: EMAILS }, () => draft(companyId)),
  )
  for (let worker = 0; worker < 2; worker++) {
    const { stop } = await startWorker(api, { EMAIL_FROM: 'shop@example.com', ...env, WORKER_CONCURRENCY: '20' })
    open.push(stop)
  }
  await until(
    () => rows(api, `select status, attempts from email_outbox where status <> 'SENT'`),
    left => left.length === 0,
    150_000,
  )
  return api
}

test('one message to six recipients takes one place of Resend’s rate, which counts requests', async () => {
  const { fake, env } = await resend(false)
  open.push(() => fake.close())
  const more = { EMAIL_FROM: 'shop@example.com', SEND_RATE_PER_SECOND: '1' }
  const gateway = await startTestGateway({ env: { ...more, ...env } })
  open.push(() => gateway.stop())
  const cc = Array.from({ length: 5 }, (_, n) => `copy-${n}@example.com`)
  const company = await gateway.company()
  const outboxId = await sendOk(gateway, company, { cc })
  await untilStatus(gateway, company, outboxId, 'SENT')
  const [taken] = await rows(
    gateway,
    `select extract(epoch from p.free_at - e.created_at)::float8 as seconds
     from providers p, email_events e where p.name = 'resend' and e.outbox_id = $1 and e.type = 'SENT'`,
    [outboxId],
  )
  expect(taken.seconds).toBeLessThan(2)
})

describe('a provider limited to 8 requests a second gets 40 e-mails at once', { timeout: 200_000 }, () => {
  test.each([
    ['Resend, which tells its limit', () => resend(true)],
    ['Resend behind something that tells nothing', () => resend(false)],
    ['Amazon SES', ses],
  ])('%s: all of them are sent with one attempt each, and few requests are in vain', async (_, start) => {
    const limited = await start()
    const api = await drain(limited)
    const { fake } = limited
    expect(fake.accepted).toHaveLength(EMAILS)
    expect(await rows(api, 'select distinct attempts from email_outbox')).toEqual([{ attempts: 1 }])
    expect(await rows(api, 'select from dead_letters')).toEqual([])
    const retries = await rows(
      api,
      `select distinct metadata -> 'throttled' as throttled, (metadata ->> 'attempt')::int as attempt
       from email_events where type = 'RETRY_SCHEDULED'`,
    )
    expect(retries).toEqual([{ throttled: true, attempt: 1 }])
    // The first burst of both workers' calls, and after that an e-mail now and then.
    expect(fake.throttled()).toBeLessThan(2 * 20 + EMAILS / 2)
  })
})
