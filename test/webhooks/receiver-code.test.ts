import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/faults.ts'
import { startTestGateway, until } from '../support/gateway.ts'
import { deliveriesOf, register } from '../support/webhook-receiver.ts'

/** The receiver that docs/webhooks.md shows, as a program of its own. */
async function startDocumented(port: number, secret: string) {
  const text = await readFile(join(import.meta.dirname, '../../docs/webhooks.md'), 'utf8')
  const [code] = /(?<=```js\n)[\s\S]*?(?=```)/.exec(text)!
  const folder = await mkdtemp(join(tmpdir(), 'documented-receiver-'))
  await writeFile(join(folder, 'receiver.mjs'), code)
  const child = spawn(process.execPath, [join(folder, 'receiver.mjs')], {
    env: { PATH: process.env.PATH, WEBHOOK_SECRET: secret, PORT: String(port) },
  })
  let output = ''
  child.stdout.on('data', chunk => (output += chunk))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  await until(
    async () => output,
    said => said.includes('listening'),
  )
  return { output: () => output }
}

test('the receiver of the documentation takes what the gateway signs, once, and refuses what others send', async () => {
  const gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  onTestFinished(() => gateway.stop())
  const company = await gateway.company()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/hooks`
  const { id, secret } = await register(gateway, company, url)
  const receiver = await startDocumented(port, secret)
  await gateway.call(company, 'POST', `/v1/webhooks/${id}/test`)
  const delivered = () =>
    until(
      () => deliveriesOf(gateway, company, id),
      ([one]) => one?.status === 'delivered',
    )
  const [first] = await delivered()
  expect(receiver.output()).toMatch(/^webhook\.test .*"It works\."/m)
  await gateway.call(company, 'POST', `/v1/webhooks/${id}/deliveries/${first.id}/replay`)
  await delivered()
  expect(receiver.output().match(/webhook\.test/g)).toHaveLength(1)

  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
  const forged = await fetch(url, {
    method: 'POST',
    body: '{}',
    headers: { ...headers, 'webhook-signature': 'v1,AAAA' },
  })
  expect(forged.status).toBe(400)
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400)
})
