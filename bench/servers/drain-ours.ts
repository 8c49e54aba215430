import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/platform/postgres/pool.ts'
import { accept, JOBS, makeCompanies, openLine, sent, WARM_UP_JOBS } from '../support/our-line.ts'

/**
 * Ours, draining: accepts JOBS e-mails of ten companies that are paused, releases them, and measures until the last one is settled.
 * The line runs in this process, with a provider that costs nothing, and has drained before: a line of its own for each would
 * begin with code that is not compiled, for V8 throws away what it compiled for the objects of the one before.
 * DATABASE_URL; REDIS_URL chooses the lane.
 */
const COMPANIES = 10
const WARM_UP_END_MS = 300

let left = 0
let allCalled = () => {}
const { db, line } = await openLine(async () => {
  left--
  if (left === 0) allCalled()
  return sent()
})
const companies = await makeCompanies(db, COMPANIES)
await line.prepare()
line.start()

/** Milliseconds from the release of so many e-mails until `end` says that they are settled. */
async function measure(count: number, end: () => Promise<unknown>): Promise<number> {
  const called = new Promise<void>(resolve => {
    allCalled = resolve
  })
  left = count
  await db.pool.query(`update companies set paused_at = now(), pause_reason = 'bench'`)
  await accept(db, companies, count)
  await db.pool.query('vacuum analyze email_ready')
  const cpu = process.cpuUsage()
  const backendsMs = await backendCpuMs(db)
  const startedMs = performance.now()
  await db.pool.query('update companies set paused_at = null, pause_reason = null')
  line.wake()
  await called
  await end()
  const ms = performance.now() - startedMs
  const used = process.cpuUsage(cpu)
  const perEmail = (micros: number) => `${(micros / count).toFixed(0)} µs`
  const backends = ((await backendCpuMs(db)) - backendsMs) * 1000
  console.error(`CPU per e-mail: Node ${perEmail(used.user + used.system)}, Postgres ${perEmail(backends)}`)
  await assertSent(db)
  return ms
}

async function assertSent(db: Database): Promise<void> {
  const { rows } = await db.pool.query(`select count(*)::int as open from email_outbox where status <> 'SENT'`)
  if (rows[0].open > 0) throw new Error(`${rows[0].open} e-mails were not sent`)
}

/** Of all backends that serve this database, so far. */
async function backendCpuMs(db: Database): Promise<number> {
  const { rows } = await db.pool.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
  )
  return rows.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0)
}

function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

await measure(WARM_UP_JOBS, () => sleep(WARM_UP_END_MS))
console.log(JSON.stringify({ jobs: JOBS, ms: await measure(JOBS, () => line.stop()) }))
process.exit(0)
