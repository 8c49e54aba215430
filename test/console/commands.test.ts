import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testCli } from '../support/cli.ts'
import { call, until } from '../support/gateway.ts'
import {
  cleanUp,
  makeDataDir,
  makeDataDirWithCluster,
  runCommand,
  type SpawnedGateway,
  spawnGateway,
} from '../support/process.ts'

afterAll(cleanUp)

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const HELLO = ['--to', 'maria@example.com', '--subject', 'Hello', '--text', 'It works.']

type Row = Record<string, unknown>
type Company = { companyId: string; name: string; apiKey: string }
type Key = { keyId: string; apiKey: string; revokedAt: string | null }
type Email = { outboxId: string; companyId: string; status: string; events: { type: string }[] }

type Env = { PORT: string; DATA_DIR: string }

function commandsIn(env: () => Env) {
  /** What a command prints for people. */
  async function lines(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand(args, { env: env() })
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
    expect(stdout).toMatch(/\S\n$/)
    return stdout
  }

  /** What it prints for programs: one JSON value and nothing else. */
  async function json<T = Row>(...args: string[]): Promise<T> {
    const printed = await lines(...args, '--json')
    expect(printed).toMatch(/^[{[].*[}\]]\n$/)
    return JSON.parse(printed)
  }

  /** What a list prints for programs. */
  async function list<T>(...args: string[]): Promise<T[]> {
    const { data, ...rest } = await json<{ data: T[] }>(...args)
    expect(rest).toEqual({})
    return data
  }

  return { lines, json, list }
}

async function untilSent(gateway: SpawnedGateway, outboxId: string, apiKey: string): Promise<void> {
  await until(
    () => call(gateway.url, { apiKey }, 'GET', `/v1/email/${outboxId}`),
    ({ body }) => body.status === 'SENT',
  )
}

// Both sequences run at the same time, each one command after the other.
describe.concurrent('beside a running gateway', () => {
  let env: Env
  let gateway: SpawnedGateway
  const { lines, json, list } = commandsIn(() => env)

  beforeAll(async () => {
    env = { PORT: '0', DATA_DIR: await makeDataDirWithCluster() }
    gateway = await spawnGateway({ env })
  })

  test.sequential('company create makes a company with its first key, and company list shows it', async () => {
    const acme = await json<Company>('company', 'create', 'acme')
    expect(acme).toEqual({
      companyId: expect.stringMatching(UUID),
      name: 'acme',
      apiKey: expect.stringMatching(/^sk_live_[0-9a-z]{16}_\w+$/),
    })
    const printed = await lines(
      ...['company', 'create', 'Padaria São João', '--weight', '3', '--rate', '50'],
      ...['--retry-policy', 'patient', '--from-domains', 'padaria.example,mail.padaria.example'],
    )
    expect(printed).toMatch(/sk_live_\w+/)
    const known = await list<Company>('company', 'list')
    expect(known).toHaveLength(3)
    expect(known.find(one => one.name === 'acme')).toMatchObject({ companyId: acme.companyId, weight: 1 })
    expect(known.find(one => one.name === 'Padaria São João')).toMatchObject({
      weight: 3,
      ratePerSecond: 50,
      retryPolicy: 'patient',
      fromDomains: ['padaria.example', 'mail.padaria.example'],
    })
    const listed = await lines('company', 'list')
    for (const { companyId, name } of known) expect(listed).toMatch(new RegExp(`${companyId}.*${name}`))
    expect(await sendOverHttp(acme.apiKey)).toMatchObject({ status: 202 })
  })

  test.sequential('what a company is called cannot give orders to the terminal', async () => {
    const name = 'Evil\u001b[2J\u009b31m\u202e\nOK'
    const { code, stdout } = await runCommand(['company', 'create', name, '--json'], { env })
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 2,
      error: { message: 'NAME: must not contain control characters.' },
    })
    // As somebody may write it by SQL.
    await json('company', 'create', 'Evil')
    const { url } = await json<{ url: string }>('db', 'url')
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`update companies set name = $1 where name = 'Evil'`, [name]).finally(() => client.end())
    expect(await lines('company', 'list')).toContain('Evil[2J31m OK')
    expect(await lines('company', 'list')).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
    const known = await list<Company>('company', 'list')
    expect(known.map(one => one.name)).toContain(name)
    const { stderr } = await runCommand(['company', 'pause', 'Nobody\u001b[2J'], { env })
    expect(stderr).toContain('"Nobody[2J"')
  })

  test.sequential('company update changes what is named and nothing else', async () => {
    const options = ['--weight', '5', '--rate', '0.5', '--retry-policy', 'steps', '--from-domains', 'acme.example']
    const first = await json<Company>('company', 'update', 'acme', ...options)
    expect(first).toMatchObject({ weight: 5, ratePerSecond: 0.5, retryPolicy: 'steps', fromDomains: ['acme.example'] })
    expect(await lines('company', 'update', first.companyId, '--rate', 'none')).toContain('acme.example')
    const second = await json('company', 'update', 'acme', '--retry-policy', 'none', '--from-domains', '')
    expect(second).toMatchObject({ weight: 5, ratePerSecond: null, retryPolicy: null, fromDomains: [] })
    for (const policy of ['persistent', 'none']) {
      const updated = await json('company', 'update', 'acme', '--retry-policy', policy)
      expect(updated).toMatchObject({ retryPolicy: policy === 'none' ? null : policy })
    }
  })

  test.sequential('key create makes live and test keys with the scopes asked for, and key list keeps the secret', async () => {
    const live = await json<Key>('key', 'create', '--company', 'acme')
    expect(live).toEqual({ keyId: expect.stringMatching(/^[0-9a-z]{16}$/), apiKey: expect.any(String) })
    expect(live.apiKey).toMatch(new RegExp(`^sk_live_${live.keyId}_`))
    const reading = await json<Key>('key', 'create', '--company', 'acme', '--test', '--scopes', 'read', '--name', 'CI')
    expect(reading.apiKey).toMatch(new RegExp(`^sk_test_${reading.keyId}_`))
    expect(await lines('key', 'create', '--company', 'acme', '--scopes', 'send,manage')).toMatch(/sk_live_\w+/)

    const keys = await list<Key>('key', 'list', '--company', 'acme')
    expect(keys).toHaveLength(4)
    expect(keys.find(one => one.keyId === live.keyId)).toMatchObject({ scopes: ['send', 'read', 'manage'] })
    const ci = { mode: 'test', scopes: ['read'], name: 'CI' }
    expect(keys.find(one => one.keyId === reading.keyId)).toMatchObject(ci)
    expect(JSON.stringify(keys)).not.toContain(live.apiKey.split('_')[3])
    const listed = await lines('key', 'list')
    expect(listed.trim().split('\n')).toHaveLength(7)
    expect(listed).toMatch(new RegExp(`${live.keyId}.* company acme \\(`))
    expect(await sendOverHttp(reading.apiKey)).toMatchObject({ status: 403 })
  })

  test.sequential('key revoke ends a key, which the running gateway refuses within a second', async () => {
    const busy = await json<Key>('key', 'create', '--company', 'acme')
    const pasted = await json<Key>('key', 'create', '--company', 'acme')
    expect((await sendOverHttp(busy.apiKey)).status).toBe(202)
    expect(await json('key', 'revoke', busy.keyId)).toEqual({ keyId: busy.keyId, revoked: true })
    const refused = await until(
      () => sendOverHttp(busy.apiKey),
      ({ status }) => status !== 202,
      1_000,
    )
    expect(refused.body).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
    expect(await lines('key', 'revoke', pasted.apiKey)).toContain(pasted.keyId)
    const keys = await list<Key>('key', 'list', '--company', 'acme')
    const revoked = keys.filter(one => one.revokedAt !== null).map(one => one.keyId)
    expect(revoked.sort()).toEqual([busy.keyId, pasted.keyId].sort())
  })

  test.sequential('send queues an e-mail of the company demo unless another is named', async () => {
    const printed = await lines('send', ...HELLO)
    expect(printed).not.toContain('No process')
    await untilSent(gateway, /[0-9a-f-]{36}/.exec(printed)![0], gateway.apiKey)
  })

  test.sequential('company pause holds mail, which email show and explain tell about, cancel ends, and resume lets go', async () => {
    const paused = await json('company', 'pause', 'acme', '--reason', 'unpaid bill')
    expect(paused).toMatchObject({ pausedAt: expect.stringMatching(ISO_TIME), pauseReason: 'unpaid bill' })
    const again = await lines('company', 'pause', 'acme')
    expect(again).toMatch(
      /^acme is paused already, since \S+Z: unpaid bill\. Nothing was changed; .*\n.*PAUSED: unpaid bill/,
    )
    expect(await lines('company', 'pause', 'acme', '--reason', 'by court')).toMatch(
      /since \S+Z: unpaid bill\. .*\n.*by court/,
    )

    const first = await json<Email>('send', '--company', 'acme', ...HELLO)
    expect(first).toEqual({ outboxId: expect.stringMatching(UUID), status: 'QUEUED' })
    const second = await json<Email>('send', '--company', 'acme', ...HELLO)
    const { apiKey } = await json<Key>('key', 'create', '--company', 'acme')
    await tellsAbout(second.outboxId, apiKey)

    expect(await json('email', 'cancel', first.outboxId)).toEqual({ outboxId: first.outboxId, status: 'CANCELLED' })
    expect(await json('company', 'resume', 'acme')).toMatchObject({ pausedAt: null, pauseReason: null })
    await untilSent(gateway, second.outboxId, apiKey)
    const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1000).toISOString()
    // The second is how these options were spelled before.
    for (const [scheduledAt, externalId] of [
      ['--scheduled-at', '--external-id'],
      ['--scheduledAt', '--externalId'],
    ]) {
      const later = await json<Email>('send', '--company', 'acme', scheduledAt!, tomorrow, `${externalId}=x`, ...HELLO)
      expect(await json('email', 'show', later.outboxId)).toMatchObject({ scheduledAt: tomorrow, externalId: 'x' })
      expect(await lines('email', 'cancel', later.outboxId)).toContain(later.outboxId)
    }
    expect(await lines('company', 'resume', 'acme')).not.toContain('PAUSED')
  })

  async function tellsAbout(outboxId: string, apiKey: string): Promise<void> {
    const shown = await json('email', 'show', outboxId)
    const event = { type: 'QUEUED', createdAt: expect.stringMatching(ISO_TIME) }
    expect(shown).toMatchObject({ outboxId, status: 'PENDING', to: ['maria@example.com'], events: [event] })
    expect(await lines('email', 'show', outboxId)).toMatch(
      /PENDING[\s\S]*company acme \([\s\S]*maria@example\.com[\s\S]*QUEUED/,
    )
    const explained = await json('email', 'explain', outboxId)
    expect(explained).toMatchObject({ outboxId, summary: expect.stringMatching(/paus/i) })
    expect(await lines('email', 'explain', outboxId)).toContain(explained.summary)
    const { companyName, ...rest } = shown
    expect(companyName).toBe('acme')
    expect((await call(gateway.url, { apiKey }, 'GET', `/v1/email/${outboxId}`)).body).toEqual(rest)
    expect((await call(gateway.url, { apiKey }, 'GET', `/v1/email/${outboxId}/explain`)).body).toEqual(explained)
  }

  test.sequential('admin add makes an administrator, again a new password, and remove ends it', async () => {
    const ana = await json<{ name: string; password: string }>('admin', 'add', 'ana')
    expect(ana).toEqual({ name: 'ana', role: 'administrator', password: expect.stringMatching(/^\S{16,}$/) })
    const printed = await lines('admin', 'add', 'bia', '--role', 'support')
    await lines('admin', 'add', 'ana')
    expect(await inboxStatus('ana', ana.password)).toBe(401)
    expect(await inboxStatus('bia', /Password (\S+)/.exec(printed)![1]!)).toBe(200)
    const names = (await list<{ name: string }>('admin', 'list')).map(one => one.name)
    expect(names.filter(name => name !== 'admin')).toEqual(['ana', 'bia'])
    expect(await lines('admin', 'list')).toMatch(/^ana {2}administrator {2}0 open sessions .*\nbia {2}support /m)
    expect(await json('admin', 'role', 'bia', 'viewer')).toEqual({ name: 'bia', role: 'viewer', before: 'support' })
    expect((await json<{ url: string }>('admin', 'link', 'bia')).url).toMatch(
      /^http.*\/admin\/sign-in#token=[\w.-]{80}$/,
    )
    expect(await json('admin', 'remove', 'ana')).toEqual({ name: 'ana', removed: true })
    expect(await lines('admin', 'remove', 'bia')).toContain('bia')
  })

  test.sequential('migrate says that the database is up to date', async () => {
    expect(await json('migrate')).toMatchObject({ migrated: true })
    expect(await lines('migrate')).toMatch(/up to date/i)
  })

  test.sequential('db url gives a connection string', async () => {
    const { url, ...rest } = await json<{ url: string }>('db', 'url')
    expect(rest).toEqual({})
    expect(url).toMatch(/^postgres:\/\//)
    expect(await lines('db', 'url')).toBe(`${url}\n`)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query('select count(*)::int as companies from companies').finally(() => client.end())
    expect(rows).toEqual([{ companies: (await list<Company>('company', 'list')).length }])
  })

  const sendOverHttp = (apiKey: string) =>
    call(gateway.url, { apiKey }, 'POST', '/v1/email/send', { to: 'maria@example.com', subject: 'Hello', text: 'Hi' })

  async function inboxStatus(name: string, password: string): Promise<number> {
    const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
    return (await call(gateway.url, null, 'GET', '/admin/inbox', undefined, { authorization })).status
  }
})

describe.concurrent('alone, a command starts the database, and stops it when it is done', () => {
  let env: Env
  const { lines, json } = commandsIn(() => env)

  beforeAll(async () => {
    env = { PORT: '0', DATA_DIR: await makeDataDir() }
  })

  test('and the gateway that starts next sends what was queued', { timeout: 120_000 }, async () => {
    const applied = expect.arrayContaining(['0001_companies.sql'])
    expect(await json('migrate')).toMatchObject({ migrated: true, applied })
    const { apiKey } = await json<Company>('company', 'create', 'acme')
    const { outboxId } = await json<Email>('send', '--company', 'acme', ...HELLO)
    const queued = await lines('send', '--company', 'acme', ...HELLO)
    expect(queued).toContain('\nNo process that sends is running: it waits until you run email-gateway start.\n')
    const { stdout, stderr } = await runCommand(['db', 'url'], { env })
    expect(stderr).toMatch(/^The gateway is stopped, .* refuses connections until email-gateway start runs\.\n$/)
    const url = stdout.trim()
    await expect(new pg.Client({ connectionString: url }).connect()).rejects.toThrow('ECONNREFUSED')

    const gateway = await spawnGateway({ env })
    await untilSent(gateway, outboxId, apiKey)
    gateway.signal('SIGTERM')
    await gateway.exited
  })
})

describe.concurrent('what cannot be done is refused in one sentence, and exits 1', () => {
  const NOBODYS = '01890000-0000-7000-8000-000000000000'
  let env: Record<string, string>

  beforeAll(async () => {
    const cli = await testCli()
    env = cli.env
    await cli.lines('company', 'create', 'acme')
    await cli.lines('company', 'create', 'strict', '--from-domains', 'strict.example')
  })

  test.each([
    [['company', 'create', 'acme'], /acme/],
    [['company', 'update', 'nobody', '--weight', '2'], /nobody/],
    [['key', 'create', '--company', 'nobody'], /nobody/],
    [['key', 'revoke', '0123456789abcdef'], /0123456789abcdef/],
    [['admin', 'remove', 'nobody'], /nobody/],
    [['email', 'show', NOBODYS], new RegExp(NOBODYS)],
    [['email', 'explain', NOBODYS], new RegExp(NOBODYS)],
    [['email', 'cancel', NOBODYS], new RegExp(NOBODYS)],
    [['send', '--company', 'nobody', ...HELLO], /nobody/],
    [['send', '--company', 'acme', ...HELLO, '--html', '<script>alert(1)</script>'], /script/i],
  ])('%j', async (args, pattern) => {
    const { code, stdout, stderr } = await runCommand(args, { env })
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]+\n$/) })
    expect(stderr).toMatch(pattern)
  })

  test('with --json as one JSON value', async () => {
    const { code, stdout, stderr } = await runCommand(['email', 'show', NOBODYS, '--json'], { env })
    const error = { code: 'NOT_FOUND', message: `There is no e-mail ${NOBODYS}.` }
    expect({ code, printed: JSON.parse(stdout), stderr }).toEqual({ code: 1, printed: { error }, stderr: '' })
  })

  test.each([
    ['COMPANY_EXISTS', ['company', 'create', 'acme']],
    ['NOT_FOUND', ['company', 'update', 'nobody', '--weight', '2']],
    ['NOT_FOUND', ['key', 'revoke', '0123456789abcdef']],
    ['NOT_FOUND', ['admin', 'remove', 'nobody']],
    ['NOT_FOUND', ['webhook', 'test', NOBODYS]],
    ['NOT_FOUND', ['dlq', 'show', NOBODYS]],
    ['NOT_FOUND', ['email', 'resend', NOBODYS]],
    ['NOT_FOUND', ['template', 'show', 'no_such_type', '--company', 'acme']],
    ['TEMPLATE_NOT_FOUND', ['send', '--company', 'acme', '--to', 'a@example.com', '--template', 'no_such_type']],
    ['INVALID_TEMPLATE', ['send', '--company', 'acme', ...HELLO, '--html', '<script>1</script>']],
    ['FROM_NOT_ALLOWED', ['send', '--company', 'strict', ...HELLO, '--from', 'a@other.example']],
  ])('with --json and the code %s: %j', async (code, args) => {
    const { stdout } = await runCommand([...args, '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ error: { code } })
  })
})

describe.concurrent('the last administrator', () => {
  test('is removed, or gets another role, only with --yes, and the command says what follows', async () => {
    const cli = await testCli()
    await cli.lines('admin', 'add', 'ana')
    await cli.lines('admin', 'add', 'vera', '--role', 'viewer')
    const sentence = 'ana is the last one with the role administrator: without it, nobody manages companies and keys'
    for (const words of [
      ['remove', 'ana'],
      ['role', 'ana', 'support'],
      ['add', 'ana', '--role', 'support'],
    ])
      expect(await cli.fails(2, 'admin', ...words)).toContain(sentence)
    await cli.lines('admin', 'remove', 'vera')
    expect(await cli.lines('admin', 'remove', 'ana', '--yes')).toContain(
      `Administrator ana is removed.\nIt was the last one with the role administrator: nobody manages`,
    )
    expect(await cli.lines('admin', 'list')).toBe('No administrators.\n')
  })

  test('of an embedded gateway is made again by the next start, which the command says', {
    timeout: 60_000,
  }, async () => {
    const env = { DATA_DIR: await makeDataDirWithCluster() }
    await runCommand(['migrate'], { env })
    await runCommand(['admin', 'add', 'ana'], { env })
    const { code, stderr } = await runCommand(['admin', 'remove', 'ana'], { env })
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^ana is the last .*: without it, the next start makes admin with a new password\. Add --yes/,
    )
  })
})

describe.concurrent('called wrongly, a command shows its usage and exits 2', () => {
  let env: Record<string, string>

  beforeAll(async () => {
    const cli = await testCli()
    env = cli.env
    await cli.lines('company', 'create', 'acme')
  })

  test.each([
    ['nonsense'],
    ['company create'],
    ['company create b --weight heavy'],
    ['company create b --from-domains nonsense'],
    ['key create'],
    ['key create --company acme --scopes everything'],
    ['admin add a:b'],
    ['email show nonsense'],
  ])('%s', async line => expectUsage(line.split(' ')))

  test('send names every option that is missing or wrong', async () => {
    const error = async (...args: string[]) =>
      JSON.parse((await runCommand(['send', ...args, '--json'], { env })).stdout).error
    expect(await error()).toEqual({
      code: 'USAGE',
      message: '--to: is required; --subject: is required; --html: html or text is required.',
    })
    const { message } = await error(...HELLO, '--external-id', 'x'.repeat(300), '--scheduled-at', 'soon')
    expect(message).toContain('--external-id: must have at most 255 characters, has 300; --scheduled-at: ')
  })

  test('company create with a name that is longer than the 100 characters allowed', () =>
    expectUsage(['company', 'create', 'x'.repeat(101)]))

  async function expectUsage(args: string[]): Promise<void> {
    const { code, stdout, stderr } = await runCommand(args, { env })
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/^[^\n]+\n\n/) })
    expect(stderr).toContain(args[0] === 'nonsense' ? 'Usage:' : `\nemail-gateway ${args[0]}`)
    expect(stderr).not.toMatch(/\n\s+at /)
  }

  test('with --json as one JSON value', async () => {
    const { code, stdout, stderr } = await runCommand(['email', 'show', 'nonsense', '--json'], { env })
    const error = { code: 'USAGE', message: 'ID must be the outboxId of an e-mail, a UUID.' }
    expect({ code, printed: JSON.parse(stdout), stderr }).toEqual({ code: 2, printed: { error }, stderr: '' })
  })
})
