import { realpath } from 'node:fs/promises'
import pg from 'pg'
import type { Cluster } from './cluster.ts'
import { codeOf, EmbeddedPostgresError } from './error.ts'

/** The database for our own connections, so that "gateway" can be dropped and restored while the server runs. */
const MAINTENANCE = 'postgres'
const PATIENCE_MS = 5_000

/**
 * ours: our server, ready. busy: a server that starts or stops. denied: it refuses our password.
 * full: ours, no connection left. silent: no answer in time. nobody: no server, or somebody else's.
 */
export type Answer = 'ours' | 'busy' | 'denied' | 'full' | 'silent' | 'nobody'

type Connecting = { applicationName: string; patienceMs?: number }

export async function connect(cluster: Cluster, port: number, connecting: Connecting): Promise<pg.Client> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'gateway',
    password: cluster.memory.password,
    database: MAINTENANCE,
    ssl: false,
    keepAlive: true,
    application_name: connecting.applicationName,
    connectionTimeoutMillis: connecting.patienceMs ?? PATIENCE_MS,
  })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

export async function ask(cluster: Cluster, port: number, patienceMs = PATIENCE_MS): Promise<Answer> {
  try {
    const client = await connect(cluster, port, { applicationName: 'email-gateway probe', patienceMs })
    try {
      const { rows } = await client.query<{ data_directory: string }>('show data_directory')
      return (await isSameFolder(rows[0]!.data_directory, cluster.directory)) ? 'ours' : 'nobody'
    } finally {
      await client.end().catch(() => undefined)
    }
  } catch (error) {
    return answerOf(codeOf(error))
  }
}

function answerOf(code: string | undefined): Answer {
  if (code === '57P03' || code === '57P01') return 'busy'
  if (code === '28P01' || code === '28000') return 'denied'
  if (code === '53300') return 'full'
  return code === 'ECONNREFUSED' ? 'nobody' : 'silent'
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
  } catch (error) {
    // Somebody else made it in between.
    if (codeOf(error) !== '42P04' && codeOf(error) !== '23505') throw error
  }
}

export function refusal(answer: 'denied' | 'full', { dataDir, directory }: Cluster): EmbeddedPostgresError {
  if (answer === 'full')
    return new EmbeddedPostgresError(`The embedded database in ${directory} has no connection left.`)
  return new EmbeddedPostgresError(
    `The embedded database in ${directory} refuses the password in ${dataDir}/postgres.json: restore that file from the backup the database belongs to.`,
  )
}
