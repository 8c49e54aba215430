import { setTimeout as sleep } from 'node:timers/promises'
import { connectRedis } from '../support/bullmq.ts'
import { accept, JOBS, makeCompanies, openLine, sent } from '../support/our-line.ts'
import { usedBytes } from '../support/redis-bytes.ts'

/** Ours on the BullMQ lane: Redis' memory with nothing waiting, and with JOBS waiting behind a provider that does not answer. */
let hanging = false
const ours = await openLine(() => (hanging ? new Promise(() => {}) : Promise.resolve(sent())))
const redis = connectRedis(process.env.REDIS_URL!)
const companies = await makeCompanies(ours.db, 10)
await ours.line.prepare()
ours.line.start()

// What a lane leaves in Redis for ever (its scripts, its event stream) is there before the first reading.
await accept(ours.db, companies, 5_000)
for (let open = 1; open > 0; await sleep(200)) {
  const { rows } = await ours.db.pool.query(`select count(*)::int as open from email_outbox where status <> 'SENT'`)
  open = rows[0].open
}
await sleep(1_000)
const drained = await usedBytes(redis)
hanging = true
await accept(ours.db, companies, JOBS)
await sleep(3_000)
console.log(JSON.stringify({ drained, waiting: await usedBytes(redis) }))
process.exit(0)
