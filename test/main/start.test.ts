import { randomBytes, randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { startClients } from '../support/clients.ts'
import { call, until } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import {
  atCleanUp,
  BIN,
  cleanUp,
  launchGateway,
  launchShell,
  makeDataDir,
  makeDataDirWithCluster,
  readFirstStart,
  runCommand,
  runGateway,
  runShell,
  type SpawnedGateway,
  spawnGateway,
} from '../support/process.ts'
import { SEED } from '../support/seed.ts'

afterAll(cleanUp)

/** The full edition of the acceptance list: KILLS=20. A failing run is repeated with its SEED. */
const KILLS = Number(process.env.KILLS ?? 3)
const CLIENTS = 32

const SECRETS = { ENCRYPTION_KEY: randomBytes(32).toString('hex'), HASH_PEPPER: randomBytes(32).toString('hex') }

async function freshSettings(): Promise<{ PORT: string; DATA_DIR: string }> {
  return { PORT: '0', DATA_DIR: await makeDataDir() }
}

async function madeSettings(): Promise<{ PORT: string; DATA_DIR: string }> {
  return { PORT: '0', DATA_DIR: await makeDataDirWithCluster() }
}

async function show(gateway: { url: string }, apiKey: string, outboxId: string) {
  const answer = await call(gateway.url, { apiKey }, 'GET', `/v1/email/${outboxId}`)
  expect(answer.status).toBe(200)
  return answer.body
}

// Alone, since it counts time; everything below runs at the same time, since it waits a lot.
describe('the first start', () => {
  test('writes once what a newcomer needs, not into the log, and its curl sends an e-mail within a second', async () => {
    const env = await freshSettings()
    const gateway = await spawnGateway({ env })
    const { file, text } = await readFirstStart(env.DATA_DIR)
    expectWelcome(text)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(gateway.output()).toContain(file)
    for (const secret of [gateway.apiKey, gateway.adminPassword]) expect(gateway.output()).not.toContain(secret)
    for (const line of gateway.output().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('message')
    expect(gateway.errors()).toBe('')

    const answer = await pasteInShell(curlIn(text))
    expect(answer.status).toBe(202)
    expect(answer.body).toMatchObject({ status: 'QUEUED', jobId: answer.body.outboxId })
    const { outboxId } = answer.body
    const email = await until(
      () => show(gateway, gateway.apiKey, outboxId),
      ({ status }) => status === 'SENT',
    )
    expect(Date.parse(email.sentAt) - Date.parse(email.createdAt)).toBeLessThan(1_000)
    const types = email.events.map((event: { type: string }) => event.type)
    expect(types).toEqual(['QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'SENT'])
    expect(await inbox(gateway, gateway.adminPassword)).toMatchObject([{ outboxId }])

    const [, token] = new RegExp(`^${gateway.url}/admin/sign-in#token=(\\S+)$`, 'm').exec(text)!
    expect(gateway.output()).not.toContain(token)
    const byLink = () => call(gateway.url, null, 'POST', '/admin/session/link', { token })
    expect([(await byLink()).status, (await byLink()).status]).toEqual([204, 401])

    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    await startsAgainWithoutSecrets(env, gateway, outboxId)
  })

  async function startsAgainWithoutSecrets(env: Record<string, string>, first: SpawnedGateway, outboxId: string) {
    const second = await spawnGateway({ env })
    await call(second.url, null, 'GET', '/health/live')
    expect(second.output()).not.toMatch(/sk_live_|Password|Welcome|curl/)
    expect(await show(second, first.apiKey, outboxId)).toMatchObject({ status: 'SENT' })
    expect(await inbox(second, first.adminPassword)).toMatchObject([{ outboxId }])
    second.signal('SIGTERM')
    await second.exited
    expect(second.output()).not.toMatch(/sk_live_|Password|Welcome|curl/)
  }

  test('prints it on a terminal, and writes no file', async () => {
    const env = await madeSettings()
    const command = `${process.execPath} ${BIN} start`
    const terminal = launchShell(`script --quiet --return --flush --command '${command}' /dev/null`, { env })
    await terminal.printed(/look at it[\s\S]*API at /)
    const text = terminal.output().replaceAll('\r', '')
    expectWelcome(text)
    const [, apiKey] = /API key +(sk_live_\w+)/.exec(text)!
    const url = /API at (http:\/\/[^\s,]+)/.exec(text)![1]!
    expect(await call(url, { apiKey: apiKey! }, 'GET', '/v1/emails')).toMatchObject({ status: 200 })
    expect((await readFirstStart(env.DATA_DIR)).text).toBe('')
    terminal.signal('SIGTERM', 'group')
    await terminal.exited
  })

  function expectWelcome(text: string): void {
    expect(text).toMatch(/^ {2}Company +demo$/m)
    expect(text).toMatch(/^ {2}API key +sk_live_[0-9a-z]{16}_\w+$/m)
    expect(text).toMatch(/^ {2}Administrator +admin$/m)
    expect(text).toMatch(/^ {2}Password +\S{16,}$/m)
  }

  function curlIn(text: string): string {
    return /^curl[^\n]*\\\n[^\n]*$/m.exec(text)![0]
  }

  /** The command as it was printed; curl reads from its own file that the status is wanted, too. */
  async function pasteInShell(command: string) {
    expect((await runShell('command -v curl')).stdout, 'curl must be installed to run this test').not.toBe('')
    const home = await makeDataDir()
    await writeFile(join(home, '.curlrc'), 'write-out = "\\n%{http_code}"\n')
    const { stdout, stderr, code } = await runShell(command, { env: { CURL_HOME: home } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [body, status] = stdout.split('\n')
    return { status: Number(status), body: JSON.parse(body!) }
  }

  async function inbox({ url }: { url: string }, password: string) {
    const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
    return (await call(url, null, 'GET', '/admin/inbox', undefined, { authorization })).body.data
  }
})

test.concurrent('logs are JSON lines when nobody watches at a terminal, and hold no address in clear', async () => {
  const env = await madeSettings()
  const first = await spawnGateway({ env })
  first.signal('SIGTERM')
  await first.exited
  const gateway = await spawnGateway({ env: { ...env, LOG_LEVEL: 'trace' } })
  const { apiKey } = first
  const send = (body: unknown) => call(gateway.url, { apiKey }, 'POST', '/v1/email/send', body)
  const hello = { subject: 'Hello', text: 'It works.' }
  const sent = await send({
    ...hello,
    to: 'Private Person <private.person@example.com>',
    cc: ['cc.person@example.com'],
  })
  const bounced = await send({ ...hello, to: 'bounce@simulator.test' })
  expect((await send({ ...hello, to: 'broken.person@@example.com' })).status).toBe(422)
  await call(gateway.url, { apiKey }, 'GET', '/v1/emails?recipient=private.person@example.com')
  await call(gateway.url, { apiKey }, 'GET', '/no-such-route/private.person@example.com')
  await until(
    () => show(gateway, apiKey, sent.body.outboxId),
    ({ status }) => status === 'SENT',
  )
  await until(
    () => show(gateway, apiKey, bounced.body.outboxId),
    ({ status }) => status === 'BOUNCED',
  )
  gateway.signal('SIGTERM')
  await gateway.exited
  const lines = gateway.output().trimEnd().split('\n')
  expect(lines.length).toBeGreaterThan(5)
  for (const line of lines) {
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), timestamp: expect.any(String) })
  }
  expect(gateway.output()).toContain(sent.body.outboxId)
  expect(gateway.output()).not.toMatch(/person@|bounce@simulator/)
  expect(gateway.errors()).toBe('')
})

describe.concurrent('stopping', () => {
  test.each([
    { signal: 'SIGTERM', whom: 'process' },
    { signal: 'SIGINT', whom: 'group' },
  ] as const)(
    '$signal to the $whom under load exits 0, and every 202 is kept and sent after a restart',
    async ({ signal, whom }) => {
      const env = await madeSettings()
      const gateway = await spawnGateway({ env })
      const { url, apiKey } = gateway
      const clients = startClients({ url, apiKey, count: CLIENTS, random: Math.random })
      await until(
        async () => clients.accepted.size,
        size => size > 3 * CLIENTS,
      )
      gateway.signal(signal, whom)
      expect(await gateway.exited).toEqual({ code: 0, signal: null })
      expect(gateway.output()).not.toMatch(/"level":"(error|fatal)"/)
      expect(gateway.errors()).toBe('')
      expect(existsSync(join(env.DATA_DIR, 'postgres/postmaster.pid')), 'the embedded Postgres is stopped').toBe(false)
      await clients.stop()
      expect(clients.unexpected).toEqual([])

      const next = await spawnGateway({ env })
      await expectEachSentOnce(env, clients.accepted)
      next.signal('SIGTERM')
      expect(await next.exited).toEqual({ code: 0, signal: null })
    },
  )

  test('a client that never finishes its request does not keep SIGTERM from ending the gateway', {
    timeout: 90_000,
  }, async () => {
    const gateway = await spawnGateway({ env: await madeSettings() })
    stallWithHalfABody(gateway)
    await sleep(200)
    gateway.signal('SIGTERM')
    const late = sleep(45_000, 'still running 45 s after SIGTERM', { ref: false })
    expect(await Promise.race([gateway.exited, late])).toEqual({ code: 0, signal: null })
  })

  test('a signal that comes as soon as the gateway listens drains as well', async () => {
    const port = await freePort()
    const DATA_DIR = await makeDataDirWithCluster()
    const gateway = launchGateway({ env: { DATA_DIR, PORT: String(port) } })
    const asksReady = () => fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null)
    await until(asksReady, answer => answer?.status === 200, 30_000)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    expect(existsSync(join(DATA_DIR, 'postgres/postmaster.pid')), 'the embedded Postgres is stopped').toBe(false)
  })

  test('a second signal ends at once what a stalled client holds up, and the next start works', async () => {
    const env = await madeSettings()
    const gateway = await spawnGateway({ env })
    stallWithHalfABody(gateway)
    await sleep(200)
    gateway.signal('SIGTERM')
    await until(
      async () => gateway.output(),
      text => /SIGTERM: finishing/.test(text),
    )
    const asked = Date.now()
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toMatchObject({ signal: null })
    expect(Date.now() - asked).toBeLessThan(3_000)
    const pidFile = join(env.DATA_DIR, 'postgres/postmaster.pid')
    await until(
      async () => existsSync(pidFile),
      running => !running,
    )
    const next = await spawnGateway({ env })
    next.signal('SIGTERM')
    expect(await next.exited).toEqual({ code: 0, signal: null })
  })
})

test.concurrent(`killed with SIGKILL ${KILLS} times while ${CLIENTS} clients send, every 202 exists once and is sent once`, {
  timeout: 60_000 + KILLS * 5_000,
}, async () => {
  console.log(`KILLS=${KILLS} SEED=${SEED}`)
  const random = seeded(SEED)
  const env = { DATA_DIR: await makeDataDirWithCluster(), PORT: String(await freePort()) }
  let gateway: Pick<SpawnedGateway, 'signal' | 'exited'> = await spawnGateway({ env })
  const { url, apiKey } = gateway as SpawnedGateway
  // The capture inbox keeps 10 000: the more kills, the more pauses.
  const clients = startClients({ url, apiKey, count: CLIENTS, random, pauseMs: KILLS, repeat: true })
  for (let kill = 1; kill <= KILLS; kill++) {
    // Every third one may die while it is still starting.
    if (kill % 3 !== 0) await untilOneMoreAccepted(clients.accepted)
    await sleep(random() * 700)
    gateway.signal('SIGKILL')
    expect(await gateway.exited).toEqual({ code: null, signal: 'SIGKILL' })
    gateway = kill === KILLS ? await spawnGateway({ env }) : launchGateway({ env })
  }
  await untilOneMoreAccepted(clients.accepted)
  await clients.stop()
  expect(clients.unexpected).toEqual([])
  const rows = await expectEachSentOnce(env, clients.accepted)
  console.log(`${clients.accepted.size} answered with 202, ${rows} kept and sent`)
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
})

test.concurrent('killed with SIGKILL during its first start, it starts again and still shows a key that works', async () => {
  console.log(`first start: SEED=${SEED}`)
  const random = seeded(SEED)
  const env = await freshSettings()
  for (let kill = 1; kill <= 3; kill++) {
    const gateway = launchGateway({ env })
    await sleep(random() * 1_200)
    gateway.signal('SIGKILL')
    await gateway.exited
  }
  const gateway = await spawnGateway({ env })
  const { apiKey } = gateway
  const body = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
  expect((await call(gateway.url, { apiKey }, 'POST', '/v1/email/send', body)).status).toBe(202)
})

async function untilOneMoreAccepted(accepted: Map<string, string>): Promise<void> {
  const before = accepted.size
  await until(
    async () => accepted.size,
    size => size > before,
    20_000,
  )
}

/** Every 202 has its row; every row, also one whose answer was lost, was sent once. Answers the number of rows. */
async function expectEachSentOnce(env: Record<string, string>, accepted: Map<string, string>): Promise<number> {
  const { stdout } = await runGateway(['db', 'url', '--json'], { env })
  const client = new pg.Client({ connectionString: JSON.parse(stdout).url })
  await client.connect()
  try {
    const query = async (sql: string) => (await client.query(sql)).rows
    await until(
      () => query(`select status, count(*)::int from email_outbox where status <> 'SENT' group by status`),
      rows => rows.length === 0,
      30_000,
    )
    const rows = await query(`select external_id, outbox_id from email_outbox`)
    const kept = new Map(rows.map(row => [row.external_id as string, row.outbox_id as string]))
    expect(kept.size, 'no e-mail exists twice').toBe(rows.length)
    const lost = [...accepted].filter(([externalId, outboxId]) => kept.get(externalId) !== outboxId)
    expect(lost, 'no 202 without its row').toEqual([])
    const notOnce = await query(
      `select o.outbox_id, captured.count as captured, sent.count as sent, queued.count as queued from email_outbox o,
       lateral (select count(*)::int from capture_inbox c where c.outbox_id = o.outbox_id) captured,
       lateral (select count(*)::int from email_events e where e.outbox_id = o.outbox_id and type = 'SENT') sent,
       lateral (select count(*)::int from email_events e where e.outbox_id = o.outbox_id and type = 'QUEUED') queued
       where (captured.count, sent.count, queued.count) is distinct from (1, 1, 1)`,
    )
    expect(notOnce, 'captured once, with one QUEUED and one SENT').toEqual([])
    return rows.length
  } finally {
    await client.end()
  }
}

test.concurrent('kept apart by role, the api accepts and the worker sends', async () => {
  const database = await createTestDatabase()
  atCleanUp(() => database.drop())
  const env = { PORT: '0', DATA_DIR: await makeDataDir(), DATABASE_URL: database.url, ...SECRETS }
  const created = await runCommand(['company', 'create', 'acme', '--json'], { env })
  const { apiKey } = JSON.parse(created.stdout)
  const api = await spawnGateway({ env, role: 'api' })
  expect(api.output()).not.toMatch(/sk_live_|Welcome/)
  const body = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
  const answer = await call(api.url, { apiKey }, 'POST', '/v1/email/send', body)
  expect(answer.status).toBe(202)
  await sleep(600)
  const { outboxId } = answer.body
  expect(await show(api, apiKey, outboxId)).toMatchObject({ status: 'PENDING', events: [{ type: 'QUEUED' }] })
  const worker = await spawnGateway({ env, role: 'worker' })
  expect(worker.url).toBe('')
  await until(
    () => show(api, apiKey, outboxId),
    ({ status }) => status === 'SENT',
  )
  for (const gateway of [worker, api]) {
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
  }
})

describe.concurrent('what cannot start says so in one sentence and exits 1', () => {
  test('a second gateway on the same DATA_DIR names the pid of the first, which goes on', async () => {
    const env = await madeSettings()
    const first = await spawnGateway({ env })
    const sentence = await refusal(env)
    expect(sentence).toContain('DATA_DIR')
    expect(sentence).toContain(`pid ${first.pid}`)
    const body = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
    expect((await call(first.url, first, 'POST', '/v1/email/send', body)).status).toBe(202)
    first.signal('SIGTERM')
    expect(await first.exited).toEqual({ code: 0, signal: null })
  })

  test('a taken port names PORT', async () => {
    const taken = await listen(0)
    const { port } = taken.address() as { port: number }
    const DATA_DIR = await makeDataDirWithCluster()
    const sentence = await refusal({ DATA_DIR, PORT: String(port) })
    expect(sentence).toContain('PORT')
    expect(sentence).toContain(String(port))
    // The next start cannot show the key again.
    expect((await readFirstStart(DATA_DIR)).text).toContain(`curl -sS http://127.0.0.1:${port}/v1/email/send`)
  })

  test('a HOST that does not exist names HOST', async () => {
    const sentence = await refusal({ ...(await madeSettings()), HOST: 'no-such-host.invalid' })
    expect(sentence).toContain('HOST')
    expect(sentence).not.toContain('DATABASE_URL')
  })

  test('a DATA_DIR that is a file names DATA_DIR', async () => {
    const file = join(await makeDataDir(), 'file')
    await writeFile(file, '')
    expect(await refusal({ PORT: '0', DATA_DIR: file })).toContain('DATA_DIR')
  })

  test.each([
    ['empty', ''],
    ['incomplete', '{}'],
  ])('a secrets.json that is %s is named', async (_what, content) => {
    const DATA_DIR = await makeDataDir()
    await writeFile(join(DATA_DIR, 'secrets.json'), content)
    expect(await refusal({ PORT: '0', DATA_DIR })).toContain('secrets.json')
  })

  test.each([
    ['nobody listens there', () => 'postgres://u:secret-word@127.0.0.1:1/gateway'],
    ['the host is unknown', () => 'postgres://u:secret-word@no-such-host.invalid/gateway'],
    ['the password is wrong', () => changed(url => (url.password = 'secret-word'))],
    ['the user is unknown', () => changed(url => (url.username = 'nobody-at-all'))],
    ['the database does not exist', () => changed(url => (url.pathname = '/no_such_database'))],
    ['it is of another kind', () => 'mysql://u:secret-word@127.0.0.1:3306/gateway'],
    ['it cannot be read', () => 'postgres://u:secret-word@127.0.0.1:port/gateway'],
  ])('a DATABASE_URL is refused by name, without its password, when %s', async (_why, url) => {
    const sentence = await refusal({ ...(await freshSettings()), ...SECRETS, DATABASE_URL: url() })
    expect(sentence).toContain('DATABASE_URL')
    expect(sentence).not.toContain('secret-word')
  })

  test('all bad settings are named in the one sentence, without their values', async () => {
    const bad = {
      PORT: 'abc',
      LOG_LEVEL: 'loud',
      EMAIL_PROVIDER: 'x',
      ENCRYPTION_KEY: 'tooshort',
      HASH_PEPPER: 'tooshort',
      EMAIL_FROM: 'nonsense',
      ADMIN_PASSWORD: 'tooshort',
      PUBLIC_URL: 'ftp://example.com',
      WORKER_CONCURRENCY: '0',
      RETRY_POLICY: 'sometimes',
    }
    const sentence = await refusal({ ...(await freshSettings()), ...bad })
    for (const [name, value] of Object.entries(bad)) {
      expect(sentence).toContain(name)
      if (value.length > 3) expect(sentence).not.toContain(value)
    }
  })

  test('a DATABASE_URL without the secrets that processes share names both', async () => {
    const sentence = await refusal({ ...(await freshSettings()), DATABASE_URL: inject('postgresUrl') })
    expect(sentence).toContain('ENCRYPTION_KEY')
    expect(sentence).toContain('HASH_PEPPER')
  })

  function changed(change: (url: URL) => void): string {
    const url = new URL(inject('postgresUrl'))
    change(url)
    return url.href
  }

  async function refusal(env: Record<string, string>): Promise<string> {
    const { code, signal, stdout, stderr } = await runGateway(['start'], { env, patienceMs: 15_000 })
    expect({ code, signal, stderr }).toEqual({ code: 1, signal: null, stderr: expect.stringMatching(/^[^\n]+\n$/) })
    expect(stdout + stderr).not.toMatch(/\n\s+at |"stack"/)
    expect(stderr).not.toMatch(/^\w*Error\b/)
    return stderr
  }
})

function stallWithHalfABody({ url, apiKey }: SpawnedGateway): void {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  atCleanUp(() => socket.destroy())
  socket.write(
    `POST /v1/email/send HTTP/1.1\r\nHost: gateway\r\nX-API-Key: ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"to":`,
  )
}

/** Below the ports that outgoing connections get, so that no client's own socket takes it while the gateway is down. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 20_000)
    const server = await listen(port).catch(() => undefined)
    if (!server) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
    atCleanUp(() => server.close())
  })
}

/** mulberry32: the same moments again for the same seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
