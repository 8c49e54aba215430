import { openSync } from 'node:fs'
import { registerCompany } from '../../src/companies/changes.ts'
import { openStorage } from '../../src/console/storage.ts'
import { startGateway } from '../../src/main.ts'
import { notifyProcesses } from '../../src/platform/postgres/notifications.ts'
import { logOutput, makeLog } from '../../src/platform/telemetry/log.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { accept, JOBS, makeCompanies, providersOf, sent, WARM_UP_JOBS } from '../support/our-line.ts'

/**
 * The whole gateway in this process, with a provider that costs nothing; its log goes to the file LOG_FILE, as to a collector of
 * logs. ROLE=api prints its address and key, and accepts until it is stopped. ROLE=all drains JOBS e-mails of ten paused
 * companies, is scraped meanwhile every SCRAPE_MS, and prints how long it took. TRACED_SHARE of them come with a sampled trace.
 */
const { ROLE = 'all', LOG_FILE = '/dev/null', SCRAPE_MS = '0', TRACED_SHARE = '0' } = process.env
const COMPANIES = 10
const config = loadConfig()
const destination = logOutput(openSync(LOG_FILE, 'a'), count => `${count} lines dropped\n`)
const log = makeLog({ level: config.LOG_LEVEL, pretty: false, destination })
const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log })
const { db } = storage

let left = 0
let allCalled = () => {}
const providers = providersOf(async () => {
  left--
  if (left === 0) allCalled()
  return sent()
})
const gateway = await startGateway(config, storage, ROLE as 'api' | 'all', log, async () => providers)
if (ROLE === 'api') await serveUntilStopped()
else await drain()

async function serveUntilStopped(): Promise<void> {
  const { apiKey } = await registerCompany(db, config.hashPepper, { name: 'bench' })
  console.log(`${gateway.url}\n${apiKey}`)
  process.on('SIGTERM', () => process.exit(0))
}

async function drain(): Promise<void> {
  const companies = await makeCompanies(db, COMPANIES)
  const scrape = () =>
    fetch(`${gateway.url}/metrics`).then(
      answer => answer.text(),
      () => 'it stops',
    )
  const scraping = Number(SCRAPE_MS) > 0 ? setInterval(() => void scrape(), Number(SCRAPE_MS)) : undefined
  await measure(companies, WARM_UP_JOBS)
  const ms = await measure(companies, JOBS)
  clearInterval(scraping)
  console.log(JSON.stringify({ jobs: JOBS, ms }))
  process.exit(0)
}

/** Milliseconds from the release of so many e-mails until the last one is settled. */
async function measure(companies: string[], count: number): Promise<number> {
  const called = new Promise<void>(resolve => {
    allCalled = resolve
  })
  left = count
  await db.pool.query(`update companies set paused_at = now(), pause_reason = 'bench'`)
  await accept(db, companies, count, traceparentOf)
  await db.pool.query('vacuum analyze email_ready')
  const startedMs = performance.now()
  await db.pool.query('update companies set paused_at = null, pause_reason = null')
  await notifyProcesses(db.pool, 'email_ready', 'bench')
  await called
  await allSettled()
  return performance.now() - startedMs
}

async function allSettled(): Promise<void> {
  for (;;) {
    const { rows } = await db.pool.query(`select exists (select from email_outbox where status <> 'SENT') as open`)
    if (!rows[0].open) return
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** One in so many, with an id of its own. */
function traceparentOf(place: number): string | null {
  const share = Number(TRACED_SHARE)
  if (share === 0 || place % Math.round(1 / share) !== 0) return null
  const hex = (length: number) => (place + 1).toString(16).padStart(length, '0')
  return `00-${hex(32)}-${hex(16)}-01`
}
