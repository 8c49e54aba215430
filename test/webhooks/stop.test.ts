import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { sleep } from '../support/mail.ts'
import { startSecondGateway } from '../support/second-gateway.ts'
import { deliveriesOf, type Receiver, register, startReceiver } from '../support/webhook-receiver.ts'

const ENV = { WEBHOOK_ALLOW_PRIVATE: 'true', LEASE_SECONDS: '5' }
/** Longer than the process holds the endpoint without renewing that, shorter than a request may take. */
const SLOW_MS = 7_000

let api: TestGateway
let receiver: Receiver
beforeAll(async () => {
  api = await startTestGateway({ role: 'api', env: ENV })
  receiver = await startReceiver()
})
afterAll(async () => {
  await api?.stop()
  await receiver?.close()
})

test('a delivery that is under way when its process is stopped is not made a second time by another process', async () => {
  receiver.answer('/slow', async response => {
    await sleep(SLOW_MS)
    response.writeHead(204).end()
  })
  const company = await api.company()
  const { id } = await register(api, company, `${receiver.url}/slow`)
  const stopping = await startSecondGateway(api.databaseUrl, 'worker', ENV)
  await api.call(company, 'POST', `/v1/webhooks/${id}/test`)
  await receiver.got('/slow', 1)
  const other = await startSecondGateway(api.databaseUrl, 'worker', ENV)
  try {
    await stopping.stop()
    expect(await deliveriesOf(api, company, id)).toMatchObject([{ status: 'delivered', attempts: 1 }])
    expect(receiver.at('/slow')).toHaveLength(1)
  } finally {
    await other.stop()
  }
})
