import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import pg from 'pg'
import { z } from 'zod'
import { type Command, CommandFailed, reading, required, UsageError } from '../console/command.ts'
import { writeToFile } from '../console/output.ts'
import { driverUrl } from '../platform/postgres/connection.ts'
import { type Queryable, sql } from '../platform/postgres/query.ts'
import { applySettings, UNLIMITED } from '../platform/postgres/session-settings.ts'
import { programVersion } from '../platform/version.ts'

export const backupCommand: Command = {
  usage: [
    [
      'backup FILE|- [--force]',
      'everything in the database, as it stands at one moment; the gateway may go on meanwhile',
    ],
  ],
  notes: [
    'The secrets are not in it: keep secrets.json of DATA_DIR, or ENCRYPTION_KEY and HASH_PEPPER, in another place.',
  ],
  words: 1,
  options: { force: { type: 'boolean', help: 'replace FILE, if there is one; an unfinished backup replaces nothing' } },
  async run({ words: [file], values }) {
    const target = required(file, 'FILE (- for standard output)')
    if (target === '-' && values.json === true)
      throw new UsageError('--json cannot be used with a backup to standard output')
    if (values.force !== true) await refuseExisting(target)
    return reading(async ({ url }) => {
      const progress = { rows: 0 }
      const lines = dumpLines(url, programVersion(), progress)
      try {
        if (target === '-') {
          await writeToStandardOutput(lines)
          return null
        }
        await writeToFile(target, lines, createGzip())
      } finally {
        // A target that cannot be written leaves the lines unread: this ends their transaction and its connection.
        await lines.return(undefined)
      }
      return { json: { file: target, rows: progress.rows }, lines: [`${progress.rows} rows written to ${target}`] }
    })()
  },
}

/** Of links and folders the writer says what is wrong with them. */
async function refuseExisting(file: string): Promise<void> {
  const found = await lstat(file).catch(() => null)
  if (found?.isFile())
    throw new CommandFailed(`${file} exists already. Choose another name, or replace it with --force.`, 'FILE_EXISTS')
}

/** Unlike a list, half a backup is worth nothing: a reader that goes away is a failure, too. */
async function writeToStandardOutput(lines: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(lines, createGzip(), process.stdout, { end: false })
  } catch (error) {
    if (!(error as { syscall?: string }).syscall) throw error
    throw new CommandFailed(`Standard output cannot be written (${(error as Error).message}).`)
  }
}

/** Rows that are read at a time; few where one may have megabytes. */
const ROWS_AT_ONCE: Record<string, number> = { email_attachments: 4, email_content: 100, capture_inbox: 20 }
const OTHER_ROWS_AT_ONCE = 2_000

/** One spelling of every value, whatever the server's defaults are. */
export const SPELLING = { datestyle: 'ISO', timezone: 'UTC', extra_float_digits: '1', intervalstyle: 'postgres' }

export type DumpProgress = { rows: number }

/** The lines of a backup: everything as it stood at one moment, while the gateway goes on. Memory does not grow with the database. */
export async function* dumpLines(url: string, program: string, progress: DumpProgress): AsyncGenerator<string> {
  const client = new pg.Client({ connectionString: driverUrl(url), application_name: 'email-gateway-backup' })
  // A connection that is lost between two statements is an event; the next statement fails and says so.
  client.on('error', () => {})
  await client.connect()
  try {
    await applySettings(client, { ...UNLIMITED, ...SPELLING })
    const digest = lineDigest()
    for await (const line of allLines(client, program, progress)) {
      digest.add(line)
      yield `${line}\n`
    }
    // Sequences are not part of a snapshot: read last, they are ahead of every row.
    const sequences = await listSequences(client)
    yield `${JSON.stringify({ rows: progress.rows, sequences, sha256: digest.hex() })}\n`
  } finally {
    await client.end()
  }
}

async function* allLines(client: pg.Client, program: string, progress: DumpProgress): AsyncGenerator<string> {
  const tables = await listTables(client)
  await client.query('begin isolation level repeatable read read only')
  // Before the snapshot: retention cannot drop a day of it any more.
  await client.query(`lock table ${tables.join(', ')} in access share mode`)
  yield JSON.stringify(await makeHeader(client, program))
  for (const table of tables) {
    yield JSON.stringify({ table })
    for await (const row of rowsOf(client, table)) {
      progress.rows++
      yield JSON.stringify(row)
    }
  }
  await client.query('commit')
}

async function makeHeader(db: Queryable, program: string) {
  const [row] = await sql<{ takenAt: string }>(db)`select now()::text as "takenAt"`
  const [schemaVersion, days] = [await readSchemaVersion(db), await listDays(db)]
  return { format: FORMAT, formatVersion: FORMAT_VERSION, schemaVersion, program, takenAt: row!.takenAt, days }
}

async function* rowsOf(client: pg.Client, table: string): AsyncGenerator<string> {
  await client.query(`declare backup no scroll cursor for select t::text as row from ${table} t`)
  const count = ROWS_AT_ONCE[table] ?? OTHER_ROWS_AT_ONCE
  for (;;) {
    const { rows } = await client.query<{ row: string }>(`fetch ${count} from backup`)
    for (const { row } of rows) yield row
    if (rows.length < count) break
  }
  await client.query('close backup')
}

function listSequences(db: Queryable): Promise<{ name: string; value: string }[]> {
  return sql<{ name: string; value: string }>(db)`
    select sequencename as name, last_value::text as value from pg_sequences
     where schemaname = 'public' and last_value is not null order by 1`
}

/**
 * The file is text, compressed with gzip: a header, then for every table a line with its name and a line for each of its rows, then an
 * end with the SHA-256 of all lines before it. A row is the JSON string of what Postgres writes for `table::text`.
 */
export const FORMAT = 'email-gateway-backup'
export const FORMAT_VERSION = 1

export const headerSchema = z.object({
  format: z.literal(FORMAT),
  formatVersion: z.int(),
  schemaVersion: z.int(),
  program: z.string(),
  takenAt: z.string(),
  days: z.array(z.iso.date()),
})
export type Header = z.infer<typeof headerSchema>

export const tableSchema = z.object({ table: z.string() })

export const endSchema = z.object({
  rows: z.int(),
  sequences: z.array(z.object({ name: z.string(), value: z.string() })),
  sha256: z.string(),
})
export type End = z.infer<typeof endSchema>

/** Adds up the lines, each with the end of line that it has in the file. */
export function lineDigest(): { add(line: string): void; hex(): string } {
  const hash = createHash('sha256')
  return { add: line => void hash.update(`${line}\n`), hex: () => hash.digest('hex') }
}

/** Migrations write the first two, running processes the others. */
const NOT_KEPT = ['schema_migrations', 'schema_functions', 'gateway_processes', 'workers', 'feeder']

/** Every table in the order in which its rows can be inserted: what a foreign key refers to comes first. Partitions are read through their parents. */
export async function listTables(db: Queryable): Promise<string[]> {
  const tables = await sql<{ name: string; needs: string[] }>(db)`
    select c.relname as name, coalesce((select array_agg(r.relname::text) from pg_constraint f join pg_class r on r.oid = f.confrelid
       where f.conrelid = c.oid and f.contype = 'f' and not f.condeferrable and r.oid <> c.oid), '{}') as needs
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname !~ '_[0-9]{8}$' and c.relname <> all(${NOT_KEPT})
     order by c.relname`
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
  const rows = await sql<{ name: string }>(db)`
    select quote_ident(attname) as name from pg_attribute
     where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`
  return rows.map(row => row.name)
}

/** The days that have partitions. */
export async function listDays(db: Queryable): Promise<string[]> {
  const rows = await sql<{ day: string }>(db)`
    select to_date(right(c.relname, 8), 'YYYYMMDD')::text as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'email_outbox'::regclass order by 1`
  return rows.map(row => row.day)
}

export async function readSchemaVersion(db: Queryable): Promise<number> {
  const [row] = await sql<{ version: number }>(db)`select max(version) as version from schema_migrations`
  return row!.version
}
