import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { findFreePort } from '../../src/platform/postgres/embedded/system.ts'
import { startFakeSmtp } from '../support/fake-smtp.ts'
import { call, until } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import {
  atCleanUp,
  cleanUp,
  launchGateway,
  makeDataDir,
  runCommand,
  runGateway,
  type SpawnedGateway,
  spawnGateway,
} from '../support/process.ts'

afterAll(cleanUp)

const SECRETS = { ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'ab'.repeat(32) }
const MAIL = { to: 'maria@example.com', from: 'shop@acme.example', subject: 'Hello', text: 'It works.' }

async function prepareGateway() {
  const database = await createTestDatabase()
  atCleanUp(() => database.drop())
  const env = { DATABASE_URL: database.url, DATA_DIR: await makeDataDir(), PORT: '0', ...SECRETS }
  const created = await runCommand(['company', 'create', 'acme', '--from-domains', 'acme.example', '--json'], { env })
  const company = JSON.parse(created.stdout) as { apiKey: string }
  const nobody = `smtp://127.0.0.1:${await findFreePort()}`
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  atCleanUp(() => client.end())
  const count = async (sql: string) => (await client.query<{ n: number }>(sql)).rows[0]!.n
  return {
    env,
    smtp: { ...env, EMAIL_PROVIDER: 'smtp', SMTP_URL: nobody },
    client,
    send: (gateway: { url: string }, key = company) => call(gateway.url, key, 'POST', '/v1/email/send', MAIL),
    /** As when its processes have not reported for as long as they count. */
    untilFree: () =>
      until(
        () => count('select (held_until < now())::int as n from gateway_database'),
        n => n === 1,
        20_000,
      ),
    captured: () => count('select count(*)::int as n from capture_inbox'),
    statuses: async () =>
      (await client.query<{ status: string }>('select status from email_outbox')).rows.map(row => row.status),
  }
}

async function stopped(gateway: Pick<SpawnedGateway, 'signal' | 'exited'>): Promise<void> {
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
}

// Eight starts in a row.
test.concurrent('a process without EMAIL_PROVIDER captures nothing that was accepted for a real provider', {
  timeout: 120_000,
}, async () => {
  const { env, smtp, send, captured, statuses } = await prepareGateway()
  // Without a worker it stays ready, as behind a parked provider.
  const real = await spawnGateway({ env: smtp, role: 'api' })
  expect((await send(real)).status).toBe(202)

  const roles = ['all', 'api', 'worker']
  for (const beside of await Promise.all(roles.map(role => runGateway(['start', '--role', role], { env }))))
    expect(beside).toMatchObject({ code: 1, stderr: expect.stringMatching(/^EMAIL_PROVIDER is capture here .* smtp/) })
  await stopped(real)
  const after = await runGateway(['start'], { env })
  expect(after).toMatchObject({ code: 1, stderr: expect.stringContaining('--allow-capture') })
  expect(after.stderr).toMatch(/^[^\n]+\n$/)
  expect(await captured()).toBe(0)
  expect(await statuses()).toEqual(['PENDING'])

  const allowed = launchGateway({ env, args: ['--allow-capture'] })
  await until(captured, n => n === 1, 20_000)
  await stopped(allowed)
  // It was said once; from then on it is a database in capture mode.
  await stopped(await spawnGateway({ env }))
})

test.concurrent('a process with another provider refuses to start while others run, and says which setting differs', async () => {
  const { env, smtp, send, client, captured } = await prepareGateway()
  const before = await spawnGateway({ env })
  const refused = await runGateway(['start'], { env: smtp })
  expect(refused).toMatchObject({ code: 1, signal: null })
  expect(refused.stderr).toMatch(
    /^EMAIL_PROVIDER is smtp here and capture at all \S+:\d+: stop the processes that differ, and start this one again\. [^\n]+\n$/,
  )
  expect(refused.stdout).not.toMatch(/API at/)
  expect((await send(before)).status).toBe(202)
  await until(captured, n => n === 1)
  expect((await client.query('select role, pid from gateway_processes')).rows).toEqual([
    { role: 'all', pid: before.pid },
  ])

  await stopped(before)
  const next = await spawnGateway({ env: smtp })
  // Only who captures has an inbox to look at.
  expect(before.output()).toMatch(/API at .*captured e-mails at .*\/admin\/inbox/)
  expect(next.output()).not.toContain('/admin/inbox')
  await stopped(next)
  expect((await client.query('select from gateway_processes')).rows).toEqual([])
})

test.concurrent('a worker with the same provider and another relay refuses to start, says which setting differs, and takes no mail', async () => {
  const { env, smtp, send, statuses } = await prepareGateway()
  const relay = await startFakeSmtp()
  atCleanUp(() => relay.close())
  const before = await spawnGateway({ env: smtp, role: 'api' })
  expect((await send(before)).status).toBe(202)
  const elsewhere = { ...env, EMAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://127.0.0.1:${relay.port}` }
  expect(await runGateway(['start', '--role', 'worker'], { env: elsewhere })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^SMTP_URL leads to smtp@127\.0\.0\.1:\d+ here and to smtp@127\.0\.0\.1:\d+ at api /),
  })
  expect(await statuses()).toEqual(['PENDING'])
  await stopped(before)
  const next = await spawnGateway({ env: elsewhere, role: 'worker' })
  await until(statuses, found => found.join() === 'SENT', 20_000)
  await stopped(next)
})

test.concurrent('a killed process counts until its time is over, which the refusal says, and not for ever', async () => {
  const { env, smtp, untilFree } = await prepareGateway()
  const before = await spawnGateway({ env })
  before.signal('SIGKILL')
  await before.exited
  expect(await runGateway(['start'], { env: smtp })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('One that was killed counts for 15 seconds.'),
  })
  await untilFree()
  await stopped(await spawnGateway({ env: smtp }))
})

test.concurrent('a process that was suspended while another with other providers took over gives up', async () => {
  const { env, smtp, client, untilFree } = await prepareGateway()
  const before = await spawnGateway({ env })
  before.signal('SIGSTOP')
  await untilFree()
  const next = await spawnGateway({ env: smtp })
  before.signal('SIGCONT')
  expect(await before.exited).toEqual({ code: 1, signal: null })
  expect(before.errors()).toMatch(/^EMAIL_PROVIDER is capture here .* smtp/)
  const { rows } = await client.query('select pid from gateway_processes')
  expect(rows).toEqual([{ pid: next.pid }])
  await stopped(next)
})

test.concurrent('the recorded settings of a process hold no secret', async () => {
  const { env, client } = await prepareGateway()
  const secret = 'very-secret-word-of-somebody'
  const gateway = await spawnGateway({
    env: {
      ...env,
      EMAIL_PROVIDER: 'smtp,resend',
      SMTP_URL: `smtp://${secret}:${secret}@127.0.0.1:9?x=${secret}`,
      RESEND_API_KEY: secret,
      RESEND_BASE_URL: `http://${secret}:${secret}@127.0.0.1:9/api?x=${secret}`,
      PUBLIC_URL: `https://${secret}:${secret}@mail.example.com`,
      AWS_ENDPOINT_URL_SESV2: `http://${secret}:${secret}@127.0.0.1:9`,
      RESEND_WEBHOOK_SECRET: `whsec_${Buffer.from(secret).toString('base64')}`,
      ADMIN_PASSWORD: secret,
      SNS_RAW_DELIVERY_PASSWORD: `${secret}${secret}`,
    },
  })
  const { rows } = await client.query('select settings, providers from gateway_processes')
  expect(rows[0]).toMatchObject({
    providers: ['smtp', 'resend'],
    settings: {
      EMAIL_PROVIDER: ['smtp', 'resend'],
      SMTP_URL: 'smtp://127.0.0.1:9',
      RESEND_BASE_URL: 'http://127.0.0.1:9/api',
      PUBLIC_URL: 'https://mail.example.com',
      AWS_ENDPOINT_URL_SESV2: 'http://127.0.0.1:9',
      RESEND_WEBHOOK_SECRET: true,
    },
  })
  const text = JSON.stringify(rows)
  for (const hidden of [secret, SECRETS.HASH_PEPPER, Buffer.from(secret).toString('base64')])
    expect(text).not.toContain(hidden)
  await stopped(gateway)
})
