import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FakeServer, serve } from '../support/fake-http.ts'
import { type FakeSmtp, startFakeSmtp } from '../support/fake-smtp.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { read, sendOk } from '../support/mail.ts'
import { startSecondGateway } from '../support/second-gateway.ts'
import { graceOver, unknownSends } from '../support/unknown.ts'

const EMAIL_FROM = 'shop@acme.example'

let resend: FakeServer
let smtp: FakeSmtp
let api: TestGateway
beforeAll(async () => {
  resend = await serve(async request => void request.socket.destroy())
  smtp = await startFakeSmtp()
  api = await startTestGateway({ role: 'api', env: { EMAIL_FROM } })
})
afterAll(async () => {
  await api?.stop()
  await smtp?.close()
  await resend?.close()
})

const startWorker = (env: Record<string, string>) =>
  startSecondGateway(api.databaseUrl, 'worker', { EMAIL_FROM, ...env })

test('what Resend may have taken is not sent by another provider after Resend was taken out of EMAIL_PROVIDER', async () => {
  const company = await api.company()
  const status = (id: string) => async () => (await read(api, company, id)).status
  const id = await sendOk(api, company, { from: EMAIL_FROM })
  const before = await startWorker({ EMAIL_PROVIDER: 'resend', RESEND_API_KEY: 're_test', RESEND_BASE_URL: resend.url })
  await until(status(id), now => now === 'UNKNOWN')
  await before.stop()

  await graceOver(api.db.short)
  const after = await startWorker({ EMAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://127.0.0.1:${smtp.port}` })
  try {
    await until(
      () => unknownSends(api.db.short),
      ([unknown]) => unknown?.reason === 'PROVIDER_UNAVAILABLE',
    )
    expect(await read(api, company, id)).toMatchObject({ status: 'UNKNOWN', provider: 'resend', attempts: 1 })
    const next = await sendOk(api, company, { from: EMAIL_FROM })
    await until(status(next), now => now === 'SENT')
    expect(smtp.deliveries).toHaveLength(1)
  } finally {
    await after.stop()
  }
})
