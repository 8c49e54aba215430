import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import {
  chooseServerUser,
  findFreePort,
  isRoot,
  run,
  type ServerUser,
} from '../../src/platform/postgres/embedded/system.ts'
import { reapWithUs } from './reaper.ts'

/** Where Debian and Ubuntu put the server's programs, which are not in the PATH. */
const DEBIAN_FOLDER = '/usr/lib/postgresql'
const START_MS = 60_000

export type StockPostgres = {
  /** Of its administrator, for the database `postgres`. */
  url: string
  port: number
  password: string
  close: () => Promise<void>
}

export type StockOptions = {
  /** On top of the defaults. */
  settings?: Record<string, string>
  /** Lines of pg_hba.conf instead of those of initdb. */
  access?: string[]
  /** Files for the data directory, by name. */
  files?: Record<string, string>
}

/** The distribution's Postgres as it comes: nothing is set but where it listens. The folder is removed with it. */
export async function startStockServer(folder: string, options: StockOptions = {}): Promise<StockPostgres> {
  const binaries = newestBinaries()
  const user = isRoot() ? await chooseServerUser() : undefined
  if (user) await chown(folder, user.uid, user.gid)
  const password = randomBytes(12).toString('hex')
  const directory = await makeCluster(binaries, folder, password, user, options)
  const port = await findFreePort()
  const server = startServer(binaries, directory, user, {
    ...options.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
  })
  const close = async () => {
    await stop(server)
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  try {
    await untilItAnswers(server, port)
  } catch (error) {
    await close()
    throw error
  }
  return { url, port, password, close }
}

export function newestBinaries(): string {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).map(Number).filter(Number.isInteger) : []
  const newest = versions.sort((a, b) => b - a).find(version => existsSync(`${DEBIAN_FOLDER}/${version}/bin/initdb`))
  if (newest === undefined)
    throw new Error(`There is no Postgres in ${DEBIAN_FOLDER}. Run: node scripts/prepare-machine.mjs postgres`)
  return `${DEBIAN_FOLDER}/${newest}/bin`
}

async function makeCluster(
  binaries: string,
  folder: string,
  password: string,
  user: ServerUser | undefined,
  { access, files = {} }: StockOptions,
): Promise<string> {
  const directory = join(folder, 'stock')
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password)
  if (user) await chown(passwordFile, user.uid, user.gid)
  const args = ['-D', directory, '-U', 'postgres', '--pwfile', passwordFile, '--auth', 'scram-sha-256', '-E', 'UTF8']
  // Written to the disk by the first checkpoint in any case.
  const { code, output } = await run(`${binaries}/initdb`, [...args, '--no-sync'], { user })
  if (code !== 0) throw new Error(`initdb: ${output}`)
  const written = access ? { ...files, 'pg_hba.conf': access.map(line => `${line}\n`).join('') } : files
  for (const [name, text] of Object.entries(written)) {
    const file = join(directory, name)
    await writeFile(file, text)
    // Postgres refuses a private key that others may read.
    await chmod(file, 0o600)
    if (user) await chown(file, user.uid, user.gid)
  }
  return directory
}

function startServer(
  binaries: string,
  directory: string,
  user: ServerUser | undefined,
  settings: Record<string, string>,
): ChildProcess {
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const owner = user ? { uid: user.uid, gid: user.gid } : {}
  const server = spawn(`${binaries}/postgres`, ['-D', directory, ...args], {
    cwd: '/',
    stdio: ['ignore', 'ignore', 'ignore'],
    detached: true,
    ...owner,
  })
  reapWithUs(server)
  return server
}

/** SIGINT is Postgres's fast shutdown. */
async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  server.kill('SIGINT')
  await exited
}

async function untilItAnswers(server: ChildProcess, port: number): Promise<void> {
  const deadlineMs = performance.now() + START_MS
  while (!(await isAnswering(port))) {
    if (server.exitCode !== null || performance.now() > deadlineMs) throw new Error('The stock Postgres did not start')
    await sleep(50)
  }
}

/** Whatever it says, be it that SSL is missing or that the password is wrong, as long as it is not starting any more. */
async function isAnswering(port: number): Promise<boolean> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password: '', database: 'postgres' })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch (error) {
    return !['ECONNREFUSED', '57P03'].includes((error as { code: string }).code)
  } finally {
    await client.end().catch(() => {})
  }
}
