import { realpath } from 'node:fs/promises'
import pg from 'pg'
import type { Cluster } from './cluster.ts'
import { codeOf, EmbeddedPostgresError } from './error.ts'

/** Our own connections use this one, so that "gateway" can be dropped and restored while the server runs. */
const MAINTENANCE_DATABASE = 'postgres'
const TIMEOUT_MS = 5_000

/**
 * ready: our server accepts connections. busy: it starts or stops. wrong-password: it refuses our password.
 * full: max_connections is reached. no-answer: nothing came in time. absent: no server, or the server of another folder.
 */
export type ProbeResult = 'ready' | 'busy' | 'wrong-password' | 'full' | 'no-answer' | 'absent'

type ConnectOptions = { applicationName: string; timeoutMs?: number }

export async function connect(cluster: Cluster, port: number, options: ConnectOptions): Promise<pg.Client> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'gateway',
    password: cluster.saved.password,
    database: MAINTENANCE_DATABASE,
    ssl: false,
    keepAlive: true,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.timeoutMs ?? TIMEOUT_MS,
  })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

export async function probe(cluster: Cluster, port: number, timeoutMs = TIMEOUT_MS): Promise<ProbeResult> {
  try {
    const client = await connect(cluster, port, { applicationName: 'email-gateway probe', timeoutMs })
    try {
      const { rows } = await client.query<{ data_directory: string }>('show data_directory')
      return (await isSameFolder(rows[0]!.data_directory, cluster.directory)) ? 'ready' : 'absent'
    } finally {
      await client.end().catch(() => undefined)
    }
  } catch (error) {
    return probeResultOf(codeOf(error))
  }
}

function probeResultOf(code: string | undefined): ProbeResult {
  if (code === '57P03' || code === '57P01') return 'busy'
  if (code === '28P01' || code === '28000') return 'wrong-password'
  if (code === '53300') return 'full'
  return code === 'ECONNREFUSED' ? 'absent' : 'no-answer'
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map(path => realpath(path).catch(() => path)))
  return a === b
}

export async function ensureDatabase(client: pg.Client): Promise<void> {
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

export function refusal(result: 'wrong-password' | 'full', { dataDir, directory }: Cluster): EmbeddedPostgresError {
  if (result === 'full')
    return new EmbeddedPostgresError(`The embedded database in ${directory} has no connection left.`)
  return new EmbeddedPostgresError(
    `The embedded database in ${directory} refuses the password in ${dataDir}/postgres.json: restore that file from the backup the database belongs to.`,
  )
}
