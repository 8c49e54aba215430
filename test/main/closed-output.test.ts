import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { atCleanUp, BIN, cleanUp, runCommand } from '../support/process.ts'
import { reapWithUs } from '../support/reaper.ts'
import { SHARED_SECRETS } from '../support/second-gateway.ts'

afterAll(cleanUp)

let env: Record<string, string>
let apiKey: string

beforeAll(async () => {
  const database = await createTestDatabase()
  atCleanUp(() => database.drop())
  env = { PATH: process.env.PATH!, PORT: '0', DATABASE_URL: database.url, ...SHARED_SECRETS }
  apiKey = JSON.parse((await runCommand(['company', 'create', 'acme', '--json'], { env })).stdout).apiKey
})

type Child = ChildProcess & { url: string }

/** Started as Node's own spawnSync does it: its output goes to pipes that only we hold. */
async function start(settings: Record<string, string> = {}): Promise<Child> {
  const child = spawn(process.execPath, [BIN, 'start'], { env: { ...env, ...settings } })
  reapWithUs(child)
  atCleanUp(() => child.kill('SIGKILL'))
  let text = ''
  const url = await new Promise<string>(resolve => {
    child.stdout.on('data', chunk => {
      text += chunk
      const found = /API at (http:\/\/[^\s,]+)/.exec(text)
      if (found) resolve(found[1]!)
    })
  })
  return Object.assign(child, { url })
}

function closeOutput(child: Child): void {
  child.stdout!.destroy()
  child.stderr!.destroy()
}

const send = ({ url }: Child) =>
  call(url, { apiKey }, 'POST', '/v1/email/send', { to: 'maria@example.com', subject: 'Hello', text: 'It works.' })

describe.concurrent('a gateway whose output nobody reads any more', { timeout: 120_000 }, () => {
  test.each([0, 30])('ends by a SIGTERM that comes %d ms after its output was closed', async ms => {
    const child = await start()
    await send(child)
    const exited = once(child, 'exit')
    closeOutput(child)
    if (ms > 0) await sleep(ms)
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })

  test('goes on accepting and sending', async () => {
    const child = await start()
    closeOutput(child)
    for (let count = 0; count < 20; count++) {
      expect((await send(child)).status).toBe(202)
      await sleep(20)
    }
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })

  test('goes on, and ends, when the reader stops reading without closing', async () => {
    const child = await start({ LOG_LEVEL: 'trace' })
    child.stdout!.removeAllListeners('data').pause()
    for (let count = 0; count < 12; count++)
      for (const { status } of await Promise.all(Array.from({ length: 50 }, () => send(child))))
        expect(status).toBe(202)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })
})

/** Logs one line when told to stop, and has nothing else to do: no time passes between the line and the end. */
const LAST_LINE = `
  import { makeLog } from '${new URL('../../dist/platform/telemetry/log.js', import.meta.url)}'
  const log = makeLog({ level: 'info', pretty: false })
  const alive = setInterval(() => {}, 1000)
  process.once('SIGTERM', () => { log.info('Stopped'); HOW })
  console.error('ready')
`

test.each([
  ['by itself', 'clearInterval(alive)'],
  ['by process.exit', 'process.exit(0)'],
])('a last line that meets a closed output does not keep a process that ends %s', async (_how, statement) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', LAST_LINE.replace('HOW', statement)])
  atCleanUp(() => child.kill('SIGKILL'))
  await once(child.stderr, 'data')
  const exited = once(child, 'exit')
  child.stdout.destroy()
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

test('the last lines before the end are all written', async () => {
  const script = LAST_LINE.replace("log.info('Stopped')", "for (let n = 1; n <= 5000; n++) log.info('line ' + n)")
  const child = spawn(process.execPath, ['--input-type=module', '-e', script.replace('HOW', 'clearInterval(alive)')])
  let text = ''
  child.stdout.on('data', chunk => (text += chunk))
  await once(child.stderr, 'data')
  child.kill('SIGTERM')
  await once(child, 'close')
  const numbers = text
    .trimEnd()
    .split('\n')
    .map(line => Number(/line (\d+)/.exec(line)![1]))
  expect(numbers).toEqual(Array.from({ length: 5000 }, (_, index) => index + 1))
})
