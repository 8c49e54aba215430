import pg from 'pg'
import { databaseUrlOf } from './accept.ts'
import { median } from './support/measure.ts'
import { startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'

const COMPANIES = 1_000
const TARGET = { ms: 50, bytes: 1_000_000 }
/** Scrapes that find the figures of the system too old, and read them again. */
const FRESH = 15
const CACHED = 200
/** A little more than the figures of the system are kept. */
const APART_MS = 2_200

/** A scrape of a gateway with a thousand companies, each of which waits, has sent, failed and is warned. */
export async function benchMetrics(): Promise<void> {
  const gateway = await startOurs()
  const db = new pg.Client({ connectionString: databaseUrlOf(gateway) })
  await db.connect()
  try {
    await fill(db)
    await scrape(gateway.url)
    const fresh: number[] = []
    for (let n = 0; n < FRESH; n++) {
      await new Promise(resolve => setTimeout(resolve, APART_MS))
      fresh.push((await scrape(gateway.url)).ms)
    }
    const cached: number[] = []
    for (let n = 0; n < CACHED; n++) cached.push((await scrape(gateway.url)).ms)
    report(fresh, cached, (await scrape(gateway.url)).bytes)
  } finally {
    await db.end()
    await gateway.stop()
  }
}

async function scrape(url: string): Promise<{ ms: number; bytes: number }> {
  const startedMs = performance.now()
  const text = await (await fetch(`${url}/metrics`)).text()
  return { ms: performance.now() - startedMs, bytes: Buffer.byteLength(text) }
}

async function fill(db: pg.Client): Promise<void> {
  const statements = [
    `insert into companies (company_id, name, warned_at, warn_reason)
     select gen_random_uuid(), 'bench ' || n, now(), 'A benchmark' from generate_series(1, ${COMPANIES}) n`,
    `insert into counters select name, company_id || suffix, 1 + random() * 1e6 from companies cross join (values
       ('tenant_jobs_processed', ''), ('dlq_by_company', ''), ('email_send_requests', ' false'), ('email_send_requests', ' true')
     ) as t(name, suffix) on conflict do nothing`,
    `insert into statistics (company_id, step, at, reputation_sent, reputation_bounced, reputation_complained)
     select company_id, 'hour', date_trunc('hour', now()) - h * interval '1 hour', 1000, 10, 1 from companies, generate_series(0, 23) h`,
    `insert into statistics (company_id, template_type, step, at, accepted, sent, dead_letters)
     select company_id, 'invoice', 'hour', date_trunc('hour', now()), 10, 5, 5 from companies`,
    `insert into email_outbox (outbox_id, company_id, request_id, test, priority, on_unknown, max_attempts, expires_at)
     select uuid_v7_now(), company_id, 'bench', false, 5, 'resend', 5, now() + interval '1 day' from companies, generate_series(1, 20)`,
    `insert into email_ready select company_id, priority, outbox_id from email_outbox`,
    `insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, last_failure_at, retry_history, enqueued_at)
     select outbox_id, company_id, 1, 'A benchmark', 'CODE_' || (random() * 40)::int, now(), '[]', now() from email_outbox limit 10000`,
    `insert into counters select 'dlq_by_error_code', 'CODE_' || n, n from generate_series(1, 40) n`,
    'analyze',
  ]
  for (const statement of statements) await db.query(statement)
}

function report(fresh: number[], cached: number[], bytes: number): void {
  const worst = (list: number[]) => Math.max(...list).toFixed(1)
  writeResults('metrics', [
    `A scrape of \`/metrics\` with ${COMPANIES} companies, each with ready e-mails, dead letters, a warning and a template that fails.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    `| the figures of the system are read from Postgres, median (worst of ${FRESH}) | < ${TARGET.ms} ms | ${median(fresh).toFixed(1)} (${worst(fresh)}) ms |`,
    `| they were read within two seconds, median (worst of ${CACHED}) | | ${median(cached).toFixed(1)} (${worst(cached)}) ms |`,
    `| size | < 1 MB | ${(bytes / 1e6).toFixed(2)} MB |`,
  ])
}
