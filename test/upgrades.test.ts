import { expect, test } from 'vitest'
import { uuidv7 } from '../src/contracts/uuid.ts'
import { migrate } from '../src/db/migrate.ts'
import { openDatabase } from '../src/db/pool.ts'
import { asItWas, putEmail } from './support/as-it-was.ts'
import { accept, claim, draft, forgotten, receive, storyOf, typesOf, worker, workOff } from './support/line.ts'
import { createTestDatabase } from './support/postgres.ts'

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
      await putEmail(client, companyId, id)
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
