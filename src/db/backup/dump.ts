import pg from 'pg'
import { driverUrl } from '../connection-url.ts'
import { type Queryable, runUnprepared } from '../query.ts'
import { applySettings, UNLIMITED } from '../session-settings.ts'
import { FORMAT, FORMAT_VERSION, lineDigest } from './format.ts'
import { listDays, listTables, readSchemaVersion } from './tables.ts'

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
  const [row] = await runUnprepared<{ takenAt: string }>(db, 'select now()::text as "takenAt"', [])
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
  return runUnprepared(
    db,
    `select sequencename as name, last_value::text as value from pg_sequences
     where schemaname = 'public' and last_value is not null order by 1`,
    [],
  )
}
