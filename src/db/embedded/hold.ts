import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Cluster } from './cluster.ts'
import { codeOf, EmbeddedPostgresError } from './error.ts'
import { connect, ensureDatabase } from './probe.ts'
import { isAlive } from './process.ts'

export type Use = 'gateway' | 'command'

/**
 * Session advisory locks: they end with the connection that holds them, so a killed process leaves nothing stale.
 * Every user shares IN_USE; who gets it exclusively is alone and may stop the server. One gateway holds GATEWAY.
 */
const NAMESPACE = 0x656d6777
const IN_USE = `${NAMESPACE}, 1`
const GATEWAY = `${NAMESPACE}, 2`

const WAIT_FOR_THE_DEAD_MS = 10_000
const POLL_MS = 100

/** Waits while somebody who is alone stops the server; the connection then breaks and the caller brings it up again. */
export async function takeHold(cluster: Cluster, port: number, use: Use): Promise<pg.Client> {
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
  const deadline = Date.now() + WAIT_FOR_THE_DEAD_MS
  for (;;) {
    if (await tryLock(client, GATEWAY)) return
    const holder = await gatewayPid(client)
    // A gateway killed a moment ago holds the lock until the server notices its closed connection.
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

/** Lets go, and says whether nobody else uses the server. When true, newcomers wait until `client` ends. */
export async function letGo(client: pg.Client): Promise<'alone' | 'in company'> {
  await client.query('select pg_advisory_unlock_all()')
  return (await tryLock(client, IN_USE)) ? 'alone' : 'in company'
}

async function tryLock(client: pg.Client, key: string): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${key}) as taken`)
  return rows[0]?.taken === true
}

/** The server went away under us: it was stopped, or it crashed. */
export function isGone(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  if (/^(ECONNREFUSED|ECONNRESET|EPIPE|57P01|57P02|57P03)$/.test(code)) return true
  return error instanceof Error && /terminated|timeout|not queryable/i.test(error.message)
}
