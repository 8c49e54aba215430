import type pg from 'pg'
import { unavailableOr } from './errors.ts'

export type Queryable = Pick<pg.Pool, 'query'>

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
    throw unavailableOr(error)
  } finally {
    if (!failed) client.off('error', unheard)
    client.release(failed)
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw unavailableOr(error)
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
    throw unavailableOr(error)
  }
}

/** Timestamps as ISO text made by Postgres: one spelling everywhere, and no Date in between. */
export const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** To the microsecond, which a Date would lose. */
export const exactly = (time: string) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** Lowest and highest id: lets the executor drop all other partitions before it starts. */
export function idRange(items: { outboxId: string }[]): [string, string] {
  let [low, high] = [items[0]!.outboxId, items[0]!.outboxId]
  for (const { outboxId } of items) {
    if (outboxId < low) low = outboxId
    if (outboxId > high) high = outboxId
  }
  return [low, high]
}
