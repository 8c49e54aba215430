import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { findIdleTransaction } from '../../src/operations/doctor/database.ts'
import { findFreePort } from '../../src/platform/postgres/embedded/system.ts'
import { startFakeResend } from '../support/fake-resend.ts'
import { startFakeSes } from '../support/fake-ses.ts'
import { startFakeSmtp } from '../support/fake-smtp.ts'
import { call } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { atCleanUp, cleanUp, makeDataDir, runCommand, spawnGateway } from '../support/process.ts'

afterAll(cleanUp)

type Check = { name: string; state: string; detail: string }

async function prepareGateway() {
  const database = await createTestDatabase()
  atCleanUp(() => database.drop())
  const secrets = { ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'ab'.repeat(32) }
  const env = { DATABASE_URL: database.url, DATA_DIR: await makeDataDir(), PORT: '0', ...secrets }
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  atCleanUp(() => client.end())
  return { env, client }
}

async function examine(env: Record<string, string>, ...options: string[]): Promise<Check[]> {
  const { stdout, stderr } = await runCommand(['doctor', '--json', ...options], { env })
  expect(stderr).toBe('')
  return JSON.parse(stdout).checks
}

const named = (checks: Check[], name: string) => checks.filter(check => check.name === name)

test.concurrent('a function that somebody has changed in the database is named, and migrate puts it back', async () => {
  const { env, client } = await prepareGateway()
  await runCommand(['migrate'], { env })
  expect(named(await examine(env), 'functions')).toEqual([])
  await client.query(
    `create or replace function uuid_v7_floor(p_at timestamptz) returns uuid language sql immutable as 'select gen_random_uuid()'`,
  )
  expect(named(await examine(env), 'functions')).toEqual([
    { name: 'functions', state: 'warning', detail: expect.stringMatching(/: uuid_v7_floor; .*email-gateway migrate$/) },
  ])
  const { stdout } = await runCommand(['migrate'], { env })
  expect(stdout).toContain('Migrations applied: functions/uuid_v7.sql')
  expect(named(await examine(env), 'functions')).toEqual([])
})

test.concurrent('from a shell without the settings, doctor, explain and send know those of the running gateway', async () => {
  const { env, client } = await prepareGateway()
  const created = await runCommand(['company', 'create', 'acme', '--json'], { env })
  const company = JSON.parse(created.stdout) as { apiKey: string }
  const smtp = {
    ...env,
    EMAIL_PROVIDER: 'smtp',
    SMTP_URL: `smtp://user:word@127.0.0.1:${await findFreePort()}`,
    EMAIL_FROM: 'shop@acme.example',
    LINK_SCHEMES: 'myapp',
  }
  const gateway = await spawnGateway({ env: smtp, role: 'api' })
  await client.query(
    `insert into providers (name, state, opened_at, reason_code, reason, probe_at)
     values ('smtp', 'open', now(), 'ECONNREFUSED', 'nobody answers', now() + interval '1 minute')`,
  )
  const accepted = await call(gateway.url, company, 'POST', '/v1/email/send', {
    to: 'maria@example.com',
    subject: 'Hello',
    text: 'It works.',
  })
  expect(accepted.status).toBe(202)

  const checks = await examine(env)
  expect(named(checks, 'settings')).toEqual([
    {
      name: 'settings',
      state: 'ok',
      detail: expect.stringMatching(
        /^provider smtp; lane direct, as recorded by the running gateway; this shell differs in EMAIL_PROVIDER/,
      ),
    },
  ])
  expect(named(checks, 'processes')).toEqual([
    { name: 'processes', state: 'ok', detail: expect.stringMatching(new RegExp(`^api \\S+:${gateway.pid} \\(`)) },
  ])
  expect(named(checks, 'provider')).toEqual([
    { name: 'provider', state: 'failed', detail: expect.stringMatching(/^smtp parked .*ECONNREFUSED/) },
  ])
  expect(named(checks, 'workers')).toMatchObject([
    { state: 'failed', detail: expect.stringMatching(/email-gateway start --role worker$/) },
  ])
  const explained = await runCommand(['email', 'explain', accepted.body.outboxId], { env })
  expect(explained.stdout).toMatch(/^Held: provider smtp parked/)
  const foreign = ['send', '--company', 'acme', '--to', 'maria@example.com', '--subject', 'x', '--text', 'x']
  const refused = await runCommand([...foreign, '--from', 'any@other.example'], { env })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('sender domains') })
  expect(await runCommand([...foreign, '--html', '<a href="myapp:x">x</a>'], { env })).toMatchObject({ code: 0 })
  const { rows } = await client.query(`select distinct from_address as from from email_outbox`)
  expect(rows).toEqual([{ from: expect.stringContaining('shop@acme.example') }])

  gateway.signal('SIGTERM')
  await gateway.exited
  const after = await examine(env)
  expect(named(after, 'settings')).toEqual([
    {
      name: 'settings',
      state: 'failed',
      detail: expect.stringMatching(/^EMAIL_PROVIDER is capture in this shell, .* smtp/),
    },
  ])
  expect(named(after, 'provider')).toMatchObject([{ state: 'failed', detail: expect.stringMatching(/^smtp parked/) }])
})

test.concurrent('processes that differ in what they should share are named', async () => {
  const { env } = await prepareGateway()
  const smtp = { ...env, EMAIL_PROVIDER: 'smtp', SMTP_URL: 'smtp://127.0.0.1:9' }
  const one = await spawnGateway({ env: smtp, role: 'api' })
  const two = await spawnGateway({ env: { ...smtp, EMAIL_FROM: 'shop@acme.example' }, role: 'api' })
  const [, ...warnings] = named(await examine(smtp), 'processes')
  expect(warnings).toMatchObject([{ state: 'warning', detail: expect.stringMatching(/ differ in EMAIL_FROM$/) }])
  for (const gateway of [two, one]) gateway.signal('SIGTERM')
})

test.concurrent('a session that is idle in its transaction is found with its pid and its program', async () => {
  const { env, client } = await prepareGateway()
  expect(await findIdleTransaction(client)).toBeNull()
  const idle = new pg.Client({ connectionString: env.DATABASE_URL, application_name: 'a-report' })
  await idle.connect()
  atCleanUp(() => idle.end())
  await idle.query('begin')
  const { rows } = await idle.query('select pg_backend_pid() as pid')
  expect(await findIdleTransaction(client)).toMatchObject({ pid: rows[0].pid, application: 'a-report' })
  expect(named(await examine(env), 'locks')).toMatchObject([{ state: 'ok' }])
})

test.concurrent('.env of the working directory is read by start and every command, which say so', async () => {
  const { env } = await prepareGateway()
  const cwd = await makeDataDir()
  const file = { ...env, EMAIL_PROVIDER: 'smtp', SMTP_URL: 'smtp://127.0.0.1:9', LOG_LEVEL: 'info', REDIS_URL: '' }
  await writeFile(
    join(cwd, '.env'),
    Object.entries(file)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
  const settings = async (own: Record<string, string>) => {
    const { stdout, stderr } = await runCommand(['doctor', '--json'], { cwd, env: own })
    expect(stderr).toBe(`Settings are read from ${join(cwd, '.env')}\n`)
    return named(JSON.parse(stdout).checks, 'settings')[0]!.detail
  }
  expect(await settings({})).toContain('provider smtp')
  // What is set in the environment itself wins.
  expect(await settings({ EMAIL_PROVIDER: 'capture' })).toContain('provider capture')

  const gateway = await spawnGateway({ cwd, env: { DATABASE_URL: env.DATABASE_URL } })
  expect(gateway.output()).toContain(`Settings are read from ${join(cwd, '.env')}`)
  expect(gateway.output()).toMatch(/Provider: smtp/)
  gateway.signal('SIGTERM')
  await gateway.exited
})

test.concurrent('doctor --probe connects to each provider and logs in, and sends nothing', async () => {
  const { env } = await prepareGateway()
  const smtp = await startFakeSmtp({ users: { someone: 'right' } })
  const resend = await startFakeResend({ apiKey: 're_right' })
  const ses = await startFakeSes()
  atCleanUp(() => Promise.all([smtp.close(), resend.close(), ses.close()]))
  const all = {
    ...env,
    EMAIL_PROVIDER: 'ses,resend,smtp',
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL_SESV2: ses.url,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    RESEND_API_KEY: 're_right',
    RESEND_BASE_URL: resend.url,
    SMTP_URL: `smtp://someone:right@127.0.0.1:${smtp.port}`,
  }
  expect(named(await examine(all, '--probe'), 'probe')).toEqual([
    { name: 'probe', state: 'ok', detail: expect.stringMatching(/^ses: the account answers/) },
    { name: 'probe', state: 'ok', detail: 'resend: the API key is accepted' },
    { name: 'probe', state: 'ok', detail: 'smtp: the relay answers and accepts the login' },
  ])
  ses.control({ account: { SendingEnabled: false } })
  const wrong = {
    ...all,
    RESEND_API_KEY: 're_wrong',
    SMTP_URL: `smtp://someone:wrong@127.0.0.1:${smtp.port}`,
  }
  const failed = named(await examine(wrong, '--probe'), 'probe')
  expect(failed).toMatchObject([
    { state: 'failed', detail: expect.stringMatching(/^ses: Sending is switched off/) },
    { state: 'failed', detail: expect.stringMatching(/^resend: invalid_api_key/) },
    { state: 'failed', detail: expect.stringMatching(/^smtp: .*(535|login)/i) },
  ])
  expect(JSON.stringify(failed)).not.toMatch(/re_wrong|someone:wrong/)
  expect([smtp.deliveries, resend.accepted, ses.accepted]).toEqual([[], [], []])
  expect(named(await examine(env, '--probe'), 'probe')).toMatchObject([{ state: 'ok' }])
})
