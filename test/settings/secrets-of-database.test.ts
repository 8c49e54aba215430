import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { encrypt, keyRing } from '../../src/platform/encryption.ts'
import { createTestDatabase } from '../support/postgres.ts'
import {
  atCleanUp,
  cleanUp,
  makeDataDir,
  makeDataDirWithCluster,
  runCommand,
  runGateway,
  spawnGateway,
} from '../support/process.ts'

afterAll(cleanUp)

const PLACE = { companyId: '01890000-0000-7000-8000-000000000001', column: 'recipients.cpf_cnpj' } as const
const [OLD_KEY, NEW_KEY, THIRD_KEY] = ['0a'.repeat(32), '0b'.repeat(32), '0c'.repeat(32)]
const PEPPER = 'the pepper of this database, for ever'
const OTHER_PEPPER = 'another pepper, from another machine'
const COMMANDS = [
  ['start'],
  ['migrate'],
  ['company', 'create', 'acme'],
  ['key', 'create', '--company', 'first'],
  ['suppression', 'add', 'maria@example.com', '--justification', 'she asked for it'],
]

async function prepareDatabase() {
  const database = await createTestDatabase()
  atCleanUp(() => database.drop())
  const env = { DATABASE_URL: database.url, DATA_DIR: await makeDataDir(), PORT: '0' }
  const right = { ...env, ENCRYPTION_KEY: OLD_KEY, HASH_PEPPER: PEPPER }
  expect(await runCommand(['migrate'], { env: right })).toMatchObject({ code: 0 })
  expect(await runCommand(['company', 'create', 'first'], { env: right })).toMatchObject({ code: 0 })
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  atCleanUp(() => client.end())
  return { right, client }
}

async function recordedKeys(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as n from secret_fingerprints where setting = 'ENCRYPTION_KEY'`,
  )
  return rows[0].n
}

async function isRefused(env: Record<string, string>, setting: string): Promise<void> {
  for (const command of COMMANDS) {
    const { code, stderr } = await (command[0] === 'start' ? runGateway : runCommand)(command, { env })
    expect({ command, code, stderr }).toEqual({ command, code: 1, stderr: expect.stringMatching(/^[^\n]+\n$/) })
    expect(stderr).toMatch(new RegExp(`^${setting} `))
  }
  const doctor = await runCommand(['doctor', '--json'], { env })
  expect(doctor.code).toBe(1)
  const { checks } = JSON.parse(doctor.stdout)
  expect(checks).toContainEqual({ name: 'secrets', state: 'failed', detail: expect.stringMatching(`^${setting} `) })
}

test.concurrent('another HASH_PEPPER is refused in a sentence that names it, and nothing is written with it', async () => {
  const { right, client } = await prepareDatabase()
  await isRefused({ ...right, HASH_PEPPER: OTHER_PEPPER }, 'HASH_PEPPER')
  const { rows } = await client.query(
    'select (select count(*) from companies)::int as companies, (select count(*) from api_keys)::int as keys',
  )
  expect(rows).toEqual([{ companies: 1, keys: 1 }])
  const { stdout } = await runCommand(['doctor', '--json'], { env: right })
  const checks: { name: string; state: string }[] = JSON.parse(stdout).checks
  expect(checks).toContainEqual(expect.objectContaining({ name: 'secrets', state: 'ok' }))
  // The embedded server of the tests does not write to the disk, the distribution's does.
  const { fsync } = (await client.query('show fsync')).rows[0]
  const failed = checks.filter(({ state }) => state === 'failed').map(({ name }) => name)
  expect(failed).toEqual(fsync === 'off' ? ['durability'] : [])
})

test.concurrent('a list of keys without the one that data need is refused; a rotation is not', async () => {
  const { right, client } = await prepareDatabase()
  const cipher = encrypt('12345678909', keyRing([OLD_KEY]), PLACE)
  await client.query(
    `insert into recipients (recipient_id, company_id, identity, cpf_cnpj_cipher)
     select gen_random_uuid(), company_id, 'x', $1 from companies`,
    [cipher],
  )
  await isRefused({ ...right, ENCRYPTION_KEY: NEW_KEY }, 'ENCRYPTION_KEY')
  const rotated = { ...right, ENCRYPTION_KEY: `${NEW_KEY},${OLD_KEY}` }
  expect(await runCommand(['migrate'], { env: rotated })).toMatchObject({ code: 0, stderr: '' })
  expect(await runCommand(['key', 'list'], { env: rotated })).toMatchObject({ code: 0, stderr: '' })
  // The new key encrypts from now on: who has only the old one could not read what the others write.
  await client.query(`update recipients set cpf_cnpj_cipher = $1`, [encrypt('12345678909', keyRing([NEW_KEY]), PLACE)])
  expect(await runCommand(['migrate'], { env: right })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ENCRYPTION_KEY lacks/),
  })
  const done = { ...right, ENCRYPTION_KEY: NEW_KEY }
  expect(await runCommand(['migrate'], { env: done })).toMatchObject({ code: 0, stderr: '' })
  expect(await recordedKeys(client)).toBe(1)
})

test.concurrent('another ENCRYPTION_KEY is refused also while nothing is encrypted yet', async () => {
  const { right, client } = await prepareDatabase()
  const running = await spawnGateway({ env: right })
  await isRefused({ ...right, ENCRYPTION_KEY: NEW_KEY }, 'ENCRYPTION_KEY')
  expect(await recordedKeys(client)).toBe(1)
  running.signal('SIGTERM')
  await running.exited
})

test.concurrent('a key that nothing needs leaves the list only behind one that was recorded before', async () => {
  const { right, client } = await prepareDatabase()
  const rotated = { ...right, ENCRYPTION_KEY: `${NEW_KEY},${OLD_KEY}` }
  expect(await runCommand(['migrate'], { env: rotated })).toMatchObject({ code: 0, stderr: '' })
  expect(await runCommand(['migrate'], { env: { ...right, ENCRYPTION_KEY: `${THIRD_KEY},${NEW_KEY}` } })).toMatchObject(
    {
      code: 1,
      stderr: expect.stringMatching(/^ENCRYPTION_KEY lacks/),
    },
  )
  expect(await recordedKeys(client)).toBe(2)
  expect(await runCommand(['migrate'], { env: { ...right, ENCRYPTION_KEY: NEW_KEY } })).toMatchObject({ code: 0 })
  expect(await recordedKeys(client)).toBe(1)
})

test.concurrent('a late process with the old key alone is refused once another one encrypts with the new key', async () => {
  const { right, client } = await prepareDatabase()
  const rotated = { ...right, ENCRYPTION_KEY: `${NEW_KEY},${OLD_KEY}` }
  expect(await runCommand(['migrate'], { env: rotated })).toMatchObject({ code: 0, stderr: '' })
  await isRefused(right, 'ENCRYPTION_KEY')
  expect(await recordedKeys(client)).toBe(2)
  // The way back is that of every rotation.
  expect(await runCommand(['migrate'], { env: { ...right, ENCRYPTION_KEY: `${OLD_KEY},${NEW_KEY}` } })).toMatchObject({
    code: 0,
    stderr: '',
  })
  expect(await runCommand(['migrate'], { env: right })).toMatchObject({ code: 0, stderr: '' })
  expect(await recordedKeys(client)).toBe(1)
})

test.concurrent('a wrong HASH_PEPPER is refused before the schema of an older version is changed', async () => {
  const { right, client } = await prepareDatabase()
  await client.query('delete from schema_migrations where version = (select max(version) from schema_migrations)')
  const before = (await client.query('select * from schema_migrations')).rows
  // The newest migration would fail here; it is not even tried.
  expect(await runCommand(['migrate'], { env: { ...right, HASH_PEPPER: OTHER_PEPPER } })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^HASH_PEPPER is not the one/),
  })
  expect((await client.query('select * from schema_migrations')).rows).toEqual(before)
})

test.concurrent('a database of an older version is not taken over with a key that its data do not know', async () => {
  const { right, client } = await prepareDatabase()
  await client.query('delete from secret_fingerprints')
  await client.query(
    `insert into recipients (recipient_id, company_id, identity, cpf_cnpj_cipher)
     select gen_random_uuid(), company_id, 'x', $1 from companies`,
    [encrypt('12345678909', keyRing([OLD_KEY]), PLACE)],
  )
  const { code, stderr } = await runCommand(['migrate'], { env: { ...right, ENCRYPTION_KEY: NEW_KEY } })
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^ENCRYPTION_KEY lacks/) })
  expect((await client.query('select from secret_fingerprints')).rows).toEqual([])
})

test.concurrent('the database holds no secret', async () => {
  const { client } = await prepareDatabase()
  const { rows } = await client.query('select * from secret_fingerprints order by setting')
  expect(rows.map(row => row.setting)).toEqual(['ENCRYPTION_KEY', 'HASH_PEPPER'])
  expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${OLD_KEY}|${PEPPER}`))
})

test.concurrent('an embedded gateway whose secrets.json was lost says which file is missing', async () => {
  const env = { DATA_DIR: await makeDataDirWithCluster(), PORT: '0' }
  const gateway = await spawnGateway({ env })
  gateway.signal('SIGTERM')
  await gateway.exited
  await rm(join(env.DATA_DIR, 'secrets.json'))
  const { code, stderr } = await runGateway(['start'], { env })
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^HASH_PEPPER is not the one .*secrets\.json\).*\n$/),
  })
})
