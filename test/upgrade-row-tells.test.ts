import { expect, test } from 'vitest'
import { uuidv7 } from '../src/contracts/uuid.ts'
import { migrate } from '../src/db/migrate.ts'
import { returnExpiredLeases } from '../src/db/outbox/leases.ts'
import { type Settlement, settleAttempts } from '../src/db/outbox/settle.ts'
import { startAttempts } from '../src/db/outbox/start.ts'
import { openDatabase } from '../src/db/pool.ts'
import { asItWas, putEmail } from './support/as-it-was.ts'
import { accept, draft, startOf, storyOf, typesOf } from './support/line.ts'
import { createTestDatabase } from './support/postgres.ts'

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

test('starts and recipients are told as before, and beside an older process every start is told once', async () => {
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
  const addressed = async () => (await client.query('select * from email_recipients order by outbox_id')).rows
  const types = async (outboxId: string) => typesOf(await storyOf(db.hot, outboxId))
  try {
    const companyId = uuidv7()
    await client.query(`insert into companies (company_id, name) values ($1, 'old')`, [companyId])
    const ids = Object.keys(OLD_ENDS).map(() => uuidv7())
    for (const id of ids) await putEmail(client, companyId, id)
    const oldLease = await lease(ids)
    for (const [place, [status, change]] of Object.entries(OLD_ENDS).entries()) {
      await client.query(OLD_START, [ids[place]])
      if (!change) continue
      await client.query(`update email_outbox set status = '${status}', ${change} where outbox_id = $1`, [ids[place]])
      await client.query(`update email_recipients set status = '${status}' where outbox_id = $1`, [ids[place]])
    }
    const before = await told()
    const people = await addressed()
    expect(before).toHaveLength(3 * ids.length)
    expect(await migrate(database.url)).not.toEqual([])
    expect(await told()).toEqual(before)
    expect(await addressed()).toEqual(people)

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
    expect(await types(ids[0]!)).toEqual([...STARTED, 'SENT'])
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

    // Sent by this version, and reported to the one before, which looks for SENT in the log only.
    await client.query(
      `insert into email_event_log (outbox_id, event_id, type, metadata) values ($1, $2, 'SENT', '{}') on conflict do nothing`,
      [sent, uuidv7()],
    )
    expect(await types(sent!)).toEqual(['QUEUED', ...STARTED, 'SENT'])

    // Its recipients, which it writes under their old name.
    const theirs = uuidv7()
    await putEmail(client, companyId, theirs)
    const statuses = async () => (await storyOf(db.hot, theirs)).recipients.map(one => one.status)
    expect(await statuses()).toEqual(['PENDING'])
    await client.query(`update email_outbox set sent_at = now(), message_id = 'm' where outbox_id = $1`, [theirs])
    expect(await statuses(), 'sent by this version').toEqual(['SENT'])
    await client.query(`update email_recipients set status = 'BOUNCED' where outbox_id = $1`, [theirs])
    expect(await statuses()).toEqual(['BOUNCED'])
    await client.query('delete from email_recipients where outbox_id = $1', [theirs])
    expect(await statuses()).toEqual([])
  } finally {
    await client.end()
    await db.close()
    await database.drop()
  }
})

function settlement(outboxId: string, leaseId: string, status: 'SENT' | 'RETRY_SCHEDULED'): Settlement {
  const events = [{ type: status, metadata: {} }]
  const guard = { leaseId }
  return { outboxId, guard, status, attempts: 1, messageId: 'm', durationMs: 1, retryDelayMs: 60_000, events }
}
