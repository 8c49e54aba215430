import pg from 'pg'
import { BODY, databaseUrlOf } from './accept.ts'
import { startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'

const EMAILS = Number(process.env.EMAILS ?? 20_000)
const BATCH = 100

/** What one e-mail costs on disk and in WAL, from the request to SENT, in a gateway as everybody starts it. */
export async function benchDiskBytes(): Promise<void> {
  const ours = await startOurs({}, 'all')
  const db = new pg.Client({ connectionString: databaseUrlOf(ours) })
  await db.connect()
  try {
    await send(ours, 1_000)
    await settled(db, 1_000)
    await db.query('vacuum')
    const before = await sizes(db)
    const walBefore = await wal(db)
    await send(ours, EMAILS)
    await settled(db, 1_000 + EMAILS)
    const walBytes = (await wal(db)) - walBefore
    await db.query('vacuum')
    const after = await sizes(db)
    report(before, after, walBytes)
  } finally {
    await db.end()
    await ours.stop()
  }
}

async function send({ url, apiKey }: { url: string; apiKey: string }, emails: number): Promise<void> {
  for (let sent = 0; sent < emails; sent += BATCH) {
    const response = await fetch(`${url}/v1/email/batch`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(Array(BATCH).fill(BODY)),
    })
    if (!response.ok) throw new Error(await response.text())
    await response.arrayBuffer()
  }
}

async function settled(db: pg.Client, emails: number): Promise<void> {
  for (;;) {
    const { rows } = await db.query<{ count: number }>(
      `select count(*)::int as count from email_events where type = 'SENT'`,
    )
    if (rows[0]!.count >= emails) return
    await new Promise(resolve => setTimeout(resolve, 500))
  }
}

type Size = { table: string; heap: number; indexes: number; rows: number }

/** Of today's partitions: tables with their TOAST, and their indexes. */
async function sizes(db: pg.Client): Promise<Size[]> {
  const { rows } = await db.query<Size>(
    `select regexp_replace(c.relname, '_[0-9]{8}$', '') as table, sum(pg_table_size(c.oid))::float8 as heap,
       sum(pg_indexes_size(c.oid))::float8 as indexes, sum(greatest(c.reltuples, 0))::float8 as rows
     from pg_class c where c.relkind = 'r' and c.relispartition group by 1 order by 1`,
  )
  return rows
}

async function wal(db: pg.Client): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    `select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as bytes`,
  )
  return rows[0]!.bytes
}

function report(before: Size[], after: Size[], walBytes: number): void {
  const grown = after.map((one, nth) => ({
    table: one.table,
    heap: (one.heap - before[nth]!.heap) / EMAILS,
    indexes: (one.indexes - before[nth]!.indexes) / EMAILS,
    rows: (one.rows - before[nth]!.rows) / EMAILS,
  }))
  const sum = (pick: (one: Size) => number) => grown.reduce((total, one) => total + pick(one), 0)
  const line = (name: string, heap: number, indexes: number, rows: string) =>
    `| ${name} | ${rows} | ${heap.toFixed(0)} | ${indexes.toFixed(0)} | ${(heap + indexes).toFixed(0)} |`
  writeResults('disk-bytes', [
    `${EMAILS} e-mails with a body of ${JSON.stringify(BODY).length} bytes, accepted in batches of ${BATCH} and sent by capture, one company, no webhooks; growth of the tables per e-mail. WAL with full page images: ${(walBytes / EMAILS).toFixed(0)} bytes per e-mail.`,
    '',
    '| table | rows per e-mail | table bytes | index bytes | bytes |',
    '|---|---|---|---|---|',
    ...grown.map(one => line(one.table, one.heap, one.indexes, one.rows.toFixed(1))),
    line(
      'together',
      sum(one => one.heap),
      sum(one => one.indexes),
      '',
    ),
  ])
}
