import type { Queryable } from '../../src/platform/postgres/query.ts'

/** Every row of every table as text, each with the name of its table in front: what a search of a backup would see. */
export async function dumpRows(db: Queryable): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `select c.relname as name from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`,
  )
  const rows: string[] = []
  for (const { name } of tables.rows) {
    const found = await db.query<{ row: string }>(`select t::text as row from "${name}" t`)
    rows.push(...found.rows.map(({ row }) => `${name}: ${row}`))
  }
  return rows
}

/** The rows that contain one of these texts, in any case. */
export async function rowsWith(db: Queryable, ...texts: string[]): Promise<string[]> {
  const rows = await dumpRows(db)
  return rows.filter(row => texts.some(text => row.toLowerCase().includes(text.toLowerCase())))
}
