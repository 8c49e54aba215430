import pg from 'pg'
import { countLedger } from '../src/ledger/count.ts'
import { takeUnlogged } from '../src/ledger/ledger.ts'
import { startPostgres } from './support/databases.ts'
import { fillEmails } from './support/fill-emails.ts'
import { writeResults } from './support/results.ts'

const EMAILS = Number(process.env.EMAILS ?? 1_000_000)

/** What it costs to count a week of e-mails, and how soon a deleted one is named. */
export async function benchLedger(): Promise<void> {
  const postgres = await startPostgres()
  const url = await postgres.fresh()
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  try {
    await fillEmails(db, EMAILS, 10)
    const startedMs = performance.now()
    await countLedger(pool, { maxMs: 3_600_000, urgent: true })
    const countMs = performance.now() - startedMs
    const deleted = await deleteOne(db)
    const deletedMs = performance.now()
    await countLedger(pool, { maxMs: 0 })
    const [found] = await takeUnlogged(pool)
    const foundMs = performance.now() - deletedMs
    if (found?.missing[0] !== deleted) throw new Error(`${deleted} was not found: ${JSON.stringify(found)}`)
    writeResults('ledger', [
      `${EMAILS} e-mails of the last week, four events each, one connection.`,
      '',
      '| figure | measured |',
      '|---|---|',
      `| to count one e-mail, its events and its place in the sums | ${((countMs * 1_000) / EMAILS).toFixed(1)} µs |`,
      `| from the statistics of Postgres to the name of a deleted e-mail, in a day of ${Math.round(EMAILS / 7)} | ${foundMs.toFixed(0)} ms |`,
    ])
  } finally {
    await pool.end()
    await db.end()
    await postgres.close()
  }
}

async function deleteOne(db: pg.Client): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `delete from email_outbox where outbox_id = (select outbox_id from email_outbox
       where outbox_id > uuid_v7_floor(now() - interval '3 days') order by outbox_id limit 1) returning outbox_id as id`,
  )
  // Postgres reports it by itself within ten seconds.
  await db.query('select pg_stat_force_next_flush()')
  return rows[0]!.id
}
