import type { Queryable } from './query.ts'

/** Postgres keeps what stands between the dollar quotes as it was written. */
const FUNCTION = /create or replace function (\w+)[\s\S]*?\bas (\$\w*\$)([\s\S]*?)\2/g

/** The functions of these files whose body in the database is another one, or that are not there: changed by hand. */
export async function findAlteredFunctions<File extends { sql: string }>(
  db: Queryable,
  files: File[],
): Promise<{ file: File; name: string }[]> {
  const { rows } = await db.query<{ name: string; body: string }>(
    'select proname as name, prosrc as body from pg_proc where pronamespace = current_schema()::regnamespace',
  )
  const there = new Set(rows.map(({ name, body }) => `${name} ${body}`))
  return files.flatMap(file =>
    [...file.sql.matchAll(FUNCTION)]
      .filter(([, name, , body]) => !there.has(`${name} ${body}`))
      .map(([, name]) => ({ file, name: name! })),
  )
}
