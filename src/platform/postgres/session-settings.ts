import type pg from 'pg'

export type SessionSettings = Record<string, string>

/** How long a new connection may take to apply its settings. */
const APPLY_MS = 5_000

/**
 * For every connection. `enable_seqscan=off` adds 10^10 to the cost of a plan that cannot do without a sequential scan, which is
 * far above `jit_above_cost`: with `jit=on`, the default of a stock server, such a statement was compiled at every execution, and
 * 13 e-mails a second were sent instead of 990. The others are Postgres's own defaults, in case that the role or the database has
 * been given others: times and numbers are read as they write them, and a statement that waited for a row goes on with what it finds.
 */
const EVERY_SESSION: SessionSettings = {
  jit: 'off',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  default_transaction_isolation: 'read committed',
}

/**
 * The server ends a statement a little before the client stops waiting for it. Otherwise it would go on with work that nobody
 * reads, while the client asks again. A client that vanished inside a transaction keeps its locks no longer than that, either.
 */
export function limitedTo(answerMs: number): SessionSettings {
  const limit = String(Math.round(answerMs * 0.9))
  return { statement_timeout: limit, idle_in_transaction_session_timeout: limit }
}

/** Whatever the role or the database has been given as default. */
export const UNLIMITED: SessionSettings = { statement_timeout: '0', idle_in_transaction_session_timeout: '0' }

/**
 * By a statement, before anything else runs on the connection. Settings in the connection's start-up packet (`options`) are
 * refused by PgBouncer and other connection poolers.
 */
export async function applySettings(client: Pick<pg.ClientBase, 'query'>, settings: SessionSettings): Promise<void> {
  const entries = Object.entries({ ...EVERY_SESSION, ...settings })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error('Connection terminated: its settings were not applied in time')),
      APPLY_MS,
    )
  })
  const applied = client.query(
    'select set_config(name, value, false) from unnest($1::text[], $2::text[]) as s(name, value)',
    [entries.map(([name]) => name), entries.map(([, value]) => value)],
  )
  try {
    await Promise.race([applied, late])
  } finally {
    clearTimeout(timer)
  }
}
