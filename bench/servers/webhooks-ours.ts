import { setTimeout as sleep } from 'node:timers/promises'
import { ensurePartitions } from '../../src/platform/postgres/partitions.ts'
import { openDatabase } from '../../src/platform/postgres/pool.ts'
import { WakeableSleep } from '../../src/platform/sleep.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { composeWebhooks } from '../../src/webhooks/compose.ts'
import { cpuMicros } from '../support/claim-cost.ts'
import { enqueue, makeEndpoints } from '../support/webhook-load.ts'

/**
 * How long the deliveries of healthy endpoints take, from their commit to the receiver's answer. RATE 0: all of them at once;
 * otherwise so many a second.
 */
const { RECEIVER_URL, BAD_RECEIVER_URL, DELIVERIES, HEALTHY, FAILING, HANGING, RATE } = process.env as Record<
  string,
  string
>
const config = loadConfig()
const db = openDatabase(config.DATABASE_URL!, () => {})
const ready = new WakeableSleep()
const dispatcher = composeWebhooks(config, db, ready, makeLog({ level: config.LOG_LEVEL, pretty: false }))
await ensurePartitions(db.pool)
await makeEndpoints(
  db,
  config.encryptionKeys,
  { ok: RECEIVER_URL!, fail: BAD_RECEIVER_URL!, hang: BAD_RECEIVER_URL! },
  { ok: Number(HEALTHY), fail: Number(FAILING), hang: Number(HANGING) },
)

const OF_HEALTHY = `from webhook_deliveries d join webhook_endpoints w using (endpoint_id) where w.url like '%/ok/%'`
const isWaiting = async () =>
  (
    await db.pool.query(
      `select exists (select from webhook_endpoints w where w.url like '%/ok/%' and exists (select from webhook_ready r where r.endpoint_id = w.endpoint_id)) as waiting`,
    )
  ).rows[0].waiting

/** Of this process and of the dispatcher's connections. */
async function cpuMs(): Promise<number> {
  const { rows } = await db.pool.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'email-gateway-webhooks'`,
  )
  return [process.pid, ...rows.map(({ pid }) => pid)].reduce((sum, pid) => sum + cpuMicros(pid) / 1000, 0)
}

const bad = Number(FAILING) + Number(HANGING)
const theirs = (healthy: number) => Math.round((healthy * bad) / Number(HEALTHY))

// Compilers and connections warm up, and the bad ones are found out, as they have long been in a gateway that runs.
dispatcher.start()
await enqueue(db, 20 * Number(HEALTHY), ['ok'])
await enqueue(db, theirs(20 * Number(HEALTHY)), ['fail', 'hang'])
ready.wake()
while (await isWaiting()) await sleep(50)
await db.pool.query(
  `delete from webhook_deliveries d using webhook_endpoints w where d.endpoint_id = w.endpoint_id and w.url like '%/ok/%'`,
)

// What the bad ones have is there from the beginning, so that neither writing it nor tidying up after it is what slows the others.
await enqueue(db, theirs(Number(DELIVERIES)), ['fail', 'hang'])
await db.pool.query('vacuum analyze')
await db.pool.query('checkpoint')
const cpuBeforeMs = await cpuMs()
const startedMs = performance.now()
let committed = 'd.created_at'
if (RATE === '0') {
  await enqueue(db, Number(DELIVERIES), ['ok'])
  const { rows } = await db.pool.query('select clock_timestamp()::text as now')
  committed = `greatest(d.created_at, '${rows[0].now}')`
  ready.wake()
} else {
  const EVERY_MS = 100
  const some = (Number(RATE) * EVERY_MS) / 1000
  let left = Number(DELIVERIES)
  for (let next = startedMs; left > 0; next += EVERY_MS) {
    await sleep(Math.max(0, next - performance.now()))
    await enqueue(db, Math.min(left, some), ['ok'])
    dispatcher.wakeIfActive()
    left -= some
  }
}
while (await isWaiting()) await sleep(100)
const ms = performance.now() - startedMs
const spentMs = (await cpuMs()) - cpuBeforeMs
const { rows } = await db.pool.query(
  `select count(*)::int as delivered, percentile_cont(0.5) within group (order by wait) as p50, percentile_cont(0.95) within group (order by wait) as p95
   from (select extract(epoch from d.last_attempt_at - ${committed})::float8 * 1000 as wait ${OF_HEALTHY}) t`,
)
console.log(JSON.stringify({ ...rows[0], ms, cpuMs: spentMs }))
process.exit(0)
