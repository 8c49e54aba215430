import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Cluster } from './cluster.ts'
import { nameNoSpace } from './disk.ts'
import { EmbeddedPostgresError, NoSpaceError } from './error.ts'
import { isGone, letGo, takeHold, type Use } from './hold.ts'
import { saveState } from './memory.ts'
import { bringUp, stop } from './server.ts'

const JOIN_ATTEMPTS = 20
const RETRY_MS = 100
const STOP_TIMEOUT_SECONDS = 120
/** While the disk is full, the server is started again and again, and the log says so once a minute. */
const NO_SPACE_WAIT_MS = { first: 1_000, longest: 10_000 }
const SAY_AGAIN_MS = 60_000

export type Joined = { client: pg.Client; port: number; adopted: boolean }

/** Finds or starts the server and takes a hold on it; once more when another process stopped it in between. */
export async function joinServer(cluster: Cluster, use: Use): Promise<Joined> {
  try {
    return await findAndHold(cluster, use)
  } catch (error) {
    throw await nameNoSpace(error, cluster.directory)
  }
}

async function findAndHold(cluster: Cluster, use: Use): Promise<Joined> {
  for (let attempt = 1; ; attempt++) {
    const { port, adopted } = await bringUp(cluster)
    if (port !== cluster.memory.port) await savePort(cluster, port)
    try {
      return { client: await takeHold(cluster, port, use), port, adopted }
    } catch (error) {
      if (!isGone(error) || attempt >= JOIN_ATTEMPTS) throw error
      await sleep(RETRY_MS)
    }
  }
}

async function savePort(cluster: Cluster, port: number): Promise<void> {
  cluster.memory.port = port
  await saveState(cluster.dataDir, cluster.memory)
}

type Keeping = { cluster: Cluster; use: Use; joined: Joined; onLost: (error: Error) => void }

/**
 * Keeps the hold for the life of the process. A server that crashed or was killed is brought back on the same port, so
 * that a gateway's pools find it again, and without our locks a command beside us would stop the server under us.
 */
export function keepHold({ cluster, use, joined, onLost }: Keeping): { close: () => Promise<void> } {
  let client: pg.Client | undefined
  let retaking: Promise<void> | undefined
  let closing: Promise<void> | undefined
  const closed = new AbortController()

  function watch(current: pg.Client): void {
    client = current
    current.once('end', () => {
      client = undefined
      if (!closing) retaking = retake().catch(error => void (closing || onLost(error)))
    })
  }

  async function retake(): Promise<void> {
    const again = await joinWhenThereIsSpace()
    watch(again.client)
    if (again.port !== joined.port) throw moved(joined.port, again.port)
    cluster.say('The connection to the embedded database was lost and is back.')
  }

  async function joinWhenThereIsSpace(): Promise<Joined> {
    let saidMs = Number.NEGATIVE_INFINITY
    for (let waitMs = NO_SPACE_WAIT_MS.first; ; waitMs = Math.min(2 * waitMs, NO_SPACE_WAIT_MS.longest)) {
      try {
        return await joinServer(cluster, use)
      } catch (error) {
        if (!(error instanceof NoSpaceError) || closing) throw error
        if (performance.now() - saidMs > SAY_AGAIN_MS) {
          saidMs = performance.now()
          cluster.complain(error.message)
        }
        await sleep(waitMs, undefined, { signal: closed.signal })
      }
    }
  }

  async function release(): Promise<void> {
    closed.abort()
    await retaking
    if (!client) return
    try {
      if ((await letGo(client)) === 'alone') await stopAlone(cluster)
    } catch (error) {
      if (!isGone(error)) throw error
    } finally {
      await client?.end().catch(() => undefined)
    }
  }

  function close(): Promise<void> {
    closing ??= release()
    return closing
  }

  watch(joined.client)
  return { close }
}

async function stopAlone(cluster: Cluster): Promise<void> {
  if (await stop(cluster, 'fast', STOP_TIMEOUT_SECONDS)) return
  cluster.say(`The embedded database is still stopping after ${STOP_TIMEOUT_SECONDS} s; it will finish on its own.`)
}

function moved(from: number, to: number): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The embedded database came back on port ${to} instead of ${from}: restart the gateway.`,
  )
}
