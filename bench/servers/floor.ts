import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { ofBatch } from '../../src/outbox/batch-arrays.ts'
import { accept, JOBS, makeCompanies, openLine, sent, WARM_UP_JOBS } from '../support/our-line.ts'
import { answer } from '../support/reference.ts'

/**
 * The floor: what Postgres alone asks for. First come first served, the state and the facts its events are told from committed
 * before and after a call that is none; no lease to return, no content read, nothing checked, nobody told. Whoever keeps the states
 * and the events in these tables cannot be faster than this, in whatever language.
 */
const BATCH = 250
const CONNECTIONS = 4

const CLAIM = `
delete from email_ready where ctid = any(array(
  select ctid from email_ready order by company_id, priority, outbox_id limit ${BATCH} for update skip locked))
returning outbox_id`

const START = `
update email_outbox o set status = 'PROCESSING', lease_id = $4, attempts = 1, attempt_id = $4, provider = 'null', started_at = now()
where ${ofBatch('o')}`

const SETTLE = `
update email_outbox o set status = 'SENT', lease_id = null, message_id = 'm', duration_ms = 1, sent_at = now()
where ${ofBatch('o')}`

async function drain(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ outbox_id: string }>({ name: 'claim', text: CLAIM })
    if (rows.length === 0) return
    const ids = rows.map(row => row.outbox_id).sort()
    const input = [ids, ids[0], ids.at(-1)]
    await client.query({ name: 'start', text: START, values: [...input, randomUUID()] })
    await client.query({ name: 'settle', text: SETTLE, values: input })
  }
}

async function measure(count: number): Promise<number> {
  const { db, config, stop } = await openLine(async () => sent())
  await accept(db, await makeCompanies(db, 10), count)
  await db.pool.query('vacuum analyze email_ready')
  const clients = Array.from({ length: CONNECTIONS }, () => {
    const options = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off'
    return new pg.Client({ connectionString: config.DATABASE_URL, options })
  })
  await Promise.all(clients.map(client => client.connect()))
  const startedMs = performance.now()
  await Promise.all(clients.map(drain))
  const ms = performance.now() - startedMs
  await Promise.all(clients.map(client => client.end()))
  await stop()
  return ms
}

await measure(WARM_UP_JOBS)
answer({ jobs: JOBS, ms: await measure(JOBS) })
process.exit(0)
