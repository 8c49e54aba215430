import type pg from 'pg'
import { refusalReason } from './connect-errors.ts'
import { hasDiskSpace } from './disk-space.ts'

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
