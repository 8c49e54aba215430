import { readFileSync } from 'node:fs'
import type { Database } from '../../src/db/pool.ts'
import { accept, JOBS, makeCompanies, openLine, sent, WARM_UP_JOBS } from '../support/our-line.ts'

/**
 * Ours, draining: accepts JOBS e-mails of ten companies, then starts the line with a provider that costs nothing, in this
 * process, and measures until the last one is settled. DATABASE_URL; REDIS_URL chooses the lane.
 */
const COMPANIES = 10

async function measure(count: number): Promise<number> {
  let calls = 0
  let allCalled = () => {}
  const called = new Promise<void>(resolve => {
    allCalled = resolve
  })
  const ours = await openLine(async () => {
    if (++calls === count) allCalled()
    return sent()
  })
  const { db, line } = ours
  await accept(db, await makeCompanies(db, COMPANIES), count)
  await db.pool.query('vacuum analyze email_ready')
  const cpu = process.cpuUsage()
  const backendsMs = await backendCpuMs(db)
  const startedMs = performance.now()
  await line.start()
  await called
  await line.stop()
  const ms = performance.now() - startedMs
  const used = process.cpuUsage(cpu)
  const perEmail = (micros: number) => `${(micros / count).toFixed(0)} µs`
  const backends = ((await backendCpuMs(db)) - backendsMs) * 1000
  console.error(`CPU per e-mail: Node ${perEmail(used.user + used.system)}, Postgres ${perEmail(backends)}`)
  await assertSent(db)
  await ours.stop()
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

await measure(WARM_UP_JOBS)
console.log(JSON.stringify({ jobs: JOBS, ms: await measure(JOBS) }))
process.exit(0)
