import { type Queryable, runUnprepared } from '../query.ts'

/** Migrations write the first two, running processes the others. */
const NOT_KEPT = ['schema_migrations', 'schema_functions', 'gateway_processes', 'workers', 'feeder']

/** Every table in the order in which its rows can be inserted: what a foreign key refers to comes first. Partitions are read through their parents. */
export async function listTables(db: Queryable): Promise<string[]> {
  const tables = await runUnprepared<{ name: string; needs: string[] }>(
    db,
    `select c.relname as name, coalesce((select array_agg(r.relname::text) from pg_constraint f join pg_class r on r.oid = f.confrelid
       where f.conrelid = c.oid and f.contype = 'f' and not f.condeferrable and r.oid <> c.oid), '{}') as needs
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname !~ '_[0-9]{8}$' and c.relname <> all($1)
     order by c.relname`,
    [NOT_KEPT],
  )
  const ordered: string[] = []
  const left = new Map(tables.map(({ name, needs }) => [name, needs]))
  while (left.size > 0) {
    const free = [...left].filter(([, needs]) => needs.every(one => !left.has(one))).map(([name]) => name)
    if (free.length === 0) throw new Error(`foreign keys in a circle: ${[...left.keys()].join(', ')}`)
    for (const name of free) left.delete(name)
    ordered.push(...free)
  }
  return ordered
}

/** Those that are stored and not computed from others. */
export async function listColumns(db: Queryable, table: string): Promise<string[]> {
  const rows = await runUnprepared<{ name: string }>(
    db,
    `select quote_ident(attname) as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  )
  return rows.map(row => row.name)
}

/** The days that have partitions. */
export async function listDays(db: Queryable): Promise<string[]> {
  const rows = await runUnprepared<{ day: string }>(
    db,
    `select to_date(right(c.relname, 8), 'YYYYMMDD')::text as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'email_outbox'::regclass order by 1`,
    [],
  )
  return rows.map(row => row.day)
}

export async function readSchemaVersion(db: Queryable): Promise<number> {
  const [row] = await runUnprepared<{ version: number }>(
    db,
    'select max(version) as version from schema_migrations',
    [],
  )
  return row!.version
}
