import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../support/certificates.ts'
import { call, until } from '../support/gateway.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { atCleanUp, cleanUp, makeDataDir, runCommand, runGateway, spawnGateway } from '../support/process.ts'
import { startStockPostgres } from '../support/stock-postgres.ts'
import type { StockPostgres } from '../support/stock-server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const SECRETS = { ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'ab'.repeat(32) }

let server: StockPostgres
let certificates: Certificates
let dataDir: string
beforeAll(async () => {
  // For the name, not for the address: whoever connects by the address cannot verify it.
  certificates = await makeCertificates('DNS:localhost')
  server = await startStockPostgres({
    settings: { ssl: 'on' },
    files: { 'server.crt': certificates.certificate, 'server.key': certificates.key },
    // As hosted servers have it: one database is open, all others demand SSL.
    access: [
      'host open all 127.0.0.1/32 scram-sha-256',
      'host postgres all 127.0.0.1/32 scram-sha-256',
      'hostssl all all 127.0.0.1/32 scram-sha-256',
    ],
  })
  atCleanUp(server.close)
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  for (const name of ['open', 'closed']) await admin.query(`create database ${name}`)
  await admin.end()
  dataDir = await makeDataDir()
})
afterAll(async () => {
  await cleanUp()
  await certificates?.remove()
})

const urlOf = (database: string, change: Partial<URL> = {}, parameters: Record<string, string> = {}) => {
  const url = Object.assign(new URL(server.url), { pathname: `/${database}`, ...change })
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}
const env = (url: string) => ({ DATABASE_URL: url, DATA_DIR: dataDir, PORT: '0', ...SECRETS })
const commandOn = (url: string, ...args: string[]) => runCommand(args, { env: env(url) })

/** What start and doctor say, in one line and without a stack, before they end with 1. */
async function refusal(url: string): Promise<string> {
  const [doctor, start] = await Promise.all([commandOn(url, 'doctor'), runGateway(['start'], { env: env(url) })])
  expect([doctor.code, start.code]).toEqual([1, 1])
  expect(start.stderr).toBe(doctor.stderr)
  expect(start.stderr.trim()).not.toContain('\n')
  return start.stderr
}

/** From the first migration to an e-mail that was sent, through the whole program. */
async function sendsThrough(url: string): Promise<void> {
  expect(await commandOn(url, 'migrate')).toMatchObject({ code: 0, stderr: '' })
  const created = await commandOn(url, 'company', 'create', `company-${Date.now()}`, '--json')
  expect(created).toMatchObject({ code: 0, stderr: '' })
  const { apiKey } = JSON.parse(created.stdout)
  const gateway = await spawnGateway({ env: env(url) })
  const body = { to: 'maria@example.com', subject: 'Hello', html: '<p>Hello</p>' }
  const { status, body: accepted } = await call(gateway.url, { apiKey }, 'POST', '/v1/email/send', body)
  expect({ status, accepted }).toMatchObject({ status: 202 })
  const isSent = async () =>
    (await call(gateway.url, { apiKey }, 'GET', `/v1/email/${accepted.outboxId}`)).body.status === 'SENT'
  await until(isSent, Boolean, 20_000)
  const doctor = await commandOn(url, 'doctor')
  expect(doctor.stdout).not.toContain('FAILED')
  expect(doctor.stdout).toMatch(/ok +database .*version \d+/)
  expect(doctor.stdout).toMatch(/ok +sessions +JIT off; statements end after 27 s, reads after 54 s/)
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toMatchObject({ code: 0 })
}

describe('PgBouncer', () => {
  test.each([
    { pool_mode: 'transaction', default_pool_size: 1 },
    { pool_mode: 'transaction', default_pool_size: 20 },
    { pool_mode: 'transaction', default_pool_size: 20, server_round_robin: 1 },
    { pool_mode: 'statement', default_pool_size: 20 },
  ])('is refused as %j, by name', async settings => {
    const bouncer = await startPgBouncer(server, settings)
    try {
      expect(await refusal(bouncer.url('open'))).toMatch(
        /a connection pooler in transaction mode \(PgBouncer, .*connect to Postgres directly, or set pool_mode = session/,
      )
    } finally {
      await bouncer.close()
    }
  })

  test('works in session mode, without ignore_startup_parameters', async () => {
    const bouncer = await startPgBouncer(server, { pool_mode: 'session', default_pool_size: 60 })
    try {
      await sendsThrough(bouncer.url('open'))
      expect(await refusal(bouncer.url('open').replace(server.password, 'wrong'))).toContain(
        'the user or the password is wrong',
      )
    } finally {
      await bouncer.close()
    }
  })
})

describe('SSL to Postgres', () => {
  test('that the server demands and DATABASE_URL does not is said, not taken for a wrong password', async () => {
    const said = await refusal(urlOf('closed'))
    expect(said).toMatch(/demands SSL .*Add sslmode=require/)
    expect(said).not.toMatch(/password/)
  })

  test('with sslmode=require encrypts, whoever signed the certificate', async () => {
    await sendsThrough(urlOf('closed', {}, { sslmode: 'require' }))
  })

  test('with sslmode=verify-full wants a certificate of a known authority for this very name', async () => {
    const verified = { sslmode: 'verify-full', sslrootcert: certificates.authorityFile }
    const unknown = await refusal(urlOf('closed', { hostname: 'localhost' }, { sslmode: 'verify-full' }))
    expect(unknown).toMatch(/certificate of localhost:\d+ could not be verified .*sslrootcert=FILE/)
    expect(await refusal(urlOf('closed', { hostname: '127.0.0.1' }, verified))).toMatch(
      /is for another host .*127\.0\.0\.1.* by a name that it has, or set sslmode=verify-ca/,
    )
    await sendsThrough(urlOf('closed', { hostname: 'localhost' }, verified))
  })

  test('with sslmode=verify-ca wants a known authority and takes any name', async () => {
    const parameters = { sslmode: 'verify-ca', sslrootcert: certificates.authorityFile }
    expect(await commandOn(urlOf('closed', {}, parameters), 'migrate')).toMatchObject({ code: 0, stderr: '' })
    const other = await makeCertificates('DNS:localhost')
    const said = await refusal(urlOf('closed', {}, { ...parameters, sslrootcert: other.authorityFile }))
    expect(said).toContain('could not be verified')
    await other.remove()
    expect(await refusal(urlOf('closed', {}, { ...parameters, sslrootcert: other.authorityFile }))).toMatch(
      /a file that it names cannot be read/,
    )
  })

  test('where the server has none is said', async () => {
    const plain = await startPgBouncer(server, { pool_mode: 'session' })
    expect(await refusal(`${plain.url('open')}?sslmode=require`)).toMatch(/sslmode demands SSL, and .* offers none/)
    await plain.close()
  })

  test('knows no mode that may fall back to plain text', async () => {
    expect(await refusal(urlOf('closed', {}, { sslmode: 'prefer' }))).toMatch(/sslmode must be one of disable, require/)
    expect(await refusal(urlOf('closed', {}, { sslmode: 'verify-ca' }))).toMatch(/verify-ca needs sslrootcert/)
  })
})

describe('a database that cannot be used is named in one precise sentence', () => {
  test('a wrong password', async () => {
    expect(await refusal(urlOf('open', { password: 'wrong' }))).toMatch(/the user or the password is wrong/)
  })

  test('a database that does not exist', async () => {
    expect(await refusal(urlOf('missing', {}, { sslmode: 'require' }))).toMatch(/"missing" does not exist.*Create it/)
  })

  test('a port on which nothing listens', async () => {
    expect(await refusal('postgres://postgres:x@127.0.0.1:9/open')).toMatch(/nothing listens at 127\.0\.0\.1:9/)
  })

  test('a host name that does not exist', async () => {
    expect(await refusal('postgres://postgres:x@no-such-host.invalid/open')).toMatch(/host name .* cannot be found/)
  })

  test('a server that does not answer', async () => {
    const proxy = await startTcpProxy(server.url)
    proxy.blackHole(true)
    expect(await refusal(proxy.url)).toMatch(/no answer from 127\.0\.0\.1:\d+ .*firewall/)
    await proxy.close()
  })
})
