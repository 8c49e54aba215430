import pg from 'pg'
import { DatabaseClock } from './clock.ts'
import { driverUrl } from './connection.ts'
import { hasDiskSpace } from './disk-space.ts'
import { refusalReason } from './errors.ts'
import { type Queryable, sql } from './query.ts'
import { applySettings, limitedTo, type SessionSettings } from './session-settings.ts'

export type Database = {
  /** Short, prepared, batched statements. */
  short: pg.Pool
  /**
   * The same, for the four that every e-mail needs: each on connections of its own, which stay open and plan it once. Over shared
   * ones all were planned on all, a tenth of a second after every start and every quiet minute.
   */
  sending: { claims: pg.Pool; emails: pg.Pool; starts: pg.Pool; settlements: pg.Pool }
  /** Reads and administration. */
  pool: pg.Pool
  /** Webhooks: a few statements over a queue that is empty at one moment and huge at the next. */
  webhooks: pg.Pool
  /** For ids and for every decision that depends on the time. */
  clock: DatabaseClock
  /** Known within two seconds, whatever hangs. */
  availability(): Promise<Availability>
  close(): Promise<void>
}

/**
 * How long an answer is waited for. A server whose machine or network died never closes the connection; a claim that waits on it
 * for ever would stop all sending.
 */
const ANSWER_MS = { short: 30_000, pool: 60_000 }

const SIZES = { pool: 8, short: 8, claims: 1, emails: 2, starts: 2, settlements: 2, webhooks: 4 }
/** What a process opens at most: its pools, and one connection that listens for notifications. */
export const MAX_CONNECTIONS_OF_PROCESS = Object.values(SIZES).reduce((sum, size) => sum + size, 1)

export function openDatabase(url: string, onIdleError: (error: Error) => void, answerMs = ANSWER_MS): Database {
  const pool = openPool(url, { name: 'email-gateway', max: SIZES.pool, answerMs: answerMs.pool })
  const shortStatementPool = (max: number, idle: Partial<pg.PoolConfig> = {}) =>
    openPool(url, { name: 'email-gateway-sending', max, answerMs: answerMs.short, settings: SENDING_SETTINGS, idle })
  const short = shortStatementPool(SIZES.short)
  const sendingPool = (max: number) => shortStatementPool(max, { idleTimeoutMillis: 0 })
  const sending = {
    claims: sendingPool(SIZES.claims),
    emails: sendingPool(SIZES.emails),
    starts: sendingPool(SIZES.starts),
    settlements: sendingPool(SIZES.settlements),
  }
  const webhooks = openPool(url, {
    name: 'email-gateway-webhooks',
    max: SIZES.webhooks,
    answerMs: answerMs.short,
    settings: WEBHOOK_SETTINGS,
  })
  let closing = false
  // An idle connection that Postgres closes must not end the process; the next query opens another. One that Postgres closes
  // while we do is no news.
  const onLost = (error: Error) => void (closing || onIdleError(error))
  const pools = [pool, short, webhooks, ...Object.values(sending)]
  for (const one of pools) one.on('error', onLost)
  dropIdleAfterSilence(pools)
  const close = async () => {
    closing = true
    await Promise.all(pools.map(one => one.end()))
  }
  const clock = new DatabaseClock(() => readTimeMs(pool))
  return { short, sending, pool, webhooks, clock, availability: availabilityCheck([pool, short], pools), close }
}

/**
 * Their plans depend on no parameter, so planning once is enough. And a plan made while a table was small must not become a scan
 * of a million rows before the next ANALYZE.
 */
const SENDING_SETTINGS: SessionSettings = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }

/** Rows are found by their keys, one by one: any other plan reads a table whole, whose size is not known beforehand. */
const WEBHOOK_SETTINGS: SessionSettings = {
  ...SENDING_SETTINGS,
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  enable_hashjoin: 'off',
  enable_memoize: 'off',
}

type PoolOptions = {
  name: string
  max: number
  answerMs: number
  settings?: SessionSettings
  idle?: Partial<pg.PoolConfig>
}

function openPool(url: string, { name, max, answerMs, settings, idle }: PoolOptions): pg.Pool {
  return new pg.Pool({
    ...idle,
    connectionString: driverUrl(url),
    max,
    connectionTimeoutMillis: 5_000,
    query_timeout: answerMs,
    keepAlive: true,
    application_name: name,
    // Awaited by the pool; a connection whose settings cannot be applied is closed and its user gets the error.
    onConnect: client => applySettings(client, { ...limitedTo(answerMs), ...settings }),
  })
}

async function readTimeMs(db: Queryable): Promise<number> {
  const [row] = await sql<{ ms: number }>(db)`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
  return row!.ms
}

/**
 * A server that disappears without closing its connections (power loss, a firewall that dropped their state) leaves them half-open:
 * it shows only when a query gets no answer. All connections become half-open at the same time, so when one is found, all idle
 * ones are closed.
 */

const isReadTimeout = (error: unknown) => /Query read timeout/.test((error as Error | undefined)?.message ?? '')

/** After a read timeout no other idle connection is tried: each would take the same time, one after the other. */
export function dropIdleAfterSilence(pools: pg.Pool[]): void {
  for (const pool of pools) {
    pool.on('release', error => {
      if (isReadTimeout(error)) dropIdle(pools)
    })
  }
}

/** Closes all idle connections; the next statement opens a new one. */
function dropIdle(pools: pg.Pool[]): void {
  for (const pool of pools) {
    // connect() returns idle connections first, and takes them within this turn of the event loop.
    for (let idle = pool.idleCount; idle > 0; idle--) pool.connect().then(client => client.release(true), ignore)
  }
}

/** For each of the two rounds of queries in availabilityCheck, which together take less than two seconds. */
const CHECK_TIMEOUT_MS = 800

/** `reason`: why it does not answer. */
export type Availability =
  | { state: 'writable' }
  | { state: 'read-only' }
  | { state: 'disk-full' }
  | { state: 'silent'; reason: string }

/**
 * Whether Postgres answers in each of the pools `checked` and may be written to, within two seconds even if connections hang. If it
 * answers again after an open connection did not, the idle connections of all pools are closed, so that no e-mail has to wait for a
 * half-open one.
 */
export function availabilityCheck(checked: pg.Pool[], all: pg.Pool[]): () => Promise<Availability> {
  let wasUnresponsive = false
  return async () => {
    let answers = await askAll(checked)
    if (withState(answers, 'silent')) {
      wasUnresponsive = true
      dropIdle(checked.filter((_, index) => answers[index]!.state === 'silent'))
      answers = await askAll(checked)
    }
    const silent = withState(answers, 'silent')
    if (silent) return silent
    if (wasUnresponsive) dropIdle(all)
    wasUnresponsive = false
    return withState(answers, 'read-only') ?? withState(answers, 'disk-full') ?? { state: 'writable' }
  }
}

const withState = (answers: Availability[], state: Availability['state']) => answers.find(one => one.state === state)

const askAll = (pools: pg.Pool[]) => Promise.all(pools.map(pool => askWithin(CHECK_TIMEOUT_MS, pool)))

/** Closes a connection that is late, so that these checks do not fill the pool with hanging connections. */
async function askWithin(ms: number, pool: pg.Pool): Promise<Availability> {
  let used: pg.PoolClient | undefined
  let isLate = false
  const ask = async (): Promise<Exclude<Availability['state'], 'silent'> | null> => {
    const client = await pool.connect()
    if (isLate) {
      client.release()
      return null
    }
    used = client.on('error', ignore)
    const { rows } = await client.query<{ readOnly: boolean }>(
      `select current_setting('transaction_read_only')::boolean as "readOnly"`,
    )
    if (isLate) return null
    const hasRoom = await hasDiskSpace(client)
    if (isLate) return null
    client.off('error', ignore).release()
    used = undefined
    return rows[0]!.readOnly ? 'read-only' : hasRoom ? 'writable' : 'disk-full'
  }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true
      reject(new Error('No answer'))
    }, ms)
  })
  try {
    const state = await Promise.race([ask(), late])
    return { state: state! }
  } catch (error) {
    used?.release(true)
    return { state: 'silent', reason: refusalReason(error) }
  } finally {
    clearTimeout(timer)
  }
}

function ignore(): void {}
