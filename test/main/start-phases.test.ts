import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { call, until } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { atCleanUp, cleanUp, launchGateway, makeDataDir, runGateway, spawnGateway } from '../support/process.ts'
import { SHARED_SECRETS } from '../support/second-gateway.ts'

afterAll(cleanUp)

const MIGRATION_LOCK = 7_305_001

async function settings() {
  const database = await createTestDatabase()
  const proxy = await startPostgresProxy(database.url)
  atCleanUp(async () => {
    await proxy.close()
    await database.drop()
  })
  const env = {
    PORT: '0',
    DATABASE_URL: proxy.url,
    ADMIN_PASSWORD: 'a-password-for-tests',
    ...SHARED_SECRETS,
  }
  return { database, proxy, env }
}

describe.concurrent('a gateway that loses Postgres in the middle of its start', () => {
  test.each([
    ['the migrations', 'schema_migrations'],
    ['the partitions', 'ensure_email_partitions'],
    ['the administrator', 'administrators'],
    ['the providers', 'into providers'],
    ['its own entry among the workers', 'into workers'],
  ])('at %s: exits with 1 and a sentence, and never stays behind', async (_what, text) => {
    const { proxy, env } = await settings()
    proxy.cutAt(text)
    const ended = await runGateway(['start'], { env, patienceMs: 45_000 })
    expect(ended).toMatchObject({ code: 1, signal: null, stderr: expect.stringMatching(/^[^\n]+\n$/) })
    expect(ended.stderr).toMatch(/database|Migration/)
    expect(ended.stdout, 'nobody was invited').not.toContain('API at')
  })
})

describe.concurrent('a signal in the middle of a start', () => {
  test('while it waits for the answer of a Postgres that says nothing: exits with 0', async () => {
    const { proxy, env } = await settings()
    proxy.fallSilent()
    const gateway = launchGateway({ env })
    await until(
      async () => proxy.connections(),
      count => count > 0,
      30_000,
    )
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    expect(gateway.output()).toContain('SIGTERM: finishing')
  })

  test('a second one ends it at once', async () => {
    const { proxy, env } = await settings()
    proxy.fallSilent()
    const gateway = launchGateway({ env })
    await until(
      async () => proxy.connections(),
      count => count > 0,
      30_000,
    )
    gateway.signal('SIGINT')
    await gateway.printed(/SIGINT: finishing/)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 1, signal: null })
  })

  test('while it waits for its turn to migrate: exits with 0, and the next start works', async () => {
    const { database, env } = await settings()
    const other = new pg.Client({ connectionString: database.url })
    await other.connect()
    await other.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const waiting = async () =>
      (
        await other.query(`select from pg_locks where locktype = 'advisory' and objid = $1 and not granted`, [
          MIGRATION_LOCK,
        ])
      ).rowCount
    const gateway = launchGateway({ env })
    await until(waiting, count => count === 1, 30_000)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    await other.end()
    const next = await spawnGateway({ env })
    next.signal('SIGTERM')
    expect(await next.exited).toEqual({ code: 0, signal: null })
  })

  test('while the embedded database is being made: exits with 0 and leaves no server behind', async () => {
    const DATA_DIR = await makeDataDir()
    const gateway = launchGateway({ env: { DATA_DIR, PORT: '0' } })
    await until(
      async () => readdirSync(DATA_DIR),
      names => names.some(name => name.startsWith('postgres.new-')),
      30_000,
    )
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    expect(existsSync(join(DATA_DIR, 'postgres/postmaster.pid'))).toBe(false)
    expect(gateway.output()).not.toContain('API at')
  })
})

/** In the process of the gateway, told from outside when to happen. */
const failOnSignal = (statement: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${statement} })`)}`,
})

describe.concurrent('an error that nobody handles, while the gateway works', () => {
  test.each([
    ['a rejection', 'Promise.reject(new Error("unforeseen"))'],
    ['an exception', 'throw new Error("unforeseen")'],
  ])('%s stops it: the port is closed, the worker signed off, exit code 1', async (_what, statement) => {
    const { database, env } = await settings()
    const gateway = await spawnGateway({ env: { ...env, ...failOnSignal(statement) } })
    expect((await call(gateway.url, null, 'GET', '/health/ready')).status).toBe(200)
    gateway.signal('SIGUSR2')
    expect(await gateway.exited).toEqual({ code: 1, signal: null })
    expect(gateway.output()).toMatch(/"level":"fatal".*unforeseen/)
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    expect((await client.query('select from workers')).rowCount, 'it stopped in order').toBe(0)
    await client.end()
  })
})
