import type { TestContext } from 'vitest'
import { type FakeSes, startFakeSes } from './fake-ses.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from './gateway.ts'
import { sendOk } from './mail.ts'
import { makeDue, readEmail, type StoredEmail } from './outbox.ts'

export type SesGateway = {
  gateway: TestGateway
  company: TestCompany
  fake: FakeSes
  /** Sends one to an address whose local part the fake can be given a plan for. */
  send: (localPart: string, change?: Record<string, unknown>) => Promise<string>
  /** Waits for one of these statuses. */
  reaches: (outboxId: string, statuses: string[], patienceMs?: number) => Promise<StoredEmail>
  /** The retry that is scheduled is due now. */
  makeDue: (outboxIds: string[]) => Promise<void>
}

const SETTINGS = {
  EMAIL_PROVIDER: 'ses',
  EMAIL_FROM: 'shop@example.com',
  AWS_REGION: 'us-east-1',
  SEND_RATE_PER_SECOND: '100000',
  UNKNOWN_GRACE_SECONDS: '1',
}

/** The gateway in this process, and Amazon SES on a socket. */
export async function startSesGateway(
  context: Pick<TestContext, 'onTestFinished'>,
  sesUrl?: string,
): Promise<SesGateway> {
  // Where the SDK looks; the fake checks no signature.
  process.env.AWS_ACCESS_KEY_ID = 'test'
  process.env.AWS_SECRET_ACCESS_KEY = 'test'
  const fake = await startFakeSes()
  context.onTestFinished(() => fake.close())
  const gateway = await startTestGateway({ env: { ...SETTINGS, AWS_ENDPOINT_URL_SESV2: sesUrl ?? fake.url } })
  context.onTestFinished(() => gateway.stop())
  const company = await gateway.company()
  return {
    gateway,
    company,
    fake,
    send: (localPart, change = {}) => sendOk(gateway, company, { to: `${localPart}@example.com`, ...change }),
    reaches: (outboxId, statuses, patienceMs = 20_000) =>
      until(
        () => readEmail(gateway.db.pool, outboxId),
        ({ email }) => statuses.includes(email.status),
        patienceMs,
      ),
    makeDue: outboxIds => makeDue(gateway.db.pool, outboxIds),
  }
}
