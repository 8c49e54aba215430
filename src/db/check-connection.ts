import pg from 'pg'
import { CannotConnect, connectSentence } from './connect-errors.ts'
import { driverUrl, serverOf } from './connection-url.ts'

const ANSWER_MS = 5_000
const ROUNDS = 3

/** A given database before anything else uses it: what is wrong with it is said in one sentence. */
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
 * Without the settings of the other connections, on purpose: behind a pooler in transaction mode they would stay on a backend that
 * is given to others. Nothing but the backend's number is asked for.
 */
async function connect(url: string, clients: pg.Client[]): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: driverUrl(url),
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
    application_name: 'email-gateway-check',
  })
  client.on('error', () => {})
  clients.push(client)
  await client.connect()
  return client
}

/**
 * Behind a pooler in transaction mode, a connection is given another backend for every transaction. Then two connections meet in
 * one backend, or one connection sees several, at the latest while the other keeps one for itself.
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
  // The files of sslrootcert, sslcert and sslkey are read by the driver.
  if (code === 'ENOENT' || code === 'EACCES') {
    return new CannotConnect(`DATABASE_URL: a file that it names cannot be read (${message}).`, { cause: error })
  }
  const sentence = connectSentence(error, server)
  return sentence ? new CannotConnect(sentence, { cause: error }) : (error as Error)
}

const pooled = (server: string) =>
  `DATABASE_URL: at ${server} answers a connection pooler in transaction mode (PgBouncer, or one like it). The gateway needs sessions of its own, for LISTEN, prepared statements and settings: connect to Postgres directly, or set pool_mode = session for this database.`
