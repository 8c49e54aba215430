import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { loadConfig } from '../../src/config.ts'
import { hashEmail } from '../../src/contracts/hashing.ts'
import { maxAttempts } from '../../src/contracts/retry.ts'
import { uuidv7 } from '../../src/contracts/uuid.ts'
import { acceptUnits } from '../../src/db/accept.ts'
import { openDatabase } from '../../src/db/pool.ts'
import { makeLine } from '../../src/main-line.ts'
import type { Providers } from '../../src/main-providers.ts'
import { addressKey } from '../../src/pipeline/accept-email.ts'
import { HtmlChecker } from '../../src/pipeline/html-check.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { makeLog } from '../../src/telemetry/log.ts'
import { BODY } from '../accept.ts'

/**
 * Ours, draining: accepts JOBS e-mails of COMPANIES companies, then starts the line with a provider that costs nothing, in
 * this process, and measures until the last one is settled. DATABASE_URL; REDIS_URL chooses the lane.
 */
const config = loadConfig()
const jobs = Number(process.env.JOBS ?? 20_000)
const warmUpJobs = Number(process.env.WARM_UP_JOBS ?? 2_000)
const companies = Number(process.env.COMPANIES ?? 10)
const db = openDatabase(config.DATABASE_URL!, () => {})
const log = makeLog({ level: config.LOG_LEVEL, pretty: false })
const hash = hashEmail(BODY.to)

async function makeCompanies(): Promise<string[]> {
  const ids = Array.from({ length: companies }, () => uuidv7())
  await db.pool.query(
    `insert into companies (company_id, name) select id, 'bench ' || id from unnest($1::uuid[]) as id`,
    [ids],
  )
  return ids
}

function draftOf(companyId: string) {
  return {
    index: 0,
    outboxId: uuidv7(),
    eventId: uuidv7(),
    companyId,
    requestId: randomUUID(),
    externalId: BODY.externalId,
    test: false,
    from: BODY.from,
    subject: BODY.subject,
    template: null,
    tags: BODY.tags,
    priority: 5,
    retryPolicy: 'steps' as const,
    onUnknown: 'resend' as const,
    maxAttempts: maxAttempts('steps'),
    delayMs: null,
    scheduledAt: null,
    html: BODY.html,
    text: null,
    replyTo: null,
    headers: null,
    variables: null,
    person: null,
    attachments: [],
    addresses: [{ kind: 'to' as const, address: BODY.to, name: null, hash, key: addressKey(hash) }],
  }
}

async function fill(ids: string[], count: number): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const units = Array.from({ length: Math.min(500, count - from) }, (_, place) => ({
      drafts: [draftOf(ids[(from + place) % ids.length]!)],
      strict: true,
      idempotency: null,
      refusedBefore: [],
    }))
    await acceptUnits(db.hot, units)
  }
}

/** Of all backends that serve this process, so far. */
async function backendCpuMs(): Promise<number> {
  const { rows } = await db.pool.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
  )
  return rows.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0)
}

function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function measure(ids: string[], count: number): Promise<number> {
  await fill(ids, count)
  await db.pool.query('vacuum analyze email_ready')
  let calls = 0
  let allCalled = () => {}
  const called = new Promise<void>(resolve => {
    allCalled = resolve
  })
  const provider: Provider = {
    name: 'null',
    recognisesAttempts: false,
    close: async () => {},
    async send() {
      if (++calls === count) allCalled()
      return { kind: 'sent', messageId: randomUUID(), events: [] }
    },
  }
  const providers: Providers = {
    route: () => provider,
    report: () => {},
    pace: async () => {},
    mayClaim: () => Number.POSITIVE_INFINITY,
    recognising: [],
    start: async () => {},
    stop: async () => {},
  }
  const html = new HtmlChecker()
  const line = await makeLine({ config, db, providers, html, log })
  const startedMs = performance.now()
  const cpu = process.cpuUsage()
  const postgresMs = await backendCpuMs()
  await line.start()
  await called
  await line.stop()
  const ms = performance.now() - startedMs
  const used = process.cpuUsage(cpu)
  const perEmail = (ms: number) => `${((ms * 1000) / count).toFixed(0)} µs`
  const postgres = (await backendCpuMs()) - postgresMs
  console.error(
    `CPU per e-mail: Node ${perEmail(used.user / 1000)} + ${perEmail(used.system / 1000)} in the kernel, Postgres ${perEmail(postgres)}`,
  )
  await html.close()
  const { rows } = await db.pool.query(`select count(*)::int as open from email_outbox where status <> 'SENT'`)
  if (rows[0].open > 0) throw new Error(`${rows[0].open} e-mails were not sent`)
  return ms
}

const ids = await makeCompanies()
await measure(ids, warmUpJobs)
console.log(JSON.stringify({ jobs, ms: await measure(ids, jobs) }))
process.exit(0)
