import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeTestFolder, putMadeCluster } from '../../../../test/support/postgres.ts'
import { findNativePackage, prepareBinaries } from './binaries.ts'
import { type EmbeddedPostgresOptions, openEmbeddedPostgres } from './index.ts'
import { chooseServerUser, isAlive, isRoot, run } from './system.ts'

let folder: string
let dataDir: string
let cleanups: (() => Promise<unknown> | unknown)[]

beforeEach(async () => {
  folder = await makeTestFolder()
  dataDir = join(folder, 'data')
  cleanups = []
})

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
  await rm(folder, { recursive: true, force: true })
})

async function open(options: Partial<EmbeddedPostgresOptions> = {}) {
  const settings = { fsync: 'off' }
  const server = await openEmbeddedPostgres({ dataDir, use: 'gateway', settings, ...options })
  cleanups.push(server.close)
  return server
}

const openAndClose = () => open().then(server => server.close())

test('a postmaster.pid that names a running process that is not Postgres is stale', async () => {
  await putMadeCluster(dataDir)
  const foreign = spawn('sleep', ['60'])
  cleanups.push(() => foreign.kill('SIGKILL'))
  const pidFile = join(dataDir, 'postgres/postmaster.pid')
  await writeFile(pidFile, `${foreign.pid}\n${dataDir}/postgres\n1700000000\n1\n\n127.0.0.1\n0 0\nready   \n`)
  const server = await open()
  expect(server.adopted).toBe(false)
  expect(isAlive(foreign.pid!)).toBe(true)
  expect((await readFile(pidFile, 'utf8')).split('\n')[0]).not.toBe(String(foreign.pid))
})

test('a copy of a running data directory does not touch the server of the original', async () => {
  await putMadeCluster(dataDir)
  const original = await open()
  const copied = join(folder, 'copy')
  await run('cp', ['-a', dataDir, copied])
  const copy = await open({ dataDir: copied })
  expect(copy.adopted).toBe(false)
  expect(copy.port).not.toBe(original.port)
  await copy.close()
  expect((await open({ use: 'command' })).adopted).toBe(true)
})

test('a port that another program took is replaced and the new one saved', async () => {
  await putMadeCluster(dataDir)
  const first = await open()
  await first.close()
  const listener = createServer().listen(first.port, '127.0.0.1')
  await once(listener, 'listening')
  cleanups.push(() => listener.close())
  const second = await open()
  expect(second.port).not.toBe(first.port)
  expect(JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8')).port).toBe(second.port)
})

test('a server of ours that does not answer is stopped and started again', async () => {
  await putMadeCluster(dataDir)
  const code = `
    const { openEmbeddedPostgres } = await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))})
    await openEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, use: 'command' })
    process.kill(process.pid, 'SIGKILL')`
  await run(process.execPath, ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', code])
  const pidFile = join(dataDir, 'postgres/postmaster.pid')
  const lines = (await readFile(pidFile, 'utf8')).split('\n')
  const orphan = Number(lines[0])
  expect(isAlive(orphan)).toBe(true)
  await writeFile(pidFile, lines.with(3, '1').join('\n'))

  const server = await open()
  expect(server.adopted).toBe(false)
  expect(isAlive(orphan)).toBe(false)
})

test('an initdb that was killed in the middle leaves nothing after the next start', async () => {
  await mkdir(dataDir)
  await chmod(dataDir, 0o711)
  const dead = spawn('true')
  await once(dead, 'exit')
  const draft = join(dataDir, `postgres.new-${dead.pid}-0badcafe`)
  await mkdir(join(draft, 'made/base'), { recursive: true })
  await writeFile(join(draft, 'made/PG_VERSION'), '18\n')
  await openAndClose()
  expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres.json', 'postgres.log'])
})

test('a database of another Postgres version is not touched, and the error names both versions', async () => {
  await putMadeCluster(dataDir)
  await writeFile(join(dataDir, 'postgres/PG_VERSION'), '15\n')
  await expect(open()).rejects.toThrow(
    /was created by Postgres 15 and this gateway contains Postgres \d+: keep the gateway/,
  )
})

test('a wrong password and a damaged postgres.json are explained in one sentence', async () => {
  await putMadeCluster(dataDir)
  const file = join(dataDir, 'postgres.json')
  const saved = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...saved, password: 'wrong' }))
  await expect(open()).rejects.toThrow(`refuses the password in ${file}: restore that file`)
  expect(await readdir(join(dataDir, 'postgres'))).not.toContain('postmaster.pid')
  await writeFile(file, JSON.stringify(saved))
  await openAndClose()
  await writeFile(file, '{')
  await expect(open()).rejects.toThrow(`${file} is damaged`)
})

test('the error of a server that cannot start contains the reason', async () => {
  await putMadeCluster(dataDir)
  await expect(open({ settings: { fsync: 'off', shared_buffers: 'plenty' } })).rejects.toThrow(
    /The embedded database did not start: .*errors? \(see .*postgres\.log\)/,
  )
})

test('as root the database is kept outside a data directory that postgres cannot reach; otherwise it is inside', async () => {
  const closed = join(folder, 'closed')
  await mkdir(closed, { mode: 0o700 })
  const systemDir = join(folder, 'var-lib')
  const lines: string[] = []
  const options = { dataDir: join(closed, 'data'), systemDir, logInfo: (line: string) => lines.push(line) }
  const first = await open(options)
  await first.close()
  const second = await open(options)
  expect(second.url).toBe(first.url)
  expect(second.directory).toBe(first.directory)
  await second.close()
  await rm(options.dataDir, { recursive: true })
  const third = await open(options)
  expect(third.url).not.toBe(first.url)
  if (isRoot()) {
    expect(first.directory).toMatch(new RegExp(`^${systemDir}/data-[0-9a-f]{12}/postgres$`))
    expect(lines[0]).toContain(`cannot reach ${closed}/data; the database is in ${first.directory}`)
    expect(lines[1]).toContain('An older database of this DATA_DIR is left in')
  } else {
    expect(first.directory).toBe(join(closed, 'data/postgres'))
    expect(lines).toEqual([])
  }
})

test('binaries without library links, or unreachable for the user of the server, are made usable', async () => {
  const closed = join(folder, 'closed')
  await mkdir(closed, { mode: 0o700 })
  const found = await findNativePackage()
  const native = join(closed, 'native')
  await cp(found.folder, native, { recursive: true, verbatimSymlinks: true })
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  for (const { target } of links) await rm(join(closed, target), { force: true })
  const systemDir = join(folder, 'var-lib')
  const user = isRoot() ? await chooseServerUser() : undefined
  const options = { user, systemDir, logInfo: () => undefined }
  const prepared = await prepareBinaries({ ...found, folder: native }, options)
  expect(prepared.postgres).toBe(
    user ? `${systemDir}/postgres-${found.version}/bin/postgres` : `${native}/bin/postgres`,
  )
  expect((await run(prepared.initdb, ['--version'], { user })).output).toContain('PostgreSQL')
  expect(await prepareBinaries({ ...found, folder: native }, options)).toEqual(prepared)
})

test('a folder that root copied is given to the user of the server; an ordinary user keeps their files', async () => {
  await putMadeCluster(dataDir)
  const owner = (await stat(join(dataDir, 'postgres'))).uid
  if (isRoot()) await run('chown', ['-R', '0:0', dataDir])
  await openAndClose()
  expect((await stat(join(dataDir, 'postgres'))).uid).toBe(owner)
  const elsewhere = join(folder, 'link')
  await symlink(dataDir, elsewhere)
  expect((await open({ dataDir: elsewhere })).directory).toBe(join(dataDir, 'postgres'))
})
