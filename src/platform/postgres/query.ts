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

/** Trusted text of a statement, such as a list of columns or a condition. */
export class Fragment {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString(): string {
    return this.text
  }
}

export const fragment = (strings: TemplateStringsArray, ...parts: (Fragment | string | number)[]): Fragment =>
  new Fragment(strings.reduce((text, next, i) => `${text}${parts[i - 1]}${next}`))

/** A constant that the planner should see. */
export const literal = (value: number): Fragment => new Fragment(String(value))

/**
 * Runs a statement whose values stand where they are used: each becomes a parameter. Columns come out in camel case. With a name it is
 * prepared under that name, so its text must always be the same; without, it is planned for its own values.
 */
export function sql<Row extends object>(db: Queryable, name?: string) {
  return (strings: TemplateStringsArray, ...values: unknown[]): Promise<Row[]> => {
    const parameters: unknown[] = []
    const put = (value: unknown) => (value instanceof Fragment ? value.text : `$${parameters.push(value)}`)
    const text = strings.reduce((begin, next, i) => begin + put(values[i - 1]) + next)
    return rowsOf(db.query(name === undefined ? { text, values: parameters } : { name, text, values: parameters }))
  }
}

/** The same for a text that is made elsewhere, prepared. */
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

async function rowsOf<Row extends object>(answer: Promise<pg.QueryResult>): Promise<Row[]> {
  try {
    const { fields, rows } = await answer
    const columns = fields?.map(({ name }) => name) ?? []
    return columns.some(name => name.includes('_')) ? inCamelCase<Row>(rows, columns) : rows
  } catch (error) {
    throw unavailableOr(error)
  }
}

/** The names are made once for all rows: claims load hundreds of wide rows at a time. */
function inCamelCase<Row extends object>(rows: Record<string, unknown>[], columns: string[]): Row[] {
  const names = columns.map(column => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()))
  return rows.map(row => {
    const named: Record<string, unknown> = {}
    for (const [i, column] of columns.entries()) named[names[i]!] = row[column]
    return named as Row
  })
}

/** Timestamps as ISO text made by Postgres: one spelling everywhere, and no Date in between. */
export const iso = (column: string) => fragment`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** To the microsecond, which a Date would lose. */
export const exactly = (time: string) => fragment`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** Lowest and highest id: lets the executor drop all other partitions before it starts. */
export function idRange(items: { outboxId: string }[]): [string, string] {
  let [low, high] = [items[0]!.outboxId, items[0]!.outboxId]
  for (const { outboxId } of items) {
    if (outboxId < low) low = outboxId
    if (outboxId > high) high = outboxId
  }
  return [low, high]
}
