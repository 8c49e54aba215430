import { randomUUID } from 'node:crypto'
import { open, rename, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { EmbeddedPostgresError, NotStartedError } from './error.ts'
import { giveTo, giveToOwnerOf } from './folders.ts'
import { saveState } from './memory.ts'
import { findFreePort, isFree } from './port.ts'
import { discardPidFile, isServerOf, type PidFile, readPidFile } from './postmaster.ts'
import { ask, refusal } from './probe.ts'
import { isAlive, isTaken } from './process.ts'
import { lastLine, run } from './run.ts'
import { SETTINGS_FILE, settingsText } from './settings.ts'

const POLL_MS = 100
const STOP_POLL_MS = 20
const SAY_EVERY_MS = 10_000
const START_ATTEMPTS = 5
const RETRY_MS = 500
/** How long to wait for the answer of a server that left no notice; most likely another program has the port now. */
const UNLIKELY_MS = 1_000
const REASON_BYTES = 16 * 1024
const LOG_LIMIT_BYTES = 10 * 1024 * 1024

/** The port of the running server: found, or started by us. */
export async function bringUp(cluster: Cluster): Promise<{ port: number; adopted: boolean }> {
  await boundLog(cluster)
  const begun = Date.now()
  let adopted = true
  for (let attempt = 1; ; attempt++) {
    const port = await findRunning(cluster, begun).catch(async error => {
      if (!adopted) await stop(cluster, 'fast', 30)
      throw error
    })
    if (port !== undefined) return { port, adopted }
    const outcome = await start(cluster)
    adopted = outcome.state === 'already there'
    if (outcome.state !== 'failed') continue
    // Another process took the port or was faster; or children of a killed server are still ending.
    if (attempt >= START_ATTEMPTS) throw notStarted(cluster, outcome.output)
    await sleep(RETRY_MS)
  }
}

/** Waits for a server that starts or stops, and stops one that does not answer. */
async function findRunning(cluster: Cluster, begun: number): Promise<number | undefined> {
  const { directory, memory, say } = cluster
  const since = Date.now()
  let said = begun
  for (;;) {
    const notice = await readPidFile(directory)
    const port = notice?.port ?? memory.port
    const answer = notice ? await ask(cluster, port) : await ask(cluster, port, UNLIKELY_MS)
    if (answer === 'ours') return port
    if (!notice) return undefined
    if (!(await isServerOf(directory, notice.pid))) {
      // Postgres itself passes over a number that nobody has, but takes any other for a server, be it a zombie.
      if (isTaken(notice.pid)) await discardPidFile(directory, notice)
      return undefined
    }
    if (answer === 'denied' || answer === 'full') throw refusal(answer, cluster)
    if (answer !== 'busy' && Date.now() - since > patienceMs(answer, notice)) return stopSilent(cluster)
    if (Date.now() - said >= SAY_EVERY_MS) {
      said = Date.now()
      say(`The embedded database is not ready yet (recovery after a crash can take long): ${seconds(said - begun)} s.`)
    }
    // Every refused attempt is a line in the server's log: ask less often in a long recovery.
    await sleep(Math.min(1_000, POLL_MS + (Date.now() - since) / 20))
  }
}

/** A machine under load is slow to answer, and a gateway may be at work on that server: do not take it for dead. */
function patienceMs(answer: 'silent' | 'nobody', { status }: PidFile): number {
  if (answer === 'silent') return 60_000
  return status === 'ready' ? 3_000 : 15_000
}

async function stopSilent(cluster: Cluster): Promise<undefined> {
  cluster.say('An embedded database is running but does not answer; restarting it.')
  if ((await stop(cluster, 'fast', 30)) || (await stop(cluster, 'immediate', 30))) return undefined
  throw new EmbeddedPostgresError(
    `A Postgres server of ${cluster.directory} neither answers nor stops: end its process by hand (the first line of postmaster.pid there is its number).`,
  )
}

type Outcome = { state: 'started' | 'already there' } | { state: 'failed'; output: string }

async function start(cluster: Cluster): Promise<Outcome> {
  const { binaries, directory, user } = cluster
  const port = await choosePort(cluster)
  if (port === undefined) return { state: 'already there' }
  await writeSettings(cluster, port)
  const log = await open(logOf(cluster), 'a+', 0o600)
  try {
    const { size } = await log.stat()
    const begun = Date.now()
    const args = ['start', '-D', directory, '--silent', '--wait', '-t', String(SAY_EVERY_MS / 1000)]
    const { code } = await run(binaries.pgCtl, args, { user, outputTo: log.fd, detached: true })
    if (code === 0) return { state: 'started' }
    if (await hasServer(directory)) {
      // A server that needs longer than -t is alive all the same: findRunning goes on waiting for it.
      return { state: Date.now() - begun < SAY_EVERY_MS ? 'already there' : 'started' }
    }
    const { buffer, bytesRead } = await log.read(Buffer.alloc(REASON_BYTES), 0, REASON_BYTES, size)
    return { state: 'failed', output: buffer.toString('utf8', 0, bytesRead) }
  } finally {
    await log.close()
  }
}

/**
 * Waits here and not in pg_ctl: another process may start the next server at once, and pg_ctl would take that one's
 * notice for the old one's and wait on.
 */
export async function stop(cluster: Cluster, mode: 'fast' | 'immediate', timeoutSeconds: number): Promise<boolean> {
  const { directory, binaries, user } = cluster
  const running = await readPidFile(directory)
  if (!running) return true
  await run(binaries.pgCtl, ['stop', '-D', directory, '--silent', '--no-wait', '-m', mode], { user, detached: true })
  const deadline = Date.now() + timeoutSeconds * 1_000
  while (Date.now() < deadline) {
    // Its notice goes a moment before the process and its port do: who starts the next one needs the port.
    if (!isAlive(running.pid)) return true
    await sleep(STOP_POLL_MS)
  }
  return false
}

/** The remembered port, or another one when somebody else has it; undefined when our server was just started on it. */
async function choosePort({ memory, dataDir, directory }: Cluster): Promise<number | undefined> {
  if (await isFree(memory.port)) return memory.port
  if (await hasServer(directory)) return undefined
  memory.port = await findFreePort()
  await saveState(dataDir, memory)
  return memory.port
}

async function hasServer(directory: string): Promise<boolean> {
  const notice = await readPidFile(directory)
  return notice !== undefined && isServerOf(directory, notice.pid)
}

async function writeSettings({ directory, settings, user }: Cluster, port: number): Promise<void> {
  const file = join(directory, SETTINGS_FILE)
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, settingsText(port, settings), { mode: 0o600 })
  if (user) await giveTo(user, draft)
  await rename(draft, file)
}

const logOf = ({ dataDir }: Cluster) => join(dataDir, 'postgres.log')

/** The server appends, so cutting the file is safe even while one runs. */
async function boundLog(cluster: Cluster): Promise<void> {
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
