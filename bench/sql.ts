import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from './support/databases.ts'
import { spread } from './support/measure.ts'
import { startServer } from './support/processes.ts'
import { writeResults } from './support/results.ts'
import { ROUNDS } from './support/rounds.ts'

const ROWS = 10_000
const WARM_UP_ROWS = 2_000

type Measured = { insertMs: number; claimedMs: number; sentMs: number }

/** One INSERT … SELECT, and from its commit until the last e-mail is claimed, and sent. */
async function measure(db: pg.Client, rows: number): Promise<Measured> {
  const startedMs = performance.now()
  await db.query(
    `insert into email_queue (user_id, template_type, recipient_email, payload)
     select gen_random_uuid(), 'welcome_user', 'user' || n || '@example.com',
       jsonb_build_object('user_data', jsonb_build_object('full_name', 'User ' || n), 'action_url', 'https://example.com/' || n) from generate_series(1, $1::int) n`,
    [rows],
  )
  const committedMs = performance.now()
  await untilNone(db, 'select count(*)::int as left from email_ready')
  const claimedMs = performance.now() - committedMs
  await untilNone(db, `select count(*)::int as left from email_outbox where status <> 'SENT'`)
  return { insertMs: committedMs - startedMs, claimedMs, sentMs: performance.now() - committedMs }
}

async function untilNone(db: pg.Client, sql: string): Promise<void> {
  while ((await db.query(sql)).rows[0].left > 0) await sleep(10)
}

export async function benchSql(): Promise<void> {
  const postgres = await startPostgres()
  const rounds: Measured[] = []
  try {
    for (let n = 1; n <= ROUNDS; n++) {
      const url = await postgres.fresh()
      const gateway = await startServer('sql-ours.js', {
        ...{ DATABASE_URL: url, REDIS_URL: '', PORT: '0', LOG_LEVEL: 'warn', WORKER_CONCURRENCY: '100' },
        ...{ ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'pepper '.repeat(8) },
      })
      const db = new pg.Client({ connectionString: url })
      await db.connect()
      await measure(db, WARM_UP_ROWS)
      rounds.push(await measure(db, ROWS))
      console.log(`round ${n}: ${JSON.stringify(rounds.at(-1))}`)
      await db.end()
      await gateway.stop()
    }
  } finally {
    await postgres.close()
  }
  const seconds = (name: keyof Measured) =>
    spread(
      rounds.map(one => one[name] / 1000),
      2,
    )
  writeResults('sql', [
    `${ROWS} rows by one INSERT INTO email_queue … SELECT, one company, starter template \`welcome_user\` rendered by the worker, a provider that costs nothing, concurrency 100, embedded Postgres, ${ROUNDS} rounds after a warm-up of ${WARM_UP_ROWS}.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    `| from the commit until all are claimed, s | ≤ 3 | ${seconds('claimedMs')} |`,
    `| from the commit until all are sent, s | | ${seconds('sentMs')} |`,
    `| the statement itself, s | | ${seconds('insertMs')} |`,
  ])
}
