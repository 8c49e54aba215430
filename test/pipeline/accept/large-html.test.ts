import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { mail, send } from '../../support/mail.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
})
afterAll(() => gateway.stop())

const large = (kilobytes: number) => mail({ html: `<table>${'<tr><td>x</td></tr>'.repeat(kilobytes * 50)}</table>` })

test('large HTML of one company does not wait for that of another', async () => {
  const [greedy, quiet] = [await gateway.company(), await gateway.company()]
  let answered = 0
  const flood = Array.from({ length: 30 }, async () => {
    const { status } = await send(gateway, greedy, large(60))
    answered++
    return status
  })
  // All of it has come in when one of it has been answered.
  await Promise.race(flood)
  const before = answered
  expect((await send(gateway, quiet, large(10))).status).toBe(202)
  expect(answered - before).toBeLessThan(15)
  for (const status of await Promise.all(flood)) expect([202, 503]).toContain(status)
})
