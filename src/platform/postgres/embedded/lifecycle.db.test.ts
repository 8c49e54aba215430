import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeTestFolder, putMadeCluster } from '../../../../test/support/postgres.ts'
import { type EmbeddedPostgres, hasEmbeddedPostgres, openEmbeddedPostgres } from './index.ts'
import { isAlive } from './system.ts'

let dataDir: string
let opened: EmbeddedPostgres[]
let children: ChildProcess[]

beforeEach(async () => {
  dataDir = await makeTestFolder()
  opened = []
  children = []
})

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const server of opened.reverse()) await server.close()
  if (children.length > 0) await open('command').then(server => server.close())
  await rm(dataDir, { recursive: true, force: true })
})

async function open(
  use: 'gateway' | 'command',
  settings: Record<string, string> = { fsync: 'off' },
): Promise<EmbeddedPostgres> {
  const server = await openEmbeddedPostgres({ dataDir, use, settings })
  opened.push(server)
  return server
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(sql).finally(() => client.end())
  return rows
}

/** Another process that uses the server as a gateway does, until it is killed. */
async function spawnGateway(): Promise<{ pid: number; url: string; child: ChildProcess }> {
  const code = `
    const { openEmbeddedPostgres } = await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))})
    const { url } = await openEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, use: 'gateway' })
    console.log(url)`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [url] = (await once(createInterface(child.stdout!), 'line')) as [string]
  return { pid: child.pid!, url, child }
}

const postmasterPid = async () =>
  Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])

test('the second start finds the data of the first, on the same port and with the same password', async () => {
  expect(hasEmbeddedPostgres(dataDir)).toBe(false)
  const first = await open('gateway')
  expect(first.adopted).toBe(false)
  expect(first.directory).toBe(join(dataDir, 'postgres'))
  await query(first.url, 'create table kept as select 42 as answer')
  const pid = await postmasterPid()
  await first.close()
  expect(isAlive(pid)).toBe(false)

  const second = await open('gateway')
  expect(second.url).toBe(first.url)
  expect(second.adopted).toBe(false)
  expect(hasEmbeddedPostgres(dataDir)).toBe(true)
  expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
})

test('the server has the settings that keep committed data and keep personal data out of the log', async () => {
  await putMadeCluster(dataDir)
  const { url } = await open('gateway', {})
  const names = ['fsync', 'synchronous_commit', 'data_checksums', 'shared_buffers', 'wal_compression', 'TimeZone']
  const quiet = ['log_min_error_statement', 'log_error_verbosity', 'listen_addresses', 'unix_socket_directories']
  const rows = await query(
    url,
    `select name, current_setting(name) from pg_settings where name in (${[...names, ...quiet].map(n => `'${n}'`)})`,
  )
  expect(Object.fromEntries(rows.map(row => [row.name, row.current_setting]))).toEqual({
    fsync: 'on',
    synchronous_commit: 'on',
    data_checksums: 'on',
    shared_buffers: '256MB',
    wal_compression: 'pglz',
    TimeZone: 'UTC',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
  })
  const [temp] = await query(url, `select has_database_privilege('public', 'gateway', 'temp') as everybody`)
  expect(temp).toEqual({ everybody: false })
  const others = `select has_database_privilege('public', datname, 'connect') as everybody from pg_database where datname in ('postgres', 'template1')`
  expect(await query(url, others)).toEqual([{ everybody: false }, { everybody: false }])
  await query(url, "create table person (email text primary key); insert into person values ('ana@example.com')")
  await expect(query(url, "insert into person values ('ana@example.com')")).rejects.toThrow('duplicate key')
  const log = await readFile(join(dataDir, 'postgres.log'), 'utf8')
  expect(log).toContain('duplicate key')
  expect(log).not.toContain('ana@example.com')
  expect((await stat(join(dataDir, 'postgres.json'))).mode & 0o777).toBe(0o600)
})

test('a gateway killed with SIGKILL leaves a server that the next one takes over', async () => {
  await putMadeCluster(dataDir)
  const killed = await spawnGateway()
  await query(killed.url, 'create table kept as select 42 as answer')
  const pid = await postmasterPid()
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  expect(isAlive(pid)).toBe(true)

  const next = await open('gateway')
  expect(next).toMatchObject({ adopted: true, url: killed.url })
  expect(await query(next.url, 'select answer from kept')).toEqual([{ answer: 42 }])
  await next.close()
  expect(isAlive(pid)).toBe(false)
})

test('a second gateway on the same folder is refused with the pid of the first', async () => {
  await putMadeCluster(dataDir)
  const first = await spawnGateway()
  await expect(openEmbeddedPostgres({ dataDir, use: 'gateway' })).rejects.toThrow(
    `Another gateway is already running on DATA_DIR ${dataDir} (pid ${first.pid}). Stop it first, or give this one its own DATA_DIR.`,
  )
  expect(await query(first.url, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('a command that runs beside a gateway does not stop the server, and the last process does', async () => {
  await putMadeCluster(dataDir)
  const gateway = await open('gateway')
  const pid = await postmasterPid()
  const command = await open('command')
  expect(command).toMatchObject({ adopted: true, url: gateway.url })
  await command.close()
  expect(await query(gateway.url, 'select 1 as one')).toEqual([{ one: 1 }])

  const longCommand = await open('command')
  await gateway.close()
  expect(await query(longCommand.url, 'select 1 as one')).toEqual([{ one: 1 }])
  await longCommand.close()
  expect(isAlive(pid)).toBe(false)
})

test('of simultaneous first starts one creates and starts the server and the others use it', async () => {
  const servers = await Promise.all([open('command'), open('command'), open('command')])
  expect(new Set(servers.map(server => server.url)).size).toBe(1)
  expect(servers.filter(server => !server.adopted)).toHaveLength(1)
  expect(await query(servers[0]!.url, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('commands that start and stop at the same time never stop the server that another one uses', async () => {
  await putMadeCluster(dataDir)
  const many = Array.from({ length: 12 }, async (_, i) => {
    const server = await openEmbeddedPostgres({ dataDir, use: 'command' })
    const rows = await query(server.url, `select ${i} as i, pg_sleep(random() * 0.05) is null as slept`)
    await server.close()
    return rows[0]?.i
  })
  expect(await Promise.all(many)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
})

test('a server killed under a running gateway is started again on the same port, and the gateway keeps its lock', async () => {
  await putMadeCluster(dataDir)
  const lines: string[] = []
  const logInfo = (line: string) => lines.push(line)
  const gateway = await openEmbeddedPostgres({ dataDir, use: 'gateway', settings: { fsync: 'off' }, logInfo })
  opened.push(gateway)
  process.kill(await postmasterPid(), 'SIGKILL')
  await expect.poll(() => lines, { timeout: 20_000 }).toEqual([expect.stringContaining('was lost and is back')])
  expect(await query(gateway.url, 'select 1 as one')).toEqual([{ one: 1 }])
  await expect(open('gateway')).rejects.toThrow(`pid ${process.pid}`)
})

test('a server that cannot be started again is reported once, and closing does not throw', async () => {
  await putMadeCluster(dataDir)
  const lost: Error[] = []
  const onLost = (error: Error) => lost.push(error)
  const gateway = await openEmbeddedPostgres({ dataDir, use: 'gateway', settings: { fsync: 'off' }, onLost })
  const pid = await postmasterPid()
  await rm(join(dataDir, 'postgres'), { recursive: true, force: true, maxRetries: 5 })
  process.kill(pid, 'SIGKILL')
  await expect.poll(() => lost.length, { timeout: 20_000 }).toBe(1)
  await gateway.close()
})
