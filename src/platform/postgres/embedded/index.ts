import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type Cluster, prepareCluster } from './cluster.ts'
import { readSavedState } from './data-dir.ts'
import { codeOf, EmbeddedPostgresError, explainNoSpace, isServerGone, NoSpaceError } from './errors.ts'
import { type Connection, connectToServer, savePort, stop } from './server.ts'
import { isAlive } from './system.ts'

export { giveToOwnerOf, makeDataDir } from './data-dir.ts'
export { EmbeddedPostgresError, FULL_BYTES, findDiskProblem, freeBytes, NEEDED_BYTES } from './errors.ts'

export type EmbeddedPostgres = {
  /** postgres://gateway:<password>@127.0.0.1:<port>/gateway */
  url: string
  directory: string
  /** Not below dataDir, because the server's user cannot reach that. */
  outside: boolean
  port: number
  /** The server was already running: left by a killed gateway, or shared with another process. */
  adopted: boolean
  /** Stops the server unless another process uses it. */
  close(): Promise<void>
  /** The same, without waiting until the server has stopped. */
  abandon(): Promise<void>
}

export type EmbeddedPostgresOptions = {
  dataDir: string
  /** One gateway per dataDir; commands share its server. */
  use: 'gateway' | 'command'
  logInfo?: (line: string) => void
  /** For problems that the operator has to solve. Default: `logInfo`. */
  logError?: (line: string) => void
  /** The server stopped and could not be started again on the same port. */
  onLost?: (error: Error) => void
  /** Overrides of the server's settings; used only if this call starts the server. */
  settings?: Record<string, string>
  /** Used only as root: a folder for what the server's user cannot reach in dataDir or node_modules. */
  systemDir?: string
}

export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, use, logInfo = () => undefined, logError = logInfo } = options
  const { settings = {}, systemDir = '/var/lib/email-gateway' } = options
  const { onLost = error => logInfo(`The embedded database is lost: ${error.message}`) } = options
  const cluster = await prepareCluster({ dataDir, use, systemDir, settings, logInfo, logError })
  const connection = await connectAndLock(cluster)
  const { port, adopted } = connection
  const { directory, saved } = cluster
  const url = `postgres://gateway:${saved.password}@127.0.0.1:${port}/gateway`
  const outside = saved.directory !== undefined
  return { url, directory, outside, port, adopted, ...keepConnection(cluster, connection, onLost) }
}

/** Creates nothing. */
export function hasEmbeddedPostgres(dataDir: string): boolean {
  const saved = readSavedState(dataDir)
  return saved !== undefined && existsSync(join(saved.directory ?? join(dataDir, 'postgres'), 'PG_VERSION'))
}

const CONNECT_ATTEMPTS = 20
const RETRY_MS = 100

/** Finds or starts the server and takes the usage locks; tries again when another process stopped the server in between. */
async function connectAndLock(cluster: Cluster): Promise<Connection> {
  for (let attempt = 1; ; attempt++) {
    const connection = await connectToServer(cluster).catch(async error => {
      throw await explainNoSpace(error, cluster.directory)
    })
    const { client, port } = connection
    try {
      await savePort(cluster, port)
      await takeUsageLocks(client, cluster)
      await ensureDatabase(client)
      return connection
    } catch (error) {
      await client.end().catch(() => undefined)
      if (!isServerGone(error) || attempt >= CONNECT_ATTEMPTS) throw await explainNoSpace(error, cluster.directory)
      await sleep(RETRY_MS)
    }
  }
}

/**
 * Session advisory locks: Postgres releases them when their connection ends, so a killed process leaves no stale lock.
 * Every process holds IN_USE in shared mode. A process that gets it in exclusive mode is the last one and may stop the server.
 * GATEWAY is held by the one gateway of this DATA_DIR.
 */
const NAMESPACE = 0x656d6777
const IN_USE = `${NAMESPACE}, 1`
const GATEWAY = `${NAMESPACE}, 2`

const KILLED_GATEWAY_TIMEOUT_MS = 10_000

/** Blocks while the last process stops the server; that breaks this connection, and the caller starts the server again. */
async function takeUsageLocks(client: pg.Client, { use, dataDir }: Cluster): Promise<void> {
  await client.query(`select pg_advisory_lock_shared(${IN_USE})`)
  if (use === 'command') return
  const deadline = Date.now() + KILLED_GATEWAY_TIMEOUT_MS
  while (!(await tryLock(client, GATEWAY))) {
    const holder = await gatewayPid(client)
    // A gateway that was just killed keeps the lock until the server notices the closed connection.
    if (Date.now() > deadline || (holder !== undefined && isAlive(holder))) {
      throw new EmbeddedPostgresError(
        `Another gateway is already running on DATA_DIR ${dataDir} (pid ${holder ?? 'unknown'}). Stop it first, or give this one its own DATA_DIR.`,
      )
    }
    await sleep(RETRY_MS)
  }
}

async function gatewayPid(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ application_name: string }>(
    `select application_name from pg_locks join pg_stat_activity using (pid)
      where locktype = 'advisory' and granted and (classid, objid, objsubid) = (${GATEWAY}, 2)`,
  )
  const pid = /pid=(\d+)/.exec(rows[0]?.application_name ?? '')?.[1]
  return pid === undefined ? undefined : Number(pid)
}

async function tryLock(client: pg.Client, key: string): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${key}) as taken`)
  return rows[0]?.taken === true
}

async function ensureDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select from pg_database where datname = 'gateway'")
  if (rowCount) return
  try {
    await client.query('create database gateway')
    // The roles of companies need no temporary tables, and could fill the disk with them.
    await client.query('revoke temporary on database gateway from public')
    // Nor other databases: in "postgres" they could take the locks that commands and starts wait for.
    await client.query('revoke connect on database postgres, template1 from public')
  } catch (error) {
    // Another process created it in between.
    if (codeOf(error) !== '42P04' && codeOf(error) !== '23505') throw error
  }
}

const STOP_TIMEOUT_SECONDS = 120
/** Delay between starts while the disk is full; logged once a minute. */
const NO_SPACE_RETRY_MS = { first: 1_000, longest: 10_000 }
const LOG_AGAIN_MS = 60_000

/**
 * Keeps the connection and its usage locks until close(); without the locks another process would stop the server. A server that
 * crashed or was killed is started again on the same port, because the gateway's pools reconnect to that port.
 */
function keepConnection(
  cluster: Cluster,
  { client: first, port }: Connection,
  onLost: (error: Error) => void,
): Pick<EmbeddedPostgres, 'close' | 'abandon'> {
  let client: pg.Client | undefined
  let reconnecting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  const closed = new AbortController()

  function watch(current: pg.Client): void {
    client = current
    current.once('end', () => {
      client = undefined
      if (!closing) reconnecting = reconnect().catch(error => void (closing || onLost(error)))
    })
  }

  async function reconnect(): Promise<void> {
    const next = await connectWhenDiskHasSpace(cluster, closed.signal)
    watch(next.client)
    if (next.port !== port)
      throw new EmbeddedPostgresError(
        `The embedded database came back on port ${next.port} instead of ${port}: restart the gateway.`,
      )
    cluster.logInfo('The connection to the embedded database was lost and is back.')
  }

  async function release(stopTimeoutSeconds: number): Promise<void> {
    closed.abort()
    await reconnecting
    if (!client) return
    try {
      await client.query('select pg_advisory_unlock_all()')
      // No other process uses the server, and new ones wait in takeUsageLocks until this connection ends.
      const isLast = await tryLock(client, IN_USE)
      if (!isLast || (await stop(cluster, 'fast', stopTimeoutSeconds)) || stopTimeoutSeconds === 0) return
      cluster.logInfo(
        `The embedded database is still stopping after ${stopTimeoutSeconds} s; it will finish on its own.`,
      )
    } catch (error) {
      if (!isServerGone(error)) throw error
    } finally {
      await client?.end().catch(() => undefined)
    }
  }

  function close(stopTimeoutSeconds = STOP_TIMEOUT_SECONDS): Promise<void> {
    closing ??= release(stopTimeoutSeconds)
    return closing
  }

  watch(first)
  return { close: () => close(), abandon: () => close(0) }
}

async function connectWhenDiskHasSpace(cluster: Cluster, closed: AbortSignal): Promise<Connection> {
  let loggedMs = Number.NEGATIVE_INFINITY
  for (let waitMs = NO_SPACE_RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, NO_SPACE_RETRY_MS.longest)) {
    try {
      return await connectAndLock(cluster)
    } catch (error) {
      if (!(error instanceof NoSpaceError) || closed.aborted) throw error
      if (performance.now() - loggedMs > LOG_AGAIN_MS) {
        loggedMs = performance.now()
        cluster.logError(error.message)
      }
      await sleep(waitMs, undefined, { signal: closed })
    }
  }
}
