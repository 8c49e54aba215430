import { randomUUID } from 'node:crypto'
import { open, rename, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { EmbeddedPostgresError, NotStartedError } from './error.ts'
import { giveTo, giveToOwnerOf } from './folders.ts'
import { findFreePort, isFree } from './port.ts'
import { discardPidFile, isServerOf, type PidFile, readPidFile } from './postmaster.ts'
import { type ProbeResult, probe, refusal } from './probe.ts'
import { isAlive, pidExists } from './process.ts'
import { lastLine, run } from './run.ts'
import { writeSavedState } from './saved-state.ts'
import { SETTINGS_FILE, settingsText } from './settings.ts'

const POLL_MS = 100
const STOP_POLL_MS = 20
const LOG_EVERY_MS = 10_000
const START_ATTEMPTS = 5
const RETRY_MS = 500
/** Without a pid file: if something has the port, it is most likely another program. */
const PROBE_WITHOUT_PID_FILE_MS = 1_000
const MAX_REASON_BYTES = 16 * 1024
const LOG_LIMIT_BYTES = 10 * 1024 * 1024

/** Finds the running server or starts it. */
export async function ensureRunning(cluster: Cluster): Promise<{ port: number; adopted: boolean }> {
  await limitLogSize(cluster)
  const begun = Date.now()
  let adopted = true
  for (let attempt = 1; ; attempt++) {
    const port = await findRunning(cluster, begun).catch(async error => {
      if (!adopted) await stop(cluster, 'fast', 30)
      throw error
    })
    if (port !== undefined) return { port, adopted }
    const outcome = await start(cluster)
    adopted = outcome.state === 'already running'
    if (outcome.state !== 'failed') continue
    // Another process took the port or started the server first, or child processes of a killed server are still ending.
    if (attempt >= START_ATTEMPTS) throw notStarted(cluster, outcome.output)
    await sleep(RETRY_MS)
  }
}

/** Waits for a server that starts or stops, and stops a server that does not answer. */
async function findRunning(cluster: Cluster, begun: number): Promise<number | undefined> {
  const { directory, saved, logInfo } = cluster
  const since = Date.now()
  let lastLogged = begun
  for (;;) {
    const pidFile = await readPidFile(directory)
    const port = pidFile?.port ?? saved.port
    const result = await (pidFile ? probe(cluster, port) : probe(cluster, port, PROBE_WITHOUT_PID_FILE_MS))
    if (result === 'ready') return port
    if (!pidFile) return undefined
    if (!(await isServerOf(directory, pidFile.pid))) {
      // Postgres ignores a pid file whose pid does not exist, but refuses to start for any other pid, even a zombie's.
      if (pidExists(pidFile.pid)) await discardPidFile(directory, pidFile)
      return undefined
    }
    if (result === 'wrong-password' || result === 'full') throw refusal(result, cluster)
    if (result !== 'busy' && Date.now() - since > timeoutMs(result, pidFile)) return stopUnresponsive(cluster)
    if (Date.now() - lastLogged >= LOG_EVERY_MS) {
      lastLogged = Date.now()
      const waited = seconds(lastLogged - begun)
      logInfo(`The embedded database is not ready yet (recovery after a crash can take long): ${waited} s.`)
    }
    // Every refused connection is a line in the server's log: probe less often during a long recovery.
    await sleep(Math.min(1_000, POLL_MS + (Date.now() - since) / 20))
  }
}

/** Long, because a machine under load answers slowly and a running gateway may be using this server. */
function timeoutMs(result: Extract<ProbeResult, 'no-answer' | 'absent'>, { status }: PidFile): number {
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

/** The server finishes on its own. */
export async function askToStop({ directory, binaries, user }: Cluster, mode: 'fast' | 'immediate'): Promise<void> {
  await run(binaries.pgCtl, ['stop', '-D', directory, '--silent', '--no-wait', '-m', mode], { user, detached: true })
}

/**
 * Waits here and not in pg_ctl: another process may start the next server at once, and pg_ctl would read the pid file of the new
 * server and keep waiting.
 */
export async function stop(cluster: Cluster, mode: 'fast' | 'immediate', timeoutSeconds: number): Promise<boolean> {
  const running = await readPidFile(cluster.directory)
  if (!running) return true
  await askToStop(cluster, mode)
  const deadline = Date.now() + timeoutSeconds * 1_000
  while (Date.now() < deadline) {
    // Not the pid file: it is removed shortly before the process ends and frees its port, which the next start needs.
    if (!isAlive(running.pid)) return true
    await sleep(STOP_POLL_MS)
  }
  return false
}

/** The saved port, or another one if another program has it; undefined if our own server was just started on it. */
async function choosePort({ saved, dataDir, directory }: Cluster): Promise<number | undefined> {
  if (await isFree(saved.port)) return saved.port
  if (await hasServer(directory)) return undefined
  saved.port = await findFreePort()
  await writeSavedState(dataDir, saved)
  return saved.port
}

async function hasServer(directory: string): Promise<boolean> {
  const pidFile = await readPidFile(directory)
  return pidFile !== undefined && isServerOf(directory, pidFile.pid)
}

async function writeSettings({ directory, settings, user }: Cluster, port: number): Promise<void> {
  const file = join(directory, SETTINGS_FILE)
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, settingsText(port, settings), { mode: 0o600 })
  if (user) await giveTo(user, draft)
  await rename(draft, file)
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

const seconds = (ms: number) => Math.round(ms / 1000)
