import type pg from 'pg'

/**
 * A server that vanishes without closing its connections (its machine lost power, a firewall forgot them) leaves them half-open:
 * nothing is wrong with them until somebody waits for an answer. All of them are in that state at the same time, so the first one
 * that is found stands for all.
 */

const isSilence = (error: unknown) => /Query read timeout/.test((error as Error | undefined)?.message ?? '')

/** Once an answer has not come, no other idle connection is tried: each would cost the same wait, one after the other. */
export function dropIdleAfterSilence(pools: pg.Pool[]): void {
  for (const pool of pools) {
    pool.on('release', error => {
      if (isSilence(error)) dropIdle(pools)
    })
  }
}

/** Closes the connections that nobody uses now. The next statement opens another. */
export function dropIdle(pools: pg.Pool[]): void {
  for (const pool of pools) {
    // The pool hands out idle connections first, in this very turn of the event loop.
    for (let idle = pool.idleCount; idle > 0; idle--) pool.connect().then(client => client.release(true), ignore)
  }
}

/** Of each of the two questions below; together less than two seconds. */
const QUESTION_MS = 800

/**
 * Whether Postgres answers in each of the pools `asked`, known within two seconds whatever hangs. Where it does after an open
 * connection was silent, the other open ones are taken for half-open and dropped: no e-mail has to find out about them.
 */
export function answerCheck(asked: pg.Pool[], all: pg.Pool[]): () => Promise<boolean> {
  let wasSilent = false
  return async () => {
    let silent = await silentOf(asked)
    if (silent.length > 0) {
      wasSilent = true
      dropIdle(silent)
      silent = await silentOf(silent)
    }
    if (silent.length > 0) return false
    if (wasSilent) dropIdle(all)
    wasSilent = false
    return true
  }
}

async function silentOf(pools: pg.Pool[]): Promise<pg.Pool[]> {
  const answers = await Promise.all(pools.map(pool => answersWithin(QUESTION_MS, pool)))
  return pools.filter((_, index) => !answers[index])
}

/** A connection that is late is closed, so that questions do not fill the pool with connections that hang. */
async function answersWithin(ms: number, pool: pg.Pool): Promise<boolean> {
  let used: pg.PoolClient | undefined
  let isLate = false
  const ask = async () => {
    const client = await pool.connect()
    if (isLate) return client.release()
    used = client.on('error', ignore)
    await client.query('select 1')
    if (isLate) return
    client.off('error', ignore).release()
    used = undefined
  }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true
      reject(new Error('No answer'))
    }, ms)
  })
  try {
    await Promise.race([ask(), late])
    return true
  } catch {
    used?.release(true)
    return false
  } finally {
    clearTimeout(timer)
  }
}

function ignore(): void {}
