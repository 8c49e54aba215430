import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { driverUrl } from './connection.ts'
import type { Queryable } from './query.ts'
import { applySettings, UNLIMITED } from './session-settings.ts'

const MIGRATIONS = join(import.meta.dirname, '../../../migrations')
/** Applied after the migrations, and again when their text changes, or somebody has changed a function in the database. */
const FUNCTIONS = join(MIGRATIONS, 'functions')
/** One migration at a time, whichever process came first. */
const MIGRATION_LOCK = 7_305_001

export class DatabaseIsNewerError extends Error {
  override name = 'DatabaseIsNewerError'
}

/** There is no database of ours, or an older one. The message says what to run. */
export class DatabaseNotMigrated extends Error {
  override name = 'DatabaseNotMigrated'
}

type Migration = { version: number; name: string; path: string }
type SqlFunctions = { name: string; sql: string; digest: string }

/** Brings the database to this code's version. Forward only; each file is one transaction. Answers what was applied. */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: driverUrl(databaseUrl) })
  // A connection that is lost between two statements is an event; the next statement fails and says so.
  client.on('error', () => {})
  await client.connect()
  try {
    // A migration may rewrite a table, and another process's may be waited for.
    await applySettings(client, UNLIMITED)
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const applied = await applyPending(client, await readMigrations())
    return [...applied, ...(await applyChangedFunctions(client))]
  } finally {
    await client.end()
  }
}

/** Reads only. Throws unless the database is at this code's version. */
export async function requireMigrated(db: Queryable): Promise<void> {
  const migrations = await readMigrations()
  const { rows } = await db.query<{ there: boolean }>(`select to_regclass('schema_migrations') is not null as there`)
  const applied = rows[0]!.there ? await readApplied(db) : new Set<number>()
  refuseNewerDatabase(applied, migrations)
  refuseOlderDatabase(applied, migrations)
  if ((await changedFunctions(db, await readFunctions())).length > 0)
    throw new DatabaseNotMigrated(
      'The functions in the database are those of another version of this program: stop the running processes, then run email-gateway migrate, or start the gateway.',
    )
}

function refuseOlderDatabase(applied: Set<number>, migrations: Migration[]): void {
  if (applied.size === 0)
    throw new DatabaseNotMigrated('The database is empty: run email-gateway migrate, or start the gateway.')
  if (migrations.every(({ version }) => applied.has(version))) return
  throw new DatabaseNotMigrated(
    `The database is at schema version ${Math.max(...applied)} and this program needs ${migrations.at(-1)!.version}: stop the running processes, then run email-gateway migrate, or start the gateway.`,
  )
}

async function readApplied(db: Queryable): Promise<Set<number>> {
  const { rows } = await db.query<{ version: number }>('select version from schema_migrations')
  return new Set(rows.map(row => row.version))
}

async function applyPending(client: pg.Client, migrations: Migration[]): Promise<string[]> {
  await client.query(`create table if not exists schema_migrations (
    version integer primary key, name text not null, applied_at timestamptz not null default now())`)
  const applied = await readApplied(client)
  refuseNewerDatabase(applied, migrations)
  const pending = migrations.filter(migration => !applied.has(migration.version))
  for (const migration of pending) await apply(client, migration)
  return pending.map(migration => migration.name)
}

async function apply(client: pg.Client, { version, name, path }: Migration): Promise<void> {
  const record = () => client.query('insert into schema_migrations (version, name) values ($1, $2)', [version, name])
  await applyFile(client, name, await readFile(path, 'utf8'), record)
}

async function applyChangedFunctions(client: pg.Client): Promise<string[]> {
  await client.query(`create table if not exists schema_functions (
    name text primary key, digest text not null, applied_at timestamptz not null default now())`)
  const files = await readFunctions()
  const altered = (await findAlteredFunctions(client, files)).map(({ file }) => file)
  const changed = new Set([...(await changedFunctions(client, files)), ...altered])
  const pending = files.filter(file => changed.has(file))
  for (const { name, sql, digest } of pending) {
    const record = () =>
      client.query(
        `insert into schema_functions (name, digest) values ($1, $2)
         on conflict (name) do update set digest = excluded.digest, applied_at = now()`,
        [name, digest],
      )
    await applyFile(client, name, sql, record)
  }
  return pending.map(({ name }) => name)
}

/** The names of functions that somebody has changed in the database. */
export async function readAlteredFunctions(db: Queryable): Promise<string[]> {
  return (await findAlteredFunctions(db, await readFunctions())).map(({ name }) => name)
}

async function changedFunctions(db: Queryable, files: SqlFunctions[]): Promise<SqlFunctions[]> {
  const { rows } = await db.query<{ there: boolean }>(`select to_regclass('schema_functions') is not null as there`)
  const applied = rows[0]!.there
    ? await db.query<{ name: string; digest: string }>('select name, digest from schema_functions')
    : { rows: [] }
  const known = new Map(applied.rows.map(row => [row.name, row.digest]))
  return files.filter(({ name, digest }) => known.get(name) !== digest)
}

async function applyFile(client: pg.Client, name: string, sql: string, record: () => Promise<unknown>): Promise<void> {
  await client.query('begin')
  try {
    await client.query(sql)
    await record()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`Migration ${name} failed: ${(error as Error).message}`, { cause: error })
  }
}

function refuseNewerDatabase(applied: Set<number>, migrations: Migration[]): void {
  const newestKnown = migrations.at(-1)?.version ?? 0
  const newestApplied = Math.max(0, ...applied)
  if (newestApplied > newestKnown) {
    throw new DatabaseIsNewerError(
      `The database is at schema version ${newestApplied}, this program knows ${newestKnown}. Start a newer version of the gateway.`,
    )
  }
}

async function readMigrations(): Promise<Migration[]> {
  const files = (await readdir(MIGRATIONS)).filter(file => /^\d{4}_.*\.sql$/.test(file)).sort()
  return files.map(file => ({ version: Number(file.slice(0, 4)), name: file, path: join(MIGRATIONS, file) }))
}

async function readFunctions(): Promise<SqlFunctions[]> {
  const files = (await readdir(FUNCTIONS)).filter(file => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async file => {
      const sql = await readFile(join(FUNCTIONS, file), 'utf8')
      return { name: `functions/${file}`, sql, digest: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/** Postgres keeps what stands between the dollar quotes as it was written. */
const FUNCTION = /create or replace function (\w+)[\s\S]*?\bas (\$\w*\$)([\s\S]*?)\2/g

/** The functions of these files whose body in the database is another one, or that are not there: changed by hand. */
async function findAlteredFunctions<File extends { sql: string }>(
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
