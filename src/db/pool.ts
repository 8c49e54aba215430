import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { DatabaseClock } from './clock.ts'
import { driverUrl } from './connection-url.ts'
import { applySettings, limitedTo, type SessionSettings } from './session-settings.ts'
import { answerCheck, dropIdleAfterSilence } from './silent-connections.ts'

export type Database = {
  /** Short, prepared, batched statements. */
  hot: pg.Pool
  /**
   * The same, for the four that every e-mail needs: each on connections of its own, which stay open and plan it once. Over shared
   * ones all were planned on all, a tenth of a second after every start and every quiet minute.
   */
  line: { claims: pg.Pool; emails: pg.Pool; starts: pg.Pool; settlements: pg.Pool }
  /** Reads and administration. */
  pool: pg.Pool
  /** Webhooks: a few statements over a queue that is empty at one moment and huge at the next. */
  dispatcher: pg.Pool
  /** For ids and for every decision that depends on the time. */
  clock: DatabaseClock
  /** Known within two seconds, whatever hangs. */
  isAnswering(): Promise<boolean>
  close(): Promise<void>
}

export type Queryable = Pick<pg.Pool, 'query'>

/** The database cannot be reached, or went away in the middle. The caller may try again. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

/**
 * How long an answer is waited for. A server that vanishes without a word (its machine died, the network swallows it) never
 * closes the connection; a claim that waits on it for ever is a line that stands still for ever.
 */
const ANSWER_MS = { hot: 30_000, pool: 60_000 }

export function openDatabase(url: string, onIdleError: (error: Error) => void, answerMs = ANSWER_MS): Database {
  const pool = openPool(url, { name: 'email-gateway', max: 8, answerMs: answerMs.pool })
  const hotPool = (max: number, idle: Partial<pg.PoolConfig> = {}) =>
    openPool(url, { name: 'email-gateway-line', max, answerMs: answerMs.hot, settings: LINE_SETTINGS, idle })
  const hot = hotPool(8)
  const linePool = (max: number) => hotPool(max, { idleTimeoutMillis: 0 })
  const line = { claims: linePool(1), emails: linePool(2), starts: linePool(2), settlements: linePool(2) }
  const dispatcher = openPool(url, {
    name: 'email-gateway-dispatcher',
    max: 4,
    answerMs: answerMs.hot,
    settings: COURIER_SETTINGS,
  })
  let closing = false
  // An idle connection that Postgres closes must not end the process; the next query opens another. One that Postgres closes
  // while we do is no news.
  const onLost = (error: Error) => void (closing || onIdleError(error))
  const pools = [pool, hot, dispatcher, ...Object.values(line)]
  for (const one of pools) one.on('error', onLost)
  dropIdleAfterSilence(pools)
  const close = async () => {
    closing = true
    await Promise.all(pools.map(one => one.end()))
  }
  const clock = new DatabaseClock(() => readTimeMs(pool))
  return { hot, line, pool, dispatcher, clock, isAnswering: answerCheck([pool, hot], pools), close }
}

/**
 * Their plans depend on no parameter, so planning once is enough. And a plan made while a table was small must not become a scan
 * of a million rows before the next ANALYZE.
 */
const LINE_SETTINGS: SessionSettings = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }

/** Rows are found by their keys, one by one: any other plan reads a table whole, whose size is not known beforehand. */
const COURIER_SETTINGS: SessionSettings = {
  ...LINE_SETTINGS,
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
  const [row] = await runUnprepared<{ ms: number }>(
    db,
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    [],
  )
  return row!.ms
}

/** All of it or nothing. */
export async function inTransaction<Out>(pool: pg.Pool, act: (tx: Queryable) => Promise<Out>): Promise<Out> {
  return withConnection(pool, async client => {
    await client.query('begin')
    const out = await act(client)
    await client.query('commit')
    return out
  })
}

/** Several statements over one connection, which is not used again when one of them fails. */
export async function withConnection<Out>(pool: pg.Pool, act: (db: Queryable) => Promise<Out>): Promise<Out> {
  const client = await connect(pool)
  // Between two statements nobody waits for an answer: a connection lost there is an event, and unheard it ends the process.
  const unheard = () => {}
  client.on('error', unheard)
  let failed: Error | undefined
  try {
    return await act(client)
  } catch (error) {
    failed = error as Error
    throw isLostConnection(error) ? new DatabaseUnavailable('The database did not answer.', { cause: error }) : error
  } finally {
    if (!failed) client.off('error', unheard)
    client.release(failed)
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw isLostConnection(error) ? new DatabaseUnavailable('The database did not answer.', { cause: error }) : error
  }
}

/** Runs a named prepared statement. */
export async function run<Row extends pg.QueryResultRow>(
  db: Queryable,
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  return rowsOf(db.query<Row>({ name, text, values }))
}

export type RawRow = (string | null)[]

const AS_IT_CAME = { getTypeParser: () => (text: string) => text }

/** As text, by place: for many rows of many columns, where the driver's own reading is half of the work. */
export async function runRaw(db: Queryable, name: string, text: string, values: unknown[]): Promise<RawRow[]> {
  return rowsOf(db.query<RawRow>({ name, text, values, rowMode: 'array', types: AS_IT_CAME }))
}

/** Planned for its own values: for lists whose filters differ from call to call. */
export async function runUnprepared<Row extends pg.QueryResultRow>(
  db: Queryable,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  return rowsOf(db.query<Row>(text, values))
}

async function rowsOf<Row>(answer: Promise<{ rows: Row[] }>): Promise<Row[]> {
  try {
    return (await answer).rows
  } catch (error) {
    throw isLostConnection(error) ? new DatabaseUnavailable('The database did not answer.', { cause: error }) : error
  }
}

/** Connection classes of SQLSTATE (08, 57P), a statement that the server ended (57014), too many connections, or an error of the socket itself. */
export function isLostConnection(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  if (code && /^(08|57P|57014|53[0-9]{3}|25P0[34]|25006)/.test(code)) return true
  if (code && /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET)/.test(code)) return true
  return /Connection terminated|connection timeout|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error/i.test(
    message ?? '',
  )
}

/** The statement itself was at fault (a value, a constraint), so the same neighbours would do better without it. */
export function isDataError(error: unknown): boolean {
  return /^(22|23)/.test((error as { code?: string }).code ?? '')
}

export function isMissingPartition(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return code === '23514' && /no partition of relation/.test(message ?? '')
}

/** Deadlock or serialisation failure: nothing was written, and the same statement may succeed now. */
export function isPassingConflict(error: unknown): boolean {
  return /^(40P01|40001)$/.test((error as { code?: string }).code ?? '')
}

const CONFLICT_TRIES = 3

/**
 * Writes items together, or, when one of them is what Postgres refuses, each on its own: a bad value harms itself only.
 * Its place in the answer then holds the error.
 */
export async function writeBatchOrSingly<In, Out>(
  items: In[],
  write: (items: In[]) => Promise<Out[]>,
): Promise<(Out | Error)[]> {
  for (let tried = 1; ; tried++) {
    try {
      return await write(items)
    } catch (error) {
      if (isPassingConflict(error) && tried < CONFLICT_TRIES) continue
      if (!isDataError(error)) throw error
      if (items.length === 1) return [error as Error]
      const outcomes: (Out | Error)[] = []
      for (const item of items) outcomes.push(...(await writeBatchOrSingly([item], write)))
      return outcomes
    }
  }
}

const BACK_CHECK_MS = 200

/** For what is known here and nowhere else: tries again until the database is back, for so long. `write` must bear repetition. */
export async function retryWhileUnavailable<Out>(
  write: () => Promise<Out>,
  patienceMs: number | (() => number),
): Promise<Out> {
  const beganMs = performance.now()
  const isOver = () => performance.now() - beganMs > (typeof patienceMs === 'number' ? patienceMs : patienceMs())
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || isOver()) throw error
      await sleep(BACK_CHECK_MS)
    }
  }
}

/** Lowest and highest id: lets the executor drop all other partitions before it starts. */
export function idRange(items: { outboxId: string }[]): [string, string] {
  let [low, high] = [items[0]!.outboxId, items[0]!.outboxId]
  for (const { outboxId } of items) {
    if (outboxId < low) low = outboxId
    if (outboxId > high) high = outboxId
  }
  return [low, high]
}

/**
 * For every insert into email_ready: a ready row that is there already is locked, not passed over. The claim that deletes it
 * waits for this commit, and then sees the e-mail as it made it; passed over, it could be taken by one who still saw the
 * e-mail as not due, and then nobody would come back to it.
 */
export const READY_AGAIN = 'on conflict (company_id, priority, outbox_id) do update set priority = excluded.priority'

/** Of `email_outbox o`: nothing of it has left, and its time has come. What the claim hands out and what may start mean the same. */
export const WAITING_AND_DUE = `o.status in ('PENDING', 'RETRY_SCHEDULED') and (o.next_attempt_at is null or o.next_attempt_at <= now())`

/** Timestamps as ISO text made by Postgres: one spelling everywhere, and no Date in between. */
export const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
