import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { migrate, requireMigrated } from '../../src/platform/postgres/migrate.ts'
import { openDatabase } from '../../src/platform/postgres/pool.ts'
import { readSettings } from '../../src/settings/config.ts'
import { settingsSchema } from '../../src/settings/settings.ts'
import { readEnvExample } from '../support/env-example.ts'
import { startFakeSmtp } from '../support/fake-smtp.ts'
import { call, until } from '../support/gateway.ts'
import { knownMetrics } from '../support/metric-names.ts'
import { createTestDatabase } from '../support/postgres.ts'
import {
  atCleanUp,
  BIN,
  cleanUp,
  launchShell,
  makeDataDir,
  makeDataDirWithCluster,
  ROOT,
  readFirstStart,
  runGateway,
  runShell,
  type SpawnedGateway,
  spawnGateway,
} from '../support/process.ts'
import { startRedis } from '../support/redis-server.ts'

afterAll(cleanUp)

describe('.env.example', () => {
  const entries = readEnvExample()

  test('lists exactly the settings there are, each once', () => {
    expect(entries.map(entry => entry.name).sort()).toEqual(Object.keys(settingsSchema.shape).sort())
  })

  test('says of each above it what it is', () => {
    for (const { name, comment } of entries) expect(`${name}: ${comment.at(-1)}`).toMatch(/: \S.{10,}\.$/)
  })

  test('shows the defaults, and can be loaded as it is', () => {
    const defaults = readSettings({})
    for (const { name, value } of entries) {
      expect(`${name}=${value}`).toBe(`${name}=${defaults[name as keyof typeof defaults] ?? ''}`)
    }
    expect(readSettings(Object.fromEntries(entries.map(({ name, value }) => [name, value])))).toEqual(defaults)
  })
})

describe('links', () => {
  const pages = [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'admin/README.md',
    'test/README.md',
    ...readdirSync(join(ROOT, 'docs')).map(name => `docs/${name}`),
  ].filter(name => name.endsWith('.md'))

  /** As GitHub makes the anchor of a heading. */
  const anchorsOf = (page: string) =>
    [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    )

  test.each(pages)('of %s lead to what is there', name => {
    const page = join(ROOT, name)
    const targets = [...readFileSync(page, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map(match => match[1]!)
    const broken = targets
      .filter(target => !/^[a-z]+:/i.test(target))
      .filter(target => {
        const [path, anchor] = target.split('#')
        const file = path ? resolve(dirname(page), path) : page
        return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor))
      })
    expect(broken).toEqual([])
  })

  test.each(pages)('and paths of the repository in %s lead to what is there', name => {
    const page = join(ROOT, name)
    const paths = readFileSync(page, 'utf8').matchAll(
      /(?<![\w/.-])(?:src|test|admin|migrations|ops|bench|scripts)\/[\w./-]*\w/g,
    )
    const isThere = (path: string) => [ROOT, dirname(page)].some(folder => existsSync(join(folder, path)))
    expect([...paths].map(([path]) => path).filter(path => !isThere(path))).toEqual([])
  })

  test('of docs/README.md lead to every page', () => {
    const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')
    const names = readdirSync(join(ROOT, 'docs')).filter(name => name.endsWith('.md') && name !== 'README.md')
    expect(names.filter(name => !index.includes(`](${name}`))).toEqual([])
  })
})

describe('the commands of the README and of the pages that it leads to', { timeout: 120_000 }, () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  let gateway: SpawnedGateway
  let env: Record<string, string>

  beforeAll(async () => {
    const DATA_DIR = await makeDataDirWithCluster()
    gateway = await spawnGateway({ env: { DATA_DIR, PORT: '0' } })
    env = { DATA_DIR, API_KEY: gateway.apiKey, GATEWAY_URL: gateway.url }
  })

  /** What npx finds, without the second that it takes; that it finds it is tried where gateways are started by it below. */
  const NPX = `npx() { test "$1" = email-gateway && shift && node '${BIN}' "$@"; }`

  function shellBlocks(page: string, heading: string): string[] {
    const sections = readFileSync(join(ROOT, page), 'utf8').split(/^##? /m)
    const section = sections.find(part => part.startsWith(`${heading}\n`))!
    return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(match => match[1]!)
  }

  async function run(block: string, more: Record<string, string> = {}): Promise<string> {
    const { code, stdout, stderr } = await runShell(`set -e\n${NPX}\n${block}`, {
      env: { ...env, ...more },
      patienceMs: 100_000,
    })
    expect({ code, stderr: stderr.replaceAll(/^npm warn.*\n/gm, '') }).toEqual({ code: 0, stderr: '' })
    return stdout
  }

  const LETTER = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }

  async function hasStatus(status: string, url: string, apiKey: string, body: Record<string, string>): Promise<string> {
    const accepted = await call(url, { apiKey }, 'POST', '/v1/email/send', body)
    expect(accepted).toMatchObject({ status: 202 })
    const { outboxId } = accepted.body
    await until(
      () => call(url, { apiKey }, 'GET', `/v1/email/${outboxId}`),
      answer => answer.body.status === status,
    )
    return outboxId
  }
  const isSent = (url: string, apiKey: string, body: Record<string, string> = LETTER) =>
    hasStatus('SENT', url, apiKey, body)

  test('send one e-mail and tell where it is', async () => {
    const [setting, sending, asking, ...rest] = shellBlocks('README.md', 'Send an e-mail')
    expect(rest).toEqual([])
    expect(setting).toMatch(/^export GATEWAY_URL=http:\S+ API_KEY=sk_live_…\n$/)
    const accepted = JSON.parse(await run(sending!))
    expect(accepted).toMatchObject({ status: 'QUEUED', jobId: accepted.outboxId })
    const { outboxId } = accepted
    await until(
      () => call(gateway.url, gateway, 'GET', `/v1/email/${outboxId}`),
      ({ body }) => body.status === 'SENT',
    )
    const answer = await run(asking!, { OUTBOX_ID: outboxId })
    const shown = JSON.parse(answer.slice(0, answer.lastIndexOf('}') + 1))
    expect(shown).toMatchObject({ outboxId, status: 'SENT', to: ['maria@example.com'] })
    expect(answer.slice(answer.lastIndexOf('}') + 1)).toMatch(/^Accepted by capture/)
  })

  test('help, make a company and a key, and send', async () => {
    const blocks = shellBlocks('docs/companies.md', 'Companies and keys')
    expect(blocks).toHaveLength(1)
    const printed = await run(blocks[0]!)
    expect(printed).toMatch(/Usage: [\s\S]*Company acme[\s\S]*sk_live_\w+[\s\S]*sk_test_\w+[\s\S]*Queued [0-9a-f-]{36}/)
  })

  test('list, show, replay, export and purge dead letters', async () => {
    const [block, ...rest] = shellBlocks('docs/dead-letters.md', 'Find and replay')
    expect(rest).toEqual([])
    const body = { to: 'reject@simulator.test', subject: 'Hello', text: 'It works.' }
    const { outboxId } = (await call(gateway.url, gateway, 'POST', '/v1/email/send', body)).body
    await until(
      () => call(gateway.url, gateway, 'GET', `/v1/email/${outboxId}`),
      answer => answer.body.status === 'REJECTED',
    )
    const file = join(await makeDataDir(), 'dead-letters.jsonl')
    const printed = await run(block!.replace('dead-letters.jsonl', file), { OUTBOX_ID: outboxId })
    expect(printed).toMatch(
      /demo {2}REJECTED {2}SES_MESSAGE_REJECTED \(MessageRejected\)[\s\S]*Replay it with:[\s\S]*Would replay 1 entry\n.*\nReplayed 1 entry\nExported 0 entries to .*\nPurged 0 entries\n$/,
    )
  })

  test('send again what has ended, by the command and by the API', async () => {
    const [block, ...rest] = shellBlocks('docs/dead-letters.md', 'Send an e-mail again')
    expect(rest).toEqual([])
    const body = { ...LETTER, to: 'delivered@simulator.test' }
    const OUTBOX_ID = await hasStatus('DELIVERED', gateway.url, gateway.apiKey, body)
    const printed = await run(block!, { OUTBOX_ID })
    expect(printed).toMatch(new RegExp(`^Queued [0-9a-f-]{36}[\\s\\S]*"resendOf":"${OUTBOX_ID}"`))
  })

  test('send through a relay', async () => {
    const [block, ...rest] = shellBlocks('docs/providers.md', 'Choose a provider')
    expect(rest).toEqual([])
    const relay = await startFakeSmtp()
    atCleanUp(() => relay.close())
    const script = block!.replace('127.0.0.1:1025', `127.0.0.1:${relay.port}`)
    const DATA_DIR = await makeDataDirWithCluster()
    const started = launchShell(script, { env: { DATA_DIR, PORT: '0' } })
    await started.printed(/API at http/)
    const { apiKey } = await readFirstStart(DATA_DIR)
    await isSent(/API at (http:[^\s,]+)/.exec(started.output())![1]!, apiKey)
    expect(relay.deliveries.map(one => one.to)).toEqual([['maria@example.com']])
    started.signal('SIGTERM', 'group')
    await started.exited
    expect(started.output()).toContain('"message":"Stopped"')
  })

  test('start an API and a worker on a Postgres and a Redis', async () => {
    const [setUp, roles, ...rest] = shellBlocks('docs/installing.md', 'Several processes')
    expect(rest).toEqual([])
    const [database, redis] = await Promise.all([createTestDatabase(), startRedis()])
    atCleanUp(() => database.drop())
    atCleanUp(() => redis.close())
    const own = setUp!
      .replace('postgres://gateway:secret@127.0.0.1:5432/gateway', database.url)
      .replace('redis://127.0.0.1:6379', redis.url)
    const script = `set -e\n${own}${roles!.replaceAll('\n', ' &\n')}wait`
    const started = launchShell(script, { env: { DATA_DIR: await makeDataDir(), PORT: '0' } })
    for (const pattern of [/Company acme/, /API at /, /role: worker/]) await started.printed(pattern)
    const printed = started.output()
    const url = /API at (http:[^\s,]+)/.exec(printed)![1]!
    const apiKey = /sk_live_\w+/.exec(printed)![0]
    await isSent(url, apiKey, { ...LETTER, from: 'hello@acme.example' })
    expect(printed).toMatch(/lane: bullmq; role: worker/)
    expect(started.output()).not.toMatch(/"level":"(warn|error)"/)
    started.signal('SIGTERM', 'group')
    await started.exited
    expect(started.output().match(/"message":"Stopped"/g)).toHaveLength(2)
  })

  test('tell how the gateway and an e-mail are', async () => {
    const [block, ...rest] = shellBlocks('docs/sending.md', 'Look first')
    expect(rest).toEqual([])
    const OUTBOX_ID = await isSent(gateway.url, gateway.apiKey)
    const printed = await run(block!, { OUTBOX_ID })
    expect(printed).toMatch(
      /^ok +settings .*\n(ok .*\n)+Accepted by capture .*\nNext: .*\nSENT {2}Hello\n[\s\S]*QUEUED/,
    )
    expect(printed).toMatch(/^unknown_sends_open 0$/m)
  })

  test('of the README are all tried here', () => {
    const sections = readme.split(/^## /m).filter(part => part.includes('```sh'))
    expect(sections.map(part => part.split('\n')[0])).toEqual(['Start it', 'Send an e-mail', 'Tests'])
  })

  test('of the README that start and test it are scripts of the package', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(shellBlocks('README.md', 'Start it')).toEqual(['npm install && npm start\n'])
    expect(shellBlocks('README.md', 'Tests')).toEqual(['npm test\n'])
    const named = [...readme.matchAll(/`npm (?:run )?(\w+)`/g)].map(match => match[1]!)
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['start', 'test', ...named]))
  })

  test('of the README use the Resend SDK as it is', async () => {
    const [code, ...rest] = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(match => match[1]!)
    expect(rest).toEqual([])
    const script = code!.replace('sk_live_…', gateway.apiKey).replace('http://127.0.0.1:3000', gateway.url)
    const fromTheShop = async () => {
      const { body } = await call(gateway.url, gateway, 'GET', '/v1/emails')
      return body.data.filter((one: { from: string }) => one.from === 'shop@example.com')
    }
    expect(await fromTheShop()).toEqual([])
    expect(await runShell(`node --input-type=module - <<'END'\n${script}\nEND`)).toMatchObject({ code: 0, stderr: '' })
    expect(await fromTheShop()).toHaveLength(1)
  })
})

describe.each([
  ['runbook', 10],
  ['suppression', 1],
])('docs/%s.md', (name, statements) => {
  const text = readFileSync(join(ROOT, `docs/${name}.md`), 'utf8')

  test('has only statements that run on the schema as it is', async () => {
    const database = await createTestDatabase()
    atCleanUp(() => database.drop())
    const blocks = [...text.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(match => match[1]!)
    expect(blocks.length).toBeGreaterThan(statements)
    for (const block of blocks) await execute(database.url, block)
  })

  test('names metrics that there are', async () => {
    const metrics = (await knownMetrics()).map(one => one.name)
    const named = [...text.matchAll(/`(\w+(?:_seconds|_open|_size|_parked|_total))\b/g)].map(match => match[1]!)
    expect(named.length).toBeGreaterThan(3)
    for (const one of named) expect(metrics).toContain(one)
  })
})

describe("import from 'email-gateway/contracts'", () => {
  const VALUES = [
    ...['EMAIL_JOB_CONFIG', 'EMAIL_JOB_RETRY_CONFIG', 'EMAIL_JOB_FAIRNESS_CONFIG', 'emailSendJobDataSchema'],
    ...['validateEmailJobData', 'calculateBackoffDelay', 'isRetryableError', 'RETRYABLE_ERRORS', 'PERMANENT_ERRORS'],
    ...['validateDLQEntry', 'calculateRoundRobinPriority', 'VALID_TRANSITIONS', 'validateTransition'],
    ...['calculateExpiration', 'hashEmail', 'maskEmail'],
  ]
  const TYPES = ['EmailSendJobData', 'EmailSendJobOptions', 'EmailSendJobResult', 'TenantFairnessMetrics']

  test('works inside the repository', async () => {
    const script = `import { ${VALUES} } from 'email-gateway/contracts'; console.log(typeof hashEmail)`
    expect(await runShell(`node --input-type=module -e "${script}"`)).toMatchObject({ code: 0, stdout: 'function\n' })
  })

  test('works for a package that depends on it, with its types', async () => {
    const folder = await makeDataDir()
    await mkdir(join(folder, 'node_modules'))
    await symlink(ROOT, join(folder, 'node_modules/email-gateway'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const types = TYPES.map(name => `type ${name}`)
    await writeFile(
      join(folder, 'consumer.ts'),
      `import { ${[...VALUES, ...types].join(', ')} } from 'email-gateway/contracts'
       export const names = { ${VALUES} }
       export type All = [${TYPES}]
       export const sentBefore: EmailSendJobResult['status'] = 'ALREADY_SENT'
       console.log(Object.values(names).filter(value => value === undefined).length, hashEmail(' Ana@Example.com '))`,
    )
    const tsc = `${join(ROOT, 'node_modules/.bin/tsc')} --strict --module nodenext --target es2023 --outDir out consumer.ts`
    expect(await runShell(tsc, { cwd: folder })).toMatchObject({ stdout: '', code: 0 })
    const { code, stdout } = await runShell('node out/consumer.js', { cwd: folder })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^0 sha256:[0-9a-f]{64}\n$/) })
  })
})

describe('migrations', () => {
  const files = readdirSync(join(ROOT, 'migrations'))
    .filter(file => file.endsWith('.sql') && file !== 'schema.sql')
    .sort()
  const functions = readdirSync(join(ROOT, 'migrations/functions')).sort()

  test('are numbered, each number once', () => {
    expect(files[0]).toMatch(/^0001_/)
    for (const file of files) expect(file).toMatch(/^\d{4}_[a-z0-9_]+\.sql$/)
    expect(new Set(files.map(file => file.slice(0, 4))).size).toBe(files.length)
  })

  test('on a database that is up to date apply nothing', async () => {
    const database = await createTestDatabase()
    atCleanUp(() => database.drop())
    expect(await migrate(database.url)).toEqual([])
    expect(await migrate(database.url)).toEqual([])
  })

  test('that two processes start at once on an empty database are applied once', async () => {
    const url = await createEmptyDatabase()
    const applied = await Promise.all([migrate(url), migrate(url)])
    expect(applied.flat()).toEqual([...files, ...functions.map(file => `functions/${file}`)])
    expect(await migrate(url)).toEqual([])
  })

  test('functions are applied again when their text changes, and commands say so until then', async () => {
    const database = await createTestDatabase()
    atCleanUp(() => database.drop())
    const db = openDatabase(database.url, () => {})
    atCleanUp(() => db.close())
    await requireMigrated(db.pool)
    await execute(
      database.url,
      `update schema_functions set digest = 'another' where name = 'functions/uuid_v7.sql';
       drop function uuid_v7_now()`,
    )
    await expect(requireMigrated(db.pool)).rejects.toThrow('The functions in the database are those of another version')
    expect(await migrate(database.url)).toEqual(['functions/uuid_v7.sql'])
    await requireMigrated(db.pool)
    await execute(database.url, 'select uuid_v7_now()')
  })

  test('of a newer version keep an older gateway from starting', async () => {
    const database = await createTestDatabase()
    atCleanUp(() => database.drop())
    await execute(database.url, `insert into schema_migrations (version, name) values (9999, '9999_future.sql')`)
    const sentence = `The database is at schema version 9999, this program knows ${Number(files.at(-1)!.slice(0, 4))}. Start a newer version of the gateway.`
    await expect(migrate(database.url)).rejects.toThrow(sentence)
    const secrets = { ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'ab'.repeat(32) }
    const env = { PORT: '0', DATA_DIR: await makeDataDir(), DATABASE_URL: database.url, ...secrets }
    for (const command of ['start', 'migrate']) {
      expect(await runGateway([command], { env })).toMatchObject({ code: 1, stdout: '', stderr: `${sentence}\n` })
    }
  })

  async function createEmptyDatabase(): Promise<string> {
    const admin = inject('postgresUrl')
    const name = `empty_${process.pid}`
    await execute(admin, `create database ${name}`)
    atCleanUp(() => execute(admin, `drop database ${name} with (force)`))
    const url = new URL(admin)
    url.pathname = `/${name}`
    return url.href
  }
})

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}
