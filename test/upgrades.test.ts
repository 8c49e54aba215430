import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { uuidv7 } from '../src/contracts/uuid.ts'
import { startAttempts } from '../src/db/attempts.ts'
import { returnExpiredLeases } from '../src/db/leases.ts'
import { migrate } from '../src/db/migrate.ts'
import { openDatabase } from '../src/db/pool.ts'
import { type Settlement, settleAttempts } from '../src/db/settle.ts'
import { accept, claim, draft, forgotten, receive, startOf, storyOf, typesOf, worker, workOff } from './support/line.ts'
import { createTestDatabase } from './support/postgres.ts'

const MIGRATIONS = join(import.meta.dirname, '../migrations')

/** A database as an earlier version left it: with the first so many migrations. */
async function asItWas(url: string, migrations: number): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.query(
    'create table schema_migrations (version integer primary key, name text not null, applied_at timestamptz not null default now())',
  )
  for (const file of (await readdir(MIGRATIONS)).sort().slice(0, migrations)) {
    await client.query(await readFile(join(MIGRATIONS, file), 'utf8'))
    await client.query('insert into schema_migrations (version, name) values ($1, $2)', [
      Number(file.slice(0, 4)),
      file,
    ])
  }
  await client.query(`select ensure_email_partitions((now() at time zone 'UTC')::date)`)
  return client
}

test('what the version before the engine had in hand is sent once by this one, and a rate beyond counting is brought within', async () => {
  const database = await createTestDatabase()
  const client = await asItWas(database.url, 3)
  const db = openDatabase(database.url, () => {})
  try {
    const companyId = uuidv7()
    await client.query(`insert into companies (company_id, name, rate_per_second) values ($1, 'old', 1e12)`, [
      companyId,
    ])
    const [waiting, received, started] = [uuidv7(), uuidv7(), uuidv7()]
    for (const id of [waiting, received, started]) {
      await client.query(
        `insert into email_outbox (outbox_id, company_id, request_id, test, from_address, subject, priority, retry_policy, on_unknown, max_attempts, expires_at)
         values ($1, $2, 'r', false, 'a@example.com', 'Hello', 5, 'steps', 'resend', 5, now() + interval '1 day')`,
        [id, companyId],
      )
      await client.query(
        `insert into email_recipients (outbox_id, ordinal, kind, address) values ($1, 0, 'to', 'maria@example.com')`,
        [id],
      )
      await client.query(`insert into email_content (outbox_id, text) values ($1, 'It works.')`, [id])
      await client.query(`insert into email_ready (company_id, priority, outbox_id) values ($1, 5, $2)`, [
        companyId,
        id,
      ])
    }
    const lease = uuidv7()
    await client.query(
      `update email_outbox set status = 'PROCESSING', lease_id = $1, attempts = 1 where outbox_id = any($2)`,
      [lease, [received, started]],
    )
    await client.query(
      `update email_outbox set attempt_id = $1, started_at = now(), provider = 'capture' where outbox_id = $2`,
      [uuidv7(), started],
    )
    await client.query(`delete from email_ready where outbox_id = any($1)`, [[received, started]])
    await client.query(
      `insert into leases (lease_id, holder, outbox_ids, expires_at) values ($1, 'old', $2, now() + interval '1 minute')`,
      [lease, [received, started]],
    )
    expect(await migrate(database.url)).not.toEqual([])
    expect(await forgotten(db.hot)).toEqual([])
    for (const hand of await receive(db.hot, await claim(db.hot, 10))) await worker(db.hot)(hand)
    const told = await Promise.all([waiting, received, started].map(id => storyOf(db.hot, id)))
    expect(told.map(one => [one.email.status, one.email.attempts, one.inbox.length])).toEqual([
      ['SENT', 1, 1],
      ['SENT', 2, 1],
      ['SENT', 1, 1],
    ])
    expect(typesOf(told[2]!).slice(-2)).toEqual(['RESOLVED', 'SENT'])
  } finally {
    await client.end()
    await db.close()
    await database.drop()
  }
})

test('events from before the log are read as they were, an older process may still add some, and new ones read as the source documents spell them', async () => {
  const database = await createTestDatabase()
  const client = await asItWas(database.url, 8)
  const db = openDatabase(database.url, () => {})
  try {
    const old = uuidv7()
    const before = [
      ['RECEIVED', { attempt: 1, requestId: 'r' }],
      ['SENT_ATTEMPT', { attempt: 1, provider: 'ses', attemptId: uuidv7() }],
      ['SENT', { messageId: 'm', sesMessageId: 'm', attempt: 1, attempts: 1, durationMs: 7, processingTimeMs: 7 }],
    ] as const
    for (const [type, metadata] of before)
      await client.query('insert into email_events (outbox_id, event_id, type, metadata) values ($1, $2, $3, $4)', [
        old,
        uuidv7(),
        type,
        metadata,
      ])
    await migrate(database.url)
    await client.query(`select ensure_email_partitions((now() at time zone 'UTC')::date + 1)`)
    const read = (await storyOf(db.hot, old)).events.map(({ type, metadata }) => [type, metadata])
    expect(read).toEqual(before)

    // A process of before that is still at work settles what it has sent.
    await client.query(`insert into email_events (outbox_id, event_id, type) values ($1, $2, 'DELIVERED')`, [
      old,
      uuidv7(),
    ])
    expect(typesOf(await storyOf(db.hot, old))).toEqual([...before.map(([type]) => type), 'DELIVERED'])

    const companyId = uuidv7()
    await client.query(`insert into companies (company_id, name) values ($1, 'new')`, [companyId])
    const [sent] = await accept(db.hot, [draft(companyId)])
    await workOff(db.hot)
    const { email, events } = await storyOf(db.hot, sent!)
    const attempt = { attempt: 1 }
    const durationMs = email.duration_ms
    expect(events.map(({ type, metadata }) => [type, metadata]).slice(1)).toEqual([
      ['RECEIVED', { ...attempt, requestId: email.request_id }],
      ['VALIDATED', { ...attempt, validations: ['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'] }],
      ['SENT_ATTEMPT', { ...attempt, provider: 'capture', attemptId: email.attempt_id }],
      [
        'SENT',
        {
          ...attempt,
          attempts: 1,
          messageId: email.message_id,
          sesMessageId: email.message_id,
          durationMs,
          processingTimeMs: durationMs,
        },
      ],
    ])
  } finally {
    await client.end()
    await db.close()
    await database.drop()
  }
})

/** What the version before did when an attempt started: the same facts into the e-mail's row and into the log. */
const OLD_START = `
with started as (
  update email_outbox o set status = 'PROCESSING', lease_id = l.lease_id, attempts = o.attempts + 1, attempt_id = gen_random_uuid(),
    provider = 'ses', started_at = now(), next_attempt_at = null
  from leases l where o.outbox_id = $1 and l.outbox_ids @> array[o.outbox_id] returning o.*, l.taken_at
)
insert into email_event_log (outbox_id, event_id, type, metadata)
select outbox_id, gen_random_uuid(), 'STARTED', jsonb_build_object('attempt', attempts, 'requestId', request_id, 'provider', provider,
  'attemptId', attempt_id, 'receivedAt', taken_at) from started`

/** How it left the e-mails that had started, and what of the start it kept. */
const OLD_ENDS = {
  PROCESSING: '',
  SENT: `lease_id = null, started_at = null, message_id = 'm', sent_at = now()`,
  DELIVERED: `lease_id = null, started_at = null, message_id = 'm', sent_at = now(), delivered_at = now()`,
  BOUNCED: `lease_id = null, started_at = null, message_id = 'm', sent_at = now(), bounced_at = now()`,
  COMPLAINED: `lease_id = null, started_at = null, message_id = 'm', sent_at = now(), complained_at = now()`,
  RETRY_SCHEDULED: `lease_id = null, started_at = null`,
  PENDING: `lease_id = null, started_at = null, attempts = 0`,
  UNKNOWN: `lease_id = null`,
  REJECTED: `lease_id = null, started_at = null, failed_at = now(), failure_reason = 'no'`,
  FAILED: `lease_id = null, started_at = null, failed_at = now(), failure_reason = 'no'`,
  DLQ: `lease_id = null, started_at = null, failed_at = now(), failure_reason = 'no'`,
  EXPIRED: `lease_id = null, started_at = null, failed_at = now(), failure_reason = 'no'`,
  CANCELLED: `lease_id = null, started_at = null`,
}
const STARTED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']

test('starts that are in the log stay there, and beside an older process every start is told once', async () => {
  const database = await createTestDatabase()
  const client = await asItWas(database.url, 9)
  const db = openDatabase(database.url, () => {})
  const lease = async (ids: string[]) => {
    const leaseId = uuidv7()
    await client.query(
      `insert into leases (lease_id, holder, outbox_ids, expires_at) values ($1, 'old', $2, now() + interval '1 minute')`,
      [leaseId, ids],
    )
    return leaseId
  }
  const told = async () =>
    (
      await client.query(
        'select *, created_at::text as exactly from email_events order by outbox_id, created_at, event_id',
      )
    ).rows
  const types = async (outboxId: string) => typesOf(await storyOf(db.hot, outboxId))
  try {
    const companyId = uuidv7()
    await client.query(`insert into companies (company_id, name) values ($1, 'old')`, [companyId])
    const ids = await accept(
      db.hot,
      Object.keys(OLD_ENDS).map(() => draft(companyId)),
    )
    const oldLease = await lease(ids)
    for (const [place, [status, change]] of Object.entries(OLD_ENDS).entries()) {
      await client.query(OLD_START, [ids[place]])
      if (change)
        await client.query(`update email_outbox set status = '${status}', ${change} where outbox_id = $1`, [ids[place]])
    }
    const before = await told()
    expect(before).toHaveLength(4 * ids.length)
    expect(await migrate(database.url)).not.toEqual([])
    expect(await told()).toEqual(before)

    // Started by the version before, settled by this one, in both ways; and returned with its worker's other work.
    const [sent, retried, lost] = await accept(
      db.hot,
      [1, 2, 3].map(() => draft(companyId)),
    )
    const leaseId = await lease([sent!, retried!, lost!])
    for (const outboxId of [sent, retried, lost]) await client.query(OLD_START, [outboxId])
    await settleAttempts(db.hot, [
      settlement(ids[0]!, oldLease, 'SENT'),
      settlement(sent!, leaseId, 'SENT'),
      settlement(retried!, leaseId, 'RETRY_SCHEDULED'),
    ])
    await returnExpiredLeases(db.hot, { all: true, recognising: [], graceSeconds: 1 })
    expect(await types(ids[0]!)).toEqual(['QUEUED', ...STARTED, 'SENT'])
    expect(await types(sent!)).toEqual(['QUEUED', ...STARTED, 'SENT'])
    expect(await types(retried!)).toEqual(['QUEUED', ...STARTED, 'RETRY_SCHEDULED'])
    expect(await types(lost!)).toEqual(['QUEUED', ...STARTED, 'UNKNOWN'])

    // Started by this version, and ended by the one before: taken for lost, resolved and started again; or reported.
    const mine = await accept(
      db.hot,
      [1, 2].map(() => draft(companyId)),
    )
    const mineId = await lease(mine)
    await startAttempts(
      db.hot,
      mine.map(id => startOf(mineId, id)),
    )
    const [again, reported] = mine
    const firstStart = (await storyOf(db.hot, again!)).events.slice(1)
    await client.query(
      `with unsure as (update email_outbox set status = 'UNKNOWN', lease_id = null where outbox_id = $1 returning *)
       insert into unknown_sends (outbox_id, attempt_id, provider, reason, resolve_at)
       select outbox_id, attempt_id, provider, 'WORKER_LOST', now() from unsure`,
      [again],
    )
    await client.query(`update email_outbox set status = 'PENDING', started_at = null where outbox_id = $1`, [again])
    await client.query('delete from leases')
    await lease([again!])
    await client.query(OLD_START, [again])
    expect(await types(again!)).toEqual(['QUEUED', ...STARTED, ...STARTED])
    expect((await storyOf(db.hot, again!)).events.slice(1, 4)).toEqual(firstStart)
    await client.query(
      `update email_outbox set status = 'DELIVERED', lease_id = null, started_at = null where outbox_id = $1`,
      [reported],
    )
    expect(await types(reported!)).toEqual(['QUEUED', ...STARTED])
  } finally {
    await client.end()
    await db.close()
    await database.drop()
  }
})

function settlement(outboxId: string, leaseId: string, status: 'SENT' | 'RETRY_SCHEDULED'): Settlement {
  const events = [{ id: uuidv7(), type: status, metadata: {} }]
  const guard = { leaseId }
  return { outboxId, guard, status, attempts: 1, messageId: 'm', durationMs: 1, retryDelayMs: 60_000, events }
}
