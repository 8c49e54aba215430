import pg from 'pg'
import { CannotConnect, connectSentence } from './errors.ts'

/** pg 8 treats these like verify-full, while libpq (psql and most other clients) verifies less or nothing. */
const LIBPQ_MODES = ['require', 'verify-ca']

/**
 * Gives `sslmode` its libpq meaning: `require` encrypts and does not verify, unless sslrootcert is given.
 * https://github.com/brianc/node-postgres/tree/master/packages/pg-connection-string#tcp-connections
 */
export function driverUrl(url: string): string {
  const parsed = new URL(url)
  if (!LIBPQ_MODES.includes(parsed.searchParams.get('sslmode') ?? '')) return url
  if (parsed.searchParams.has('uselibpqcompat')) return url
  parsed.searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}

/** Host and port for messages, without user and password. */
export function serverOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url)
  return searchParams.get('host') ?? `${hostname || 'localhost'}:${port || '5432'}`
}

export type ConnectionTarget = { host: string; port: number; database: string }

/** Where a client connects to, without user and password. */
export function targetOf(url: string): ConnectionTarget {
  const { hostname, port, pathname, searchParams } = new URL(url)
  return {
    host: searchParams.get('host') ?? (hostname.replace(/^\[|\]$/g, '') || 'localhost'),
    port: Number(port || 5432),
    database: decodeURIComponent(pathname.slice(1)) || 'postgres',
  }
}

const TIMEOUT_MS = 5_000
const ROUNDS = 3

/** Checks DATABASE_URL before anything else uses it; problems become a CannotConnect with one sentence. */
export async function checkConnection(url: string): Promise<void> {
  const server = serverOf(url)
  const clients: pg.Client[] = []
  try {
    const one = await connect(url, clients)
    const other = await connect(url, clients)
    if (await shareBackends(one, other)) throw new CannotConnect(pooled(server))
  } catch (error) {
    throw asSentence(error, server)
  } finally {
    await Promise.all(clients.map(client => client.end().catch(() => {})))
  }
}

/**
 * Without the session settings of our other connections: behind a pooler in transaction mode they would stay on a backend that
 * other clients get next.
 */
async function connect(url: string, clients: pg.Client[]): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: driverUrl(url),
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: 'email-gateway-check',
  })
  client.on('error', () => {})
  clients.push(client)
  await client.connect()
  return client
}

/**
 * A pooler in transaction mode may assign another backend to every transaction. Then two connections share one backend, or one
 * connection sees several; an open transaction, which occupies a backend, makes that certain.
 */
async function shareBackends(one: pg.Client, other: pg.Client): Promise<boolean> {
  const seen = [new Set<number>(), new Set<number>()] as const
  for (let round = 0; round < ROUNDS; round++) {
    seen[0].add(await backendOf(one))
    seen[1].add(await backendOf(other))
    if (isShared(seen)) return true
    await other.query('begin')
    seen[1].add(await backendOf(other))
    seen[0].add(await backendOf(one))
    await other.query('commit')
    if (isShared(seen)) return true
  }
  return false
}

const isShared = ([one, other]: readonly [Set<number>, Set<number>]) =>
  one.size > 1 || other.size > 1 || [...one].some(pid => other.has(pid))

async function backendOf(client: pg.Client): Promise<number> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid
}

function asSentence(error: unknown, server: string): Error {
  if (error instanceof CannotConnect) return error
  const { code, message } = error as { code?: string; message: string }
  if (/statement pooling mode/.test(message)) return new CannotConnect(pooled(server), { cause: error })
  // pg reads the files of sslrootcert, sslcert and sslkey.
  if (code === 'ENOENT' || code === 'EACCES') {
    return new CannotConnect(`DATABASE_URL: a file that it names cannot be read (${message}).`, { cause: error })
  }
  const sentence = connectSentence(error, server)
  return sentence ? new CannotConnect(sentence, { cause: error }) : (error as Error)
}

const pooled = (server: string) =>
  `DATABASE_URL: ${server} is a connection pooler in transaction mode (PgBouncer, or a similar one). The gateway needs sessions of its own, for LISTEN, prepared statements and settings: connect to Postgres directly, or set pool_mode = session for this database.`
