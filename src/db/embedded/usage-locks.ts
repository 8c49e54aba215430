import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Cluster } from './cluster.ts'
import { EmbeddedPostgresError } from './error.ts'
import { connect, ensureDatabase } from './probe.ts'
import { isAlive } from './process.ts'

export type ServerUse = 'gateway' | 'command'

/**
 * Session advisory locks: Postgres releases them when their connection ends, so a killed process leaves no stale lock.
 * Every process holds IN_USE in shared mode. A process that gets it in exclusive mode is the last one and may stop the server.
 * GATEWAY is held by the one gateway of this DATA_DIR.
 */
const NAMESPACE = 0x656d6777
const IN_USE = `${NAMESPACE}, 1`
const GATEWAY = `${NAMESPACE}, 2`

const KILLED_GATEWAY_TIMEOUT_MS = 10_000
const POLL_MS = 100

/** Blocks while the last process stops the server; that breaks this connection, and the caller starts the server again. */
export async function acquireUsageLocks(cluster: Cluster, port: number, use: ServerUse): Promise<pg.Client> {
  const client = await connect(cluster, port, { applicationName: `email-gateway ${use} pid=${process.pid}` })
  try {
    await client.query(`select pg_advisory_lock_shared(${IN_USE})`)
    if (use === 'gateway') await takeGatewayLock(client, cluster)
    await ensureDatabase(client)
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

async function takeGatewayLock(client: pg.Client, { dataDir }: Cluster): Promise<void> {
  const deadline = Date.now() + KILLED_GATEWAY_TIMEOUT_MS
  for (;;) {
    if (await tryLock(client, GATEWAY)) return
    const holder = await gatewayPid(client)
    // A gateway that was just killed keeps the lock until the server notices the closed connection.
    if (Date.now() > deadline || (holder !== undefined && isAlive(holder))) {
      throw new EmbeddedPostgresError(
        `Another gateway is already running on DATA_DIR ${dataDir} (pid ${holder ?? 'unknown'}). Stop it first, or give this one its own DATA_DIR.`,
      )
    }
    await sleep(POLL_MS)
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

/** 'last': no other process uses the server, and new ones wait in acquireUsageLocks until `client` ends. */
export async function releaseUsageLocks(client: pg.Client): Promise<'last' | 'others remain'> {
  await client.query('select pg_advisory_unlock_all()')
  return (await tryLock(client, IN_USE)) ? 'last' : 'others remain'
}

async function tryLock(client: pg.Client, key: string): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${key}) as taken`)
  return rows[0]?.taken === true
}
