import { afterEach, describe, expect, test } from 'vitest'
import { startFakeSmtp } from '../support/fake-smtp.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { rows, sendOk } from '../support/mail.ts'
import { readEmail, typesOf } from '../support/outbox.ts'
import { deafPort } from './message.ts'

/** Three tries, each a second after the one before, and the start of a gateway on a busy machine. */
const PATIENCE_MS = 25_000

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function gatewayTo(env: Record<string, string>): Promise<TestGateway> {
  const gateway = await startTestGateway({ env: { EMAIL_FROM: 'shop@example.com', ...env } })
  // First: a relay waits for sessions that are still open.
  open.unshift(() => gateway.stop())
  return gateway
}
const provider = (gateway: TestGateway) => rows(gateway, 'select name, state, reason_code, reason from providers')

describe('a provider that cannot be reached', () => {
  test('is parked after a few tries of a single e-mail, which spends no attempt and is sent when it is back', async () => {
    const port = await deafPort()
    const gateway = await gatewayTo({ EMAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://127.0.0.1:${port}` })
    const company = await gateway.company()
    const outboxId = await sendOk(gateway, company)
    const [parked] = await until(
      () => provider(gateway),
      ([row]) => row?.state === 'open',
      PATIENCE_MS,
    )
    expect(parked).toMatchObject({ reason_code: 'NETWORK_ERROR', reason: expect.stringContaining('ECONNREFUSED') })
    // The provider is parked before the attempt is settled, and a probe counts as an attempt while it is under way.
    const waiting = await until(
      () => readEmail(gateway.db.pool, outboxId),
      ({ email }) => email.status !== 'PROCESSING',
      PATIENCE_MS,
    )
    expect(waiting.email).toMatchObject({ status: 'RETRY_SCHEDULED', attempts: 0 })
    const { metadata } = waiting.events.find(event => event.type === 'RETRY_SCHEDULED')!
    expect(metadata).toMatchObject({ errorCode: 'NETWORK_ERROR', unconnected: true, attempt: 1, nextAttemptNumber: 1 })
    // Before its retry is due, the answer is the time of the retry; while it is the probe, that it is being sent.
    await until(
      async () => (await gateway.call(company, 'GET', `/v1/email/${outboxId}/explain`)).body.summary,
      summary => /provider smtp parked .*ECONNREFUSED.*No attempt is spent/.test(summary),
      PATIENCE_MS,
    )
    // The relay is back, and the next probe finds it.
    const relay = await startFakeSmtp({}, port)
    open.push(() => relay.close())
    const stored = await until(
      async () => {
        // Each time: a probe that failed just before the relay was back puts the next one off.
        await gateway.db.pool.query(`update providers set probe_at = now() where state = 'open'`)
        return readEmail(gateway.db.pool, outboxId)
      },
      ({ email }) => email.status === 'SENT',
      PATIENCE_MS,
    )
    expect(stored.email.attempts).toBe(1)
    expect(typesOf(stored)).not.toContain('DLQ_MOVED')
    expect(relay.deliveries).toHaveLength(1)
    await until(
      () => provider(gateway),
      ([row]) => row.state === 'closed',
      PATIENCE_MS,
    )
  })

  test('leaves its mail to the next in the order', async () => {
    const relay = await startFakeSmtp()
    open.push(() => relay.close())
    const gateway = await gatewayTo({
      EMAIL_PROVIDER: 'resend,smtp',
      RESEND_API_KEY: 're_test',
      RESEND_BASE_URL: `http://127.0.0.1:${await deafPort()}`,
      SMTP_URL: `smtp://127.0.0.1:${relay.port}`,
    })
    const company = await gateway.company()
    const outboxId = await sendOk(gateway, company)
    const { email } = await until(
      () => readEmail(gateway.db.pool, outboxId),
      stored => stored.email.status === 'SENT',
      PATIENCE_MS,
    )
    expect(relay.deliveries).toHaveLength(1)
    expect(email).toMatchObject({ attempts: 1, provider: 'smtp' })
  })
})
