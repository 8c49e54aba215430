import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Cluster } from './cluster.ts'
import { explainNoSpace } from './disk.ts'
import { EmbeddedPostgresError, isServerGone, NoSpaceError } from './error.ts'
import { writeSavedState } from './saved-state.ts'
import { askToStop, ensureRunning, stop } from './server.ts'
import { acquireUsageLocks, releaseUsageLocks, type ServerUse } from './usage-locks.ts'

const CONNECT_ATTEMPTS = 20
const RETRY_MS = 100
const STOP_TIMEOUT_SECONDS = 120
/** Delay between starts while the disk is full; logged once a minute. */
const NO_SPACE_RETRY_MS = { first: 1_000, longest: 10_000 }
const LOG_AGAIN_MS = 60_000

export type ServerConnection = { client: pg.Client; port: number; adopted: boolean }

/** Finds or starts the server and takes the usage locks; tries again when another process stopped the server in between. */
export async function connectToServer(cluster: Cluster, use: ServerUse): Promise<ServerConnection> {
  try {
    return await connectWithRetries(cluster, use)
  } catch (error) {
    throw await explainNoSpace(error, cluster.directory)
  }
}

async function connectWithRetries(cluster: Cluster, use: ServerUse): Promise<ServerConnection> {
  for (let attempt = 1; ; attempt++) {
    const { port, adopted } = await ensureRunning(cluster)
    if (port !== cluster.saved.port) await savePort(cluster, port)
    try {
      return { client: await acquireUsageLocks(cluster, port, use), port, adopted }
    } catch (error) {
      if (!isServerGone(error) || attempt >= CONNECT_ATTEMPTS) throw error
      await sleep(RETRY_MS)
    }
  }
}

async function savePort(cluster: Cluster, port: number): Promise<void> {
  cluster.saved.port = port
  await writeSavedState(cluster.dataDir, cluster.saved)
}

type ConnectionOptions = {
  cluster: Cluster
  use: ServerUse
  connection: ServerConnection
  onLost: (error: Error) => void
}

/**
 * Keeps the connection and its usage locks until close(); without the locks another process would stop the server. A server that
 * crashed or was killed is started again on the same port, because the gateway's pools reconnect to that port.
 */
export function keepConnection({ cluster, use, connection, onLost }: ConnectionOptions): {
  close: () => Promise<void>
  abandon: () => Promise<void>
} {
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
    const next = await connectWhenDiskHasSpace(cluster, use, closed.signal)
    watch(next.client)
    if (next.port !== connection.port) throw portChanged(connection.port, next.port)
    cluster.logInfo('The connection to the embedded database was lost and is back.')
  }

  async function release(stopIt: (cluster: Cluster) => Promise<unknown>): Promise<void> {
    closed.abort()
    await reconnecting
    if (!client) return
    try {
      if ((await releaseUsageLocks(client)) === 'last') await stopIt(cluster)
    } catch (error) {
      if (!isServerGone(error)) throw error
    } finally {
      await client?.end().catch(() => undefined)
    }
  }

  function close(): Promise<void> {
    closing ??= release(stopServer)
    return closing
  }

  function abandon(): Promise<void> {
    closing ??= release(one => askToStop(one, 'fast'))
    return closing
  }

  watch(connection.client)
  return { close, abandon }
}

async function connectWhenDiskHasSpace(
  cluster: Cluster,
  use: ServerUse,
  closed: AbortSignal,
): Promise<ServerConnection> {
  let loggedMs = Number.NEGATIVE_INFINITY
  for (let waitMs = NO_SPACE_RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, NO_SPACE_RETRY_MS.longest)) {
    try {
      return await connectToServer(cluster, use)
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

async function stopServer(cluster: Cluster): Promise<void> {
  if (await stop(cluster, 'fast', STOP_TIMEOUT_SECONDS)) return
  cluster.logInfo(`The embedded database is still stopping after ${STOP_TIMEOUT_SECONDS} s; it will finish on its own.`)
}

function portChanged(from: number, to: number): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The embedded database came back on port ${to} instead of ${from}: restart the gateway.`,
  )
}
