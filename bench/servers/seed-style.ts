import { createHmac } from 'node:crypto'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { acceptedSchema } from '../../src/outbox/email-view.ts'
import { type SendBody, sendBodySchema } from '../../src/outbox/send-body.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { Problem } from '../../src/web/problem.ts'
import { baseApp } from '../../src/web/server.ts'

/**
 * Reference (b): as documents 001 and 004 sketch it, written with care: pooled, prepared, the two inserts in one
 * transaction, slim job. Key lookup → suppression lookup → INSERT outbox + INSERT event → queue.add → 202.
 */
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 })
const queue = new Queue('email-send', { connection: new Redis(process.env.REDIS_URL!, { maxRetriesPerRequest: null }) })
const PEPPER = 'pepper'

const one = async (db: pg.Pool | pg.PoolClient, name: string, text: string, values: unknown[]) =>
  (await db.query({ name, text, values })).rows[0]

await pool.query(`
  drop schema if exists seed cascade; create schema seed;
  create table seed.api_keys (key_hash bytea primary key, company_id uuid not null);
  create table seed.suppression_list (id uuid primary key default gen_random_uuid(), email_hash text unique not null, reason text not null, expires_at timestamptz);
  create table seed.email_outbox (outbox_id uuid primary key, company_id uuid not null, request_id text not null, status text not null default 'PENDING',
    recipient text not null, subject text not null, html text, attempts int not null default 0, created_at timestamptz not null default now());
  create index on seed.email_outbox (company_id, created_at);
  create table seed.email_events (event_id uuid primary key, outbox_id uuid not null references seed.email_outbox, event_type text not null,
    created_at timestamptz not null default now(), metadata jsonb not null);
  create index on seed.email_events (outbox_id)`)
const companyId = uuidv7()
const hashKey = (key: string) => createHmac('sha256', PEPPER).update(key).digest()
await pool.query('insert into seed.api_keys values ($1, $2)', [hashKey('sk_live_bench'), companyId])

async function insertEmail(outboxId: string, requestId: string, body: SendBody): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await one(
      client,
      'outbox',
      'insert into seed.email_outbox (outbox_id, company_id, request_id, recipient, subject, html) values ($1, $2, $3, $4, $5, $6)',
      [outboxId, companyId, requestId, body.to[0]!.address, body.subject, body.html],
    )
    await one(
      client,
      'event',
      `insert into seed.email_events (event_id, outbox_id, event_type, metadata) values ($1, $2, 'QUEUED', $3)`,
      [uuidv7(), outboxId, { queuedAt: new Date().toISOString() }],
    )
    await client.query('commit')
  } finally {
    client.release()
  }
}

const app = baseApp({ log: makeLog({ level: 'info', pretty: false }), trustProxy: false })

app.post(
  '/v1/email/send',
  { schema: { body: sendBodySchema, response: { 202: acceptedSchema } } },
  async (request, reply) => {
    const body = request.body as SendBody
    const key = await one(pool, 'key', 'select company_id from seed.api_keys where key_hash = $1', [
      hashKey(String(request.headers['x-api-key'])),
    ])
    if (!key) throw new Problem('UNAUTHENTICATED')
    const suppressed = await one(
      pool,
      'suppressed',
      'select reason from seed.suppression_list where email_hash = $1 and (expires_at is null or expires_at > now())',
      [hashEmail(body.to[0]!.normalised)],
    )
    if (suppressed) throw new Problem('RECIPIENT_SUPPRESSED')
    const outboxId = uuidv7()
    await insertEmail(outboxId, request.id, body)
    const job = {
      outboxId,
      companyId,
      requestId: request.id,
      htmlRef: outboxId,
      attempt: 1,
      enqueuedAt: new Date().toISOString(),
    }
    await queue.add('email:send', job, { jobId: outboxId, priority: 5, removeOnComplete: true })
    return reply
      .code(202)
      .send({ outboxId, jobId: outboxId, requestId: request.id, status: 'QUEUED', queuedAt: job.enqueuedAt })
  },
)

process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
process.on('SIGTERM', () => process.exit(0))
