import { randomUUID } from 'node:crypto'
import { open, readFile, realpath, rename, rm, stat, truncate } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Cluster, writeSettings } from './cluster.ts'
import { giveToOwnerOf, writeSavedState } from './data-dir.ts'
import { codeOf, EmbeddedPostgresError, NotStartedError } from './errors.ts'
import { findFreePort, isAlive, isFree, lastLine, pidExists, run } from './system.ts'

const POLL_MS = 100
const STOP_POLL_MS = 20
const LOG_EVERY_MS = 10_000
const START_ATTEMPTS = 5
const RETRY_MS = 500
/** Without a pid file: if something has the port, it is most likely another program. */
const CONNECT_WITHOUT_PID_FILE_MS = 1_000
const CONNECT_MS = 5_000
const MAX_REASON_BYTES = 16 * 1024
const LOG_LIMIT_BYTES = 10 * 1024 * 1024

export type Connection = { client: pg.Client; port: number; adopted: boolean }

/** Finds the running server or starts it, and connects to it. */
export async function connectToServer(cluster: Cluster): Promise<Connection> {
  await limitLogSize(cluster)
  const begun = Date.now()
  let adopted = true
  for (let attempt = 1; ; attempt++) {
    const running = await findRunning(cluster, begun).catch(async error => {
      if (!adopted) await stop(cluster, 'fast', 30)
      throw error
    })
    if (running) return { ...running, adopted }
    const outcome = await start(cluster)
    adopted = outcome.state === 'already running'
    if (outcome.state !== 'failed') continue
    // Another process took the port or started the server first, or child processes of a killed server are still ending.
    if (attempt >= START_ATTEMPTS) throw notStarted(cluster, outcome.output)
    await sleep(RETRY_MS)
  }
}

/** Waits for a server that starts or stops, and stops a server that does not answer. */
async function findRunning(cluster: Cluster, begun: number): Promise<Omit<Connection, 'adopted'> | undefined> {
  const { directory, saved, logInfo } = cluster
  const since = Date.now()
  let lastLogged = begun
  for (;;) {
    const pidFile = await readPidFile(directory)
    const port = pidFile?.port ?? saved.port
    const result = await connect(cluster, port, pidFile ? CONNECT_MS : CONNECT_WITHOUT_PID_FILE_MS)
    if (typeof result !== 'string') return { client: result, port }
    if (!pidFile) return undefined
    if (!(await isServerOf(directory, pidFile.pid))) {
      // Postgres ignores a pid file whose pid does not exist, but refuses to start for any other pid, even a zombie's.
      if (pidExists(pidFile.pid)) await discardPidFile(directory, pidFile)
      return undefined
    }
    if (result === 'wrong-password' || result === 'full') throw refusalError(result, cluster)
    if (result !== 'busy' && Date.now() - since > timeoutMs(result, pidFile)) return stopUnresponsive(cluster)
    if (Date.now() - lastLogged >= LOG_EVERY_MS) {
      lastLogged = Date.now()
      const waitedSeconds = Math.round((lastLogged - begun) / 1000)
      logInfo(`The embedded database is not ready yet (recovery after a crash can take long): ${waitedSeconds} s.`)
    }
    // Every refused connection is a line in the server's log: try less often during a long recovery.
    await sleep(Math.min(1_000, POLL_MS + (Date.now() - since) / 20))
  }
}

/** Long, because a machine under load answers slowly and a running gateway may be using this server. */
function timeoutMs(result: 'no-answer' | 'absent', { status }: PidFile): number {
  if (result === 'no-answer') return 60_000
  return status === 'ready' ? 3_000 : 15_000
}

async function stopUnresponsive(cluster: Cluster): Promise<undefined> {
  cluster.logInfo('An embedded database is running but does not answer; restarting it.')
  if ((await stop(cluster, 'fast', 30)) || (await stop(cluster, 'immediate', 30))) return undefined
  throw new EmbeddedPostgresError(
    `A Postgres server of ${cluster.directory} neither answers nor stops: end its process by hand (the first line of postmaster.pid there is its number).`,
  )
}

type StartOutcome = { state: 'started' | 'already running' } | { state: 'failed'; output: string }

async function start(cluster: Cluster): Promise<StartOutcome> {
  const { binaries, directory, user } = cluster
  const port = await choosePort(cluster)
  if (port === undefined) return { state: 'already running' }
  await writeSettings(cluster, port)
  const log = await open(logOf(cluster), 'a+', 0o600)
  try {
    const { size } = await log.stat()
    const begun = Date.now()
    const args = ['start', '-D', directory, '--silent', '--wait', '-t', String(LOG_EVERY_MS / 1000)]
    const { code } = await run(binaries.pgCtl, args, { user, outputTo: log.fd, detached: true })
    if (code === 0) return { state: 'started' }
    if (await hasServer(directory)) {
      // A server that needs longer than -t is still starting: findRunning waits for it.
      return { state: Date.now() - begun < LOG_EVERY_MS ? 'already running' : 'started' }
    }
    const { buffer, bytesRead } = await log.read(Buffer.alloc(MAX_REASON_BYTES), 0, MAX_REASON_BYTES, size)
    return { state: 'failed', output: buffer.toString('utf8', 0, bytesRead) }
  } finally {
    await log.close()
  }
}

/**
 * False: the server has not ended within the time, and finishes on its own. Waits here and not in pg_ctl: another process may start
 * the next server at once, and pg_ctl would read the pid file of the new server and keep waiting.
 */
export async function stop(cluster: Cluster, mode: 'fast' | 'immediate', timeoutSeconds: number): Promise<boolean> {
  const running = await readPidFile(cluster.directory)
  if (!running) return true
  const { directory, binaries, user } = cluster
  await run(binaries.pgCtl, ['stop', '-D', directory, '--silent', '--no-wait', '-m', mode], { user, detached: true })
  const deadline = Date.now() + timeoutSeconds * 1_000
  while (Date.now() < deadline) {
    // Not the pid file: it is removed shortly before the process ends and frees its port, which the next start needs.
    if (!isAlive(running.pid)) return true
    await sleep(STOP_POLL_MS)
  }
  return false
}

/** The saved port, or another one if another program has it; undefined if our own server was just started on it. */
async function choosePort(cluster: Cluster): Promise<number | undefined> {
  const { saved, directory } = cluster
  if (await isFree(saved.port)) return saved.port
  if (await hasServer(directory)) return undefined
  await savePort(cluster, await findFreePort())
  return saved.port
}

export async function savePort({ dataDir, saved }: Cluster, port: number): Promise<void> {
  if (port === saved.port) return
  saved.port = port
  await writeSavedState(dataDir, saved)
}

async function hasServer(directory: string): Promise<boolean> {
  const pidFile = await readPidFile(directory)
  return pidFile !== undefined && isServerOf(directory, pidFile.pid)
}

const logOf = ({ dataDir }: Cluster) => join(dataDir, 'postgres.log')

/** The server opens its log for appending, so truncating it is safe while the server runs. */
async function limitLogSize(cluster: Cluster): Promise<void> {
  const log = logOf(cluster)
  await (await open(log, 'a', 0o600)).close()
  await giveToOwnerOf(cluster.dataDir, log)
  const { size } = await stat(log)
  if (size > LOG_LIMIT_BYTES) await truncate(log)
}

function notStarted(cluster: Cluster, output: string): NotStartedError {
  const fatal = output.split('\n').findLast(line => /FATAL|PANIC/.test(line))
  const reason = fatal?.replace(/^.*?(FATAL|PANIC):\s*/, '') ?? lastLine(output)
  return new NotStartedError(`The embedded database did not start: ${reason} (see ${logOf(cluster)}).`)
}

/** Our own connections use this one, so that "gateway" can be dropped and restored while the server runs. */
const MAINTENANCE_DATABASE = 'postgres'

/**
 * busy: the server starts or stops. wrong-password: it refuses our password. full: max_connections is reached.
 * no-answer: nothing came in time. absent: no server, or the server of another folder.
 */
type Refusal = 'busy' | 'wrong-password' | 'full' | 'no-answer' | 'absent'

async function connect(cluster: Cluster, port: number, timeoutMs: number): Promise<pg.Client | Refusal> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'gateway',
    password: cluster.saved.password,
    database: MAINTENANCE_DATABASE,
    ssl: false,
    keepAlive: true,
    application_name: `email-gateway ${cluster.use} pid=${process.pid}`,
    connectionTimeoutMillis: timeoutMs,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ data_directory: string }>('show data_directory')
    if (await isSameFolder(rows[0]!.data_directory, cluster.directory)) return client
    await client.end()
    return 'absent'
  } catch (error) {
    return refusalOf(codeOf(error))
  }
}

function refusalOf(code: string | undefined): Refusal {
  if (code === '57P03' || code === '57P01') return 'busy'
  if (code === '28P01' || code === '28000') return 'wrong-password'
  if (code === '53300') return 'full'
  return code === 'ECONNREFUSED' ? 'absent' : 'no-answer'
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map(path => realpath(path).catch(() => path)))
  return a === b
}

function refusalError(refusal: 'wrong-password' | 'full', { dataDir, directory }: Cluster): EmbeddedPostgresError {
  if (refusal === 'full')
    return new EmbeddedPostgresError(`The embedded database in ${directory} has no connection left.`)
  return new EmbeddedPostgresError(
    `The embedded database in ${directory} refuses the password in ${dataDir}/postgres.json: restore that file from the backup the database belongs to.`,
  )
}

/** postmaster.pid, which Postgres writes: pid, folder, start time, port, … one per line. */
type PidFile = { pid: number; port: number | undefined; status: 'ready' | 'starting'; text: string }

const pidFileOf = (directory: string) => join(directory, 'postmaster.pid')

async function readPidFile(directory: string): Promise<PidFile | undefined> {
  const text = await readFile(pidFileOf(directory), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const lines = text.split('\n')
  const pid = Math.abs(Number(lines[0]))
  if (!Number.isInteger(pid) || pid === 0) return undefined
  const status = lines[7]?.trim() === 'ready' ? 'ready' : 'starting'
  return { pid, port: Number(lines[3]) || undefined, status, text }
}

/**
 * Whether the process is the server of exactly this folder. The pid file does not prove it: the pid may have been reused, and
 * in a copied folder the file names the server of the original.
 */
async function isServerOf(directory: string, pid: number): Promise<boolean> {
  const [program, ...args] = await commandLine(pid)
  if (!program || !/^postgres(\.exe)?$/.test(basename(program))) return false
  return `${args.join(' ')} `.startsWith(`-D ${directory} `)
}

async function commandLine(pid: number): Promise<string[]> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return text.split('\0')
  }
  const listed = await run('ps', ['-p', String(pid), '-o', 'command=']).catch(() => undefined)
  const [program, args] = (listed?.output ?? '').split(/ (?=-D )/)
  return program && args ? [program, args] : []
}

async function discardPidFile(directory: string, stale: PidFile): Promise<void> {
  const aside = `${pidFileOf(directory)}.stale-${randomUUID()}`
  await rename(pidFileOf(directory), aside).catch(() => undefined)
  const text = await readFile(aside, 'utf8').catch(() => undefined)
  // Another process may have discarded the stale file first, and this is the file of the server it started.
  if (text !== undefined && text !== stale.text) await rename(aside, pidFileOf(directory))
  else await rm(aside, { force: true })
}
