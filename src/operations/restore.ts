import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import pg from 'pg'
import type { z } from 'zod'
import { type Command, CommandFailed, required, withMigratedStorage } from '../console/command.ts'
import { driverUrl } from '../platform/postgres/connection.ts'
import { type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'
import { applySettings, UNLIMITED } from '../platform/postgres/session-settings.ts'
import { findConfiguredSecrets, loadReadingConfig } from '../settings/config.ts'
import { requireSecretsOfBackup } from '../settings/secrets-of-database.ts'
import {
  type End,
  endSchema,
  FORMAT_VERSION,
  type Header,
  headerSchema,
  lineDigest,
  listColumns,
  listTables,
  readSchemaVersion,
  SPELLING,
  tableSchema,
} from './backup.ts'

export const restoreCommand: Command = {
  usage: [['restore FILE|-', 'a backup, into a new DATA_DIR or a new database; all of it or nothing']],
  notes: [
    'Put secrets.json of the gateway that was backed up into the new DATA_DIR first, or set ENCRYPTION_KEY and HASH_PEPPER: others are refused.',
    'What was sent after the backup was taken is open in it, and is sent again when the gateway starts.',
  ],
  words: 1,
  options: {},
  async run({ words: [file] }) {
    const source = required(file, 'FILE (- for standard input)')
    requireSecrets()
    return withMigratedStorage(async ({ url, config, where }) => {
      const restored = await restoreLines(url, linesOf(source), tx => requireSecretsOfBackup(tx, config))
      return {
        json: { ...restored, database: where },
        lines: [`${restored.rows} rows of ${restored.takenAt} restored: ${where}`],
      }
    }, 'restored')
  },
}

/** A new database would get new ones, and then refuse those of the backup. */
function requireSecrets(): void {
  const config = loadReadingConfig()
  const { missing } = findConfiguredSecrets(config)
  if (missing.length === 0) return
  throw new CommandFailed(
    `${missing.join(' and ')} of the gateway that was backed up must be set${config.DATABASE_URL ? '' : `, or its secrets.json be in ${config.dataDir}`}.`,
  )
}

async function* linesOf(source: string): AsyncGenerator<string> {
  const packed = source === '-' ? process.stdin : createReadStream(source)
  const unpacked = createGunzip().setEncoding('utf8')
  packed.on('error', (error: Error) => unpacked.destroy(error))
  packed.pipe(unpacked)
  try {
    yield* splitLines(unpacked)
  } catch (error) {
    const { syscall, code, message } = error as { syscall?: string; code?: string; message: string }
    if (syscall) throw new CommandFailed(`${source} cannot be read (${message}).`)
    if (!code?.startsWith('Z_')) throw error
    throw new CommandFailed(`The backup is damaged or not complete (${message}); nothing was restored.`)
  }
}

/** node:readline does not forward the errors of its input. A line may have megabytes, so its parts are joined once. */
async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let parts: string[] = []
  for await (const chunk of chunks) {
    const [first, ...more] = chunk.split('\n')
    parts.push(first!)
    if (more.length === 0) continue
    yield parts.join('')
    parts = [more.pop()!]
    yield* more
  }
  const last = parts.join('')
  if (last !== '') yield last
}

const ROWS_AT_ONCE = 1_000
const BYTES_AT_ONCE = 4_000_000

export type Restored = { takenAt: string; rows: number }

/** All of it in one transaction, into a database that was migrated and never used. `check` runs before the commit. */
export async function restoreLines(
  url: string,
  lines: AsyncIterable<string>,
  check: (tx: Queryable) => Promise<void>,
): Promise<Restored> {
  const client = new pg.Client({ connectionString: driverUrl(url), application_name: 'email-gateway-restore' })
  // A connection that is lost between two statements is an event; the next statement fails and says so.
  client.on('error', () => {})
  await client.connect()
  try {
    await applySettings(client, { ...UNLIMITED, ...SPELLING })
    await client.query('begin')
    await refuseUsedDatabase(client)
    const restored = await load(client, lines).catch(refuseBadRows)
    // Nobody works on them any more.
    await client.query('update leases set expires_at = now()')
    await check(client)
    await client.query('commit')
    await client.query('analyze')
    return restored
  } finally {
    await client.end()
  }
}

async function refuseUsedDatabase(tx: Queryable): Promise<void> {
  const [row] = await sql<{ used: boolean; running: boolean }>(tx)`
    select exists (select from companies) or exists (select from email_outbox) or exists (select from administrators) as used,
       exists (select from gateway_processes where seen_at > now() - interval '15 seconds') as running`
  if (row!.running) throw new CommandFailed('A gateway runs on this database: stop it first.')
  if (row!.used)
    throw new CommandFailed('This database is not empty. Restore into a new DATA_DIR, or into a new database.')
}

async function load(tx: Queryable, lines: AsyncIterable<string>): Promise<Restored> {
  const digest = lineDigest()
  const state: { header: Header | null; end: End | null; rows: number } = { header: null, end: null, rows: 0 }
  let batch: Batch | null = null
  for await (const line of lines) {
    if (state.end) throw damaged('there is something after its end')
    if (state.header === null) {
      state.header = readHeader(line)
      await prepare(tx, state.header)
    } else if (line.startsWith('"')) {
      if (!batch) throw damaged('a row comes before its table')
      state.rows++
      await batch.add(read(line) as string)
    } else {
      await batch?.flush()
      const value = read(line)
      if (isObject(value) && 'table' in value) batch = await startTable(tx, parse(tableSchema, value).table)
      else state.end = parse(endSchema, value)
    }
    if (!state.end) digest.add(line)
  }
  if (!state.header || !state.end) throw damaged('it is not complete')
  if (state.end.sha256 !== digest.hex() || state.end.rows !== state.rows) throw damaged('its checksum is wrong')
  for (const { name, value } of state.end.sequences) await sql(tx)`select setval(${name}::regclass, ${value})`
  return { takenAt: state.header.takenAt, rows: state.rows }
}

async function prepare(tx: Queryable, header: Header): Promise<void> {
  const version = await readSchemaVersion(tx)
  if (header.schemaVersion !== version)
    throw new CommandFailed(
      `The backup has schema version ${header.schemaVersion} and this program has ${version}: restore it with version ${header.program} of the gateway, then upgrade.`,
    )
  await sql(tx)`select ensure_email_partitions(day) from unnest(${header.days}::date[]) as day`
  // What migrations have put there is in the backup as well.
  await tx.query(`truncate ${(await listTables(tx)).join(', ')}`)
}

type Batch = { add(row: string): Promise<void>; flush(): Promise<void> }

async function startTable(tx: Queryable, table: string): Promise<Batch> {
  if (!(await listTables(tx)).includes(table)) throw damaged(`it names the table ${table}, which there is not`)
  const columns = (await listColumns(tx, table)).join(', ')
  let rows: string[] = []
  let bytes = 0
  async function flush(): Promise<void> {
    if (rows.length === 0) return
    const values = [rows]
    rows = []
    bytes = 0
    await runUnprepared(
      tx,
      `insert into ${table} (${columns}) overriding system value select ${columns} from unnest($1::${table}[])`,
      values,
    )
  }
  return {
    flush,
    async add(row) {
      rows.push(row)
      bytes += row.length
      if (rows.length >= ROWS_AT_ONCE || bytes >= BYTES_AT_ONCE) await flush()
    },
  }
}

/** Data exceptions and violated constraints. Their messages quote the row, so they are not passed on. */
function refuseBadRows(error: unknown): never {
  if (/^2[23]/.test((error as { code?: string }).code ?? '')) throw damaged('Postgres refuses a row')
  throw error
}

function readHeader(line: string): Header {
  const parsed = headerSchema.safeParse(read(line))
  if (!parsed.success) throw new CommandFailed('This is not a backup of an Email Gateway.')
  if (parsed.data.formatVersion !== FORMAT_VERSION)
    throw new CommandFailed(`The backup was made by a newer version of the gateway (${parsed.data.program}).`)
  return parsed.data
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw damaged('a line cannot be read')
  return parsed.data
}

function read(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw damaged('a line cannot be read')
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const damaged = (how: string) => new CommandFailed(`The backup is damaged (${how}); nothing was restored.`)
