import { readdir } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { createTestDatabase } from './support/postgres.ts'
import { atCleanUp, cleanUp, makeDataDir, runGateway } from './support/process.ts'

afterAll(cleanUp)

const ID = '01920000-0000-7000-8000-000000000000'
const SECRETS = { ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'ab'.repeat(32) }
const COMMANDS = [
  ['doctor'],
  ['company', 'list'],
  ['company', 'create', 'acme'],
  ['key', 'list'],
  ['admin', 'list'],
  ['email', 'show', ID],
  ['email', 'explain', ID],
  ['dlq', 'list'],
  ['dlq', 'export'],
  ['suppression', 'check', 'maria@example.com'],
  ['suppression', 'export'],
  ['send', '--to', 'maria@example.com', '--subject', 'Hello', '--text', 'It works.'],
  ['db', 'url'],
]

async function execute(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return (await client.query(sql).finally(() => client.end())).rows
}

async function emptyDatabase(): Promise<string> {
  const admin = inject('postgresUrl')
  const name = `unmigrated_${process.pid}`
  await execute(admin, `create database ${name}`)
  atCleanUp(() => execute(admin, `drop database ${name} with (force)`))
  const url = new URL(admin)
  url.pathname = `/${name}`
  return url.href
}

/** Each command finds it out in the same place: all of them are tried once, some of them again. */
const SOME = [['doctor'], ['email', 'explain', ID], ['company', 'create', 'acme'], ['db', 'url']]

async function eachFails(commands: string[][], env: Record<string, string>, sentence: RegExp, cwd?: string) {
  for (const command of commands) {
    const { code, stdout, stderr } = await runGateway(command, { env, ...(cwd && { cwd }) })
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
    await eachFails(
      COMMANDS,
      {},
      /^There is no gateway in .*\/\.data yet: start it .*email-gateway migrate\. .*\n$/,
      cwd,
    )
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
