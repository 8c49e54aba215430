import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { createTestDatabase } from '../support/postgres.ts'
import { atCleanUp, cleanUp, makeDataDir, runCommand } from '../support/process.ts'

afterAll(cleanUp)

const ID = '01920000-0000-7000-8000-000000000000'
const SECRETS = { ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'ab'.repeat(32) }
async function execute(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return (await client.query(sql).finally(() => client.end())).rows
}

let made = 0

async function emptyDatabase(): Promise<string> {
  const admin = inject('postgresUrl')
  const name = `unmigrated_${process.pid}_${++made}`
  await execute(admin, `create database ${name}`)
  atCleanUp(() => execute(admin, `drop database ${name} with (force)`))
  const url = new URL(admin)
  url.pathname = `/${name}`
  return url.href
}

/** Each command finds it out in the same place: src/console/no-gateway.test.ts tries all of them. */
const SOME = [['doctor'], ['email', 'explain', ID], ['company', 'create', 'acme'], ['db', 'url']]

async function eachFails(commands: string[][], env: Record<string, string>, sentence: RegExp, cwd?: string) {
  for (const command of commands) {
    const { code, stdout, stderr } = await runCommand(command, { env, ...(cwd && { cwd }) })
    expect({ command, code, stdout, stderr }).toEqual({
      command,
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(sentence),
    })
  }
}

describe.concurrent('every command but start and migrate', () => {
  test('makes no data folder, and says what to run', async () => {
    const cwd = await makeDataDir()
    await eachFails(SOME, {}, /^There is no gateway in .*\/\.data yet: start it .*email-gateway migrate\. .*\n$/, cwd)
    // Neither where the secrets are given, so that nothing has to be read from the folder.
    await eachFails([['doctor']], SECRETS, /^There is no gateway in .*\/\.data yet: .*\n$/, cwd)
    expect(await readdir(cwd)).toEqual([])
  })

  test('leaves an empty database empty, and says what to run', async () => {
    const url = await emptyDatabase()
    const env = { DATABASE_URL: url, DATA_DIR: await makeDataDir(), ...SECRETS }
    await eachFails(SOME, env, /^The database is empty: run email-gateway migrate, or start the gateway\.\n$/)
    expect(await execute(url, `select from pg_class where relnamespace = 'public'::regnamespace`)).toEqual([])
  })

  test('leaves an older database as it is, and says what to run', async () => {
    const { url, drop } = await createTestDatabase()
    atCleanUp(drop)
    const newest = `(select max(version) from schema_migrations)`
    await execute(url, `delete from schema_migrations where version = ${newest}`)
    const before = await execute(url, 'select * from schema_migrations')
    const env = { DATABASE_URL: url, DATA_DIR: await makeDataDir(), ...SECRETS }
    await eachFails(
      SOME,
      env,
      /^The database is at schema version \d+ and this program needs \d+: stop .*email-gateway migrate/,
    )
    expect(await execute(url, 'select * from schema_migrations')).toEqual(before)
  })
})

test('the first migrate says what it applied, and the next one that there was nothing to do', async () => {
  const env = { DATABASE_URL: await emptyDatabase(), DATA_DIR: await makeDataDir(), ...SECRETS }
  const first = await runCommand(['migrate'], { env })
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(/^Migrations applied: 0001_\w+\.sql, .*\nUp to date: Postgres at .*\n$/)
  expect((await runCommand(['migrate'], { env })).stdout).toMatch(/^Up to date: Postgres at .*\n$/)
})

describe.concurrent('in a shell that has the address of the database and no secrets,', () => {
  async function shell() {
    const { url, drop } = await createTestDatabase()
    atCleanUp(drop)
    const env = { DATABASE_URL: url, DATA_DIR: await makeDataDir() }
    expect(await runCommand(['company', 'create', 'acme'], { env: { ...env, ...SECRETS } })).toMatchObject({ code: 0 })
    return env
  }

  test('what only reads works, and doctor says that it did not check the secrets', async () => {
    const env = await shell()
    const found = [
      ['company', 'list'],
      ['key', 'list'],
      ['admin', 'list'],
      ['email', 'list'],
      ['dlq', 'list'],
      ['webhook', 'list'],
      ['suppression', 'check', 'maria@example.com'],
      ['db', 'url'],
    ]
    for (const command of found) {
      const { code, stderr } = await runCommand(command, { env })
      expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' })
    }
    expect((await runCommand(['admin', 'list'], { env })).stdout).toBe('No administrators.\n')
    for (const [name, action] of [
      ['email', 'show'],
      ['email', 'explain'],
      ['dlq', 'show'],
    ] as const)
      expect((await runCommand([name, action, ID], { env })).stderr).toMatch(/^There is no (e-mail|dead letter) 0192/)
    const { stdout, stderr } = await runCommand(['doctor', '--json'], { env })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout).checks).toContainEqual({
      name: 'secrets',
      state: 'warning',
      detail: 'not checked: ENCRYPTION_KEY and HASH_PEPPER not set in this shell',
    })
  })

  test('what writes asks for the secrets of this database, and only who may make a database is told how to make some', async () => {
    const env = await shell()
    const writing = [
      ['company', 'create', 'other'],
      ['key', 'create', '--company', 'acme'],
      ['send', '--to', 'maria@example.com', '--subject', 'Hello', '--text', 'It works.'],
    ]
    await eachFails(
      writing,
      env,
      /^Missing setting\. .*ENCRYPTION_KEY and HASH_PEPPER must be set, to what the running gateway of this database has: others are refused\.\n$/,
    )
    const besideEmbedded = { ...env, DATA_DIR: await makeDataDir() }
    await writeFile(join(besideEmbedded.DATA_DIR, 'secrets.json'), '{}')
    await eachFails(
      writing,
      besideEmbedded,
      /others are refused\. DATABASE_URL is set in this shell .* unset DATABASE_URL\.\n$/,
    )
    await eachFails(
      [['migrate'], ['start']],
      env,
      /^Missing setting\. .*for a new database, make one with: openssl rand/,
    )
  })
})
