import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertCompany } from '../../../src/companies/companies.ts'
import { replayNamed } from '../../../src/dead-letters/jobs.ts'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { purgeProviderEvents, storeProviderEvents } from '../../../src/outbox/provider-events.ts'
import { settleAttempts } from '../../../src/outbox/settle.ts'
import { startAttempts } from '../../../src/outbox/start.ts'
import { recordFeedback } from '../../../src/pipeline/feedback/feedback.ts'
import { ensurePartitions } from '../../../src/platform/postgres/partitions.ts'
import { type Database, openDatabase } from '../../../src/platform/postgres/pool.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { feedbackDeps, workOffReports } from '../../support/feedback.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  readEmail,
  receive,
  startOf,
  typesOf,
  worker,
} from '../../support/outbox.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { type SesKind, sesEvent } from '../../support/ses-events.ts'

let database: { url: string; drop(): Promise<void> }
let db: Database
let companyId: string

beforeAll(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url, () => {})
  await ensurePartitions(db.pool)
  companyId = uuidv7()
  await insertCompany(db.pool, { companyId, name: 'events' })
})
afterAll(async () => {
  await db?.close()
  await database?.drop()
})

type Sent = { outboxId: string; attemptId: string; messageId: string; to: string; leaseId: string }

/** One that has been handed to the provider; with its answer, unless it is to be without. */
async function sendOne({ answered = true, ...change }: DraftChange & { answered?: boolean } = {}): Promise<Sent> {
  const to = change.to ?? `${randomUUID()}@example.com`
  const [outboxId] = await accept(db.short, [draft(companyId, { ...change, to })])
  const { leaseId } = await claim(db.short, 1)
  const start = startOf(leaseId, outboxId!, { provider: 'ses' })
  await startAttempts(db.short, [start])
  const sent = { outboxId: outboxId!, attemptId: start.attemptId, messageId: `0100-${randomUUID()}`, to, leaseId }
  if (answered) await answer(sent)
  return sent
}

async function answer({ outboxId, leaseId, messageId }: Sent): Promise<void> {
  const events = [{ type: 'SENT' as const, metadata: { messageId } }]
  const [held] = await settleAttempts(db.short, [
    { outboxId, guard: { kind: 'started', leaseId }, status: 'SENT', attempts: 1, messageId, durationMs: 1, events },
  ])
  expect(held).toBe(true)
}

async function report(
  kind: SesKind,
  sent: Partial<Sent> & { messageId: string; to: string; classic?: boolean },
  details = {},
) {
  const payload = JSON.stringify(sesEvent(kind, { ...sent, to: [sent.to] }, details))
  await storeProviderEvents(db.short, [{ provider: 'ses', externalId: randomUUID(), payload }])
  await workOffReports(db.short)
}

const read = (outboxId: string) => readEmail(db.pool, outboxId)
const suppressed = async (address: string) =>
  (
    await db.pool.query('select reason, expires_at, metadata from suppression_list where email_hash = $1', [
      hashEmail(address),
    ])
  ).rows[0]
const lastInInbox = async () =>
  (await db.pool.query('select * from provider_events order by received_at desc, next_try_at desc limit 1')).rows[0]

describe('what an event does', () => {
  test('a permanent bounce: BOUNCED with its diagnostics masked, and suppressed for ninety days', async () => {
    const sent = await sendOne()
    await report('Bounce', sent)
    const { email, events } = await read(sent.outboxId)
    expect(email).toMatchObject({ status: 'BOUNCED', bounce_type: 'Permanent', bounced_at: expect.any(Date) })
    const { metadata } = events.at(-1)!
    expect(metadata).toMatchObject({
      bounceType: 'Permanent',
      bounceSubType: 'General',
      diagnosticCode: expect.stringMatching(/^smtp; 550 5\.1\.1 <.\*\*\*@e\*\*\*\.com>: user unknown$/),
      feedbackId: `bounce-${sent.messageId}`,
      recipientHash: hashEmail(sent.to),
      messageId: sent.messageId,
      sesMessageId: sent.messageId,
      bouncedAt: email.bounced_at.toISOString(),
    })
    expect(JSON.stringify(events)).not.toContain(sent.to)
    const entry = await suppressed(sent.to)
    expect(entry).toMatchObject({
      reason: 'HARD_BOUNCE',
      metadata: { bounceType: 'Permanent', feedbackId: `bounce-${sent.messageId}` },
    })
    expect((entry.expires_at - Date.now()) / 86_400_000).toBeCloseTo(90, 1)
  })

  test.each(['Transient', 'Undetermined'])(
    'a bounce that is %s: BOUNCED, and nobody is suppressed',
    async bounceType => {
      const sent = await sendOne()
      await report('Bounce', sent, { bounceType, bounceSubType: 'MailboxFull' })
      expect((await read(sent.outboxId)).email).toMatchObject({ status: 'BOUNCED', bounce_type: bounceType })
      expect(await suppressed(sent.to)).toBeUndefined()
    },
  )

  test('a complaint: COMPLAINED, suppressed for ever; a bounce after it changes neither', async () => {
    const sent = await sendOne()
    await report('Complaint', sent)
    await report('Bounce', sent)
    const stored = await read(sent.outboxId)
    expect(stored.email).toMatchObject({ status: 'COMPLAINED', complained_at: expect.any(Date) })
    expect(stored.events.find(one => one.type === 'COMPLAINT')!.metadata).toMatchObject({
      feedbackType: 'abuse',
      userAgent: 'Gmail',
    })
    expect(await suppressed(sent.to)).toMatchObject({ reason: 'COMPLAINT', expires_at: null })
  })

  test('not-spam is recorded, and changes nothing', async () => {
    const sent = await sendOne()
    await report('Complaint', sent, { complaintFeedbackType: 'not-spam' })
    const stored = await read(sent.outboxId)
    expect(stored.email).toMatchObject({ status: 'SENT', complained_at: null })
    expect(typesOf(stored).at(-1)).toBe('COMPLAINT')
    expect(await suppressed(sent.to)).toBeUndefined()
  })

  test('a bounce of a cc suppresses the cc, and the e-mail shows its to', async () => {
    const cc = `${randomUUID()}@example.com`
    const sent = await sendOne({ cc: [cc] })
    await report('Bounce', { ...sent, to: cc })
    const stored = await read(sent.outboxId)
    expect(stored.email).toMatchObject({ status: 'SENT', bounced_at: null })
    expect(stored.recipients.map(row => row.status)).toEqual(['SENT', 'BOUNCED'])
    expect([await suppressed(sent.to), (await suppressed(cc)).reason]).toEqual([undefined, 'HARD_BOUNCE'])
  })

  test('an address that the mail was forwarded to is the recipient’s, where there is one', async () => {
    const sent = await sendOne()
    await report('Bounce', { ...sent, to: 'elsewhere@example.org' })
    expect((await read(sent.outboxId)).email.status).toBe('BOUNCED')
    expect([(await suppressed(sent.to)).reason, await suppressed('elsewhere@example.org')]).toEqual([
      'HARD_BOUNCE',
      undefined,
    ])
  })

  test('a reject: REJECTED, a dead letter with its reason', async () => {
    const sent = await sendOne()
    await report('Reject', sent)
    const stored = await read(sent.outboxId)
    expect(stored.email).toMatchObject({
      status: 'REJECTED',
      failure_reason: 'Bad content',
      failed_at: expect.any(Date),
    })
    expect(typesOf(stored).slice(-2)).toEqual(['REJECTED', 'DLQ_MOVED'])
    expect(stored.dead).toMatchObject({
      last_failure_reason: 'Bad content',
      last_failure_code: 'REJECT',
      failed_attempts: 1,
    })
  })

  test('mail of a test key bounces, and suppresses nobody', async () => {
    const sent = await sendOne({ test: true })
    await report('Bounce', sent)
    expect((await read(sent.outboxId)).email.status).toBe('BOUNCED')
    expect(await suppressed(sent.to)).toBeUndefined()
  })
})

describe('an outcome that nobody knew', () => {
  test.each([
    ['Send', 'SENT', 'SENT'],
    ['DeliveryDelay', 'SENT', 'SENT'],
    ['Delivery', 'DELIVERED', 'DELIVERED'],
    ['Bounce', 'BOUNCED', 'BOUNCE'],
  ] as const)('is resolved by %s', async (kind, status, last) => {
    const sent = await sendOne({ answered: false })
    await expireLeases(db.short)
    await returnExpiredLeases(db.short, { all: false, idempotentProviders: [], graceSeconds: 120 })
    expect((await read(sent.outboxId)).email.status).toBe('UNKNOWN')
    await report(kind, sent)
    const stored = await read(sent.outboxId)
    expect(stored.email).toMatchObject({ status, message_id: sent.messageId, started_at: null })
    expect([typesOf(stored).includes('RESOLVED'), typesOf(stored).at(-1)]).toEqual([true, last])
    const { rows } = await db.pool.query('select 1 from unknown_sends where outbox_id = $1', [sent.outboxId])
    expect(rows).toEqual([])
  })
})

describe('an event without tags (identity notifications)', () => {
  test('is found by its message id, through its recipients', async () => {
    const { outboxId, messageId, to } = await sendOne()
    await report('Delivery', { messageId, to, classic: true })
    expect((await read(outboxId)).email.status).toBe('DELIVERED')
  })

  test('that comes before the answer waits for it, and is tried again', async () => {
    const sent = await sendOne({ answered: false })
    await report('Bounce', { messageId: sent.messageId, to: sent.to, classic: true })
    expect(await lastInInbox()).toMatchObject({ state: 'waiting', attempts: 1, payload: expect.any(String) })
    await answer(sent)
    await db.pool.query(`update provider_events set next_try_at = now() where state = 'waiting'`)
    await workOffReports(db.short)
    expect((await read(sent.outboxId)).email.status).toBe('BOUNCED')
    expect(await lastInInbox()).toMatchObject({ state: 'processed', outbox_id: sent.outboxId, payload: null })
  })

  test('that nobody claims in a day is unmatched, and stays to be looked at', async () => {
    await report('Bounce', { messageId: 'somebody-elses', to: 'nobody@example.com', classic: true })
    await db.pool.query(
      `update provider_events set next_try_at = now(), received_at = now() - interval '25 hours' where state = 'waiting'`,
    )
    await workOffReports(db.short)
    const { rows } = await db.pool.query(
      `select state, note, payload is not null as kept from provider_events where state = 'unmatched'`,
    )
    expect(rows).toEqual([{ state: 'unmatched', note: 'Bounce: no e-mail has this message id yet', kept: true }])
    await db.pool.query('delete from provider_events')
  })
})

describe('an event that is none of ours', () => {
  test.each([
    ['tags of somebody else', sesEvent('Bounce', { messageId: 'x', to: ['a@example.com'] }), 'unmatched'],
    [
      'an e-mail that was never here',
      sesEvent('Bounce', { messageId: 'x', to: ['a@example.com'], outboxId: uuidv7() }),
      'unmatched',
    ],
    ['an open', { eventType: 'Open', mail: {} }, 'ignored'],
    ['the first words of a topic', 'Successfully validated SNS topic for Amazon SES event publishing.', 'ignored'],
    ['the test of an identity', { notificationType: 'AmazonSnsSubscriptionSucceeded', message: 'x' }, 'ignored'],
    ['no JSON', '{"eventType":', 'unreadable'],
    ['no event', { hello: 'world' }, 'unreadable'],
    ['a bounce without its details', { eventType: 'Bounce', mail: { messageId: 'x' } }, 'unreadable'],
  ])('%s', async (_, payload, state) => {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    await storeProviderEvents(db.short, [{ provider: 'ses', externalId: randomUUID(), payload: text }])
    await workOffReports(db.short)
    expect((await lastInInbox()).state).toBe(state)
  })
})

describe("what a recipient's own server writes into its bounces", () => {
  const report = async (sent: Sent, named: string[], feedbackId: string) => {
    const payload = JSON.stringify(sesEvent('Bounce', { ...sent, to: named }, { feedbackId }))
    await storeProviderEvents(db.short, [{ provider: 'ses', externalId: randomUUID(), payload }])
    await workOffReports(db.short)
  }
  const bounced = async () => {
    const { rows } = await db.pool.query<{ bounced: number }>(
      'select coalesce(sum(reputation_bounced), 0)::int as bounced from statistics where company_id = $1',
      [companyId],
    )
    return rows[0]!.bounced
  }

  test('suppresses nobody to whom the e-mail did not go, and counts for nothing', async () => {
    const before = await bounced()
    const sent = await sendOne({ cc: [`${randomUUID()}@example.com`] })
    const stranger = `ceo-${randomUUID()}@bank.example`
    await report(sent, [stranger], 'f-1')
    expect(await suppressed(stranger)).toBeUndefined()
    expect((await read(sent.outboxId)).recipients.map(one => one.status)).toEqual(['SENT', 'SENT'])
    expect(await bounced()).toBe(before)
  })

  test('counts once for each recipient, however often it bounces', async () => {
    const before = await bounced()
    const sent = await sendOne()
    for (const feedbackId of ['f-1', 'f-2', 'f-3']) await report(sent, [sent.to, sent.to], feedbackId)
    expect(await bounced()).toBe(before + 1)
    expect((await suppressed(sent.to)).reason).toBe('HARD_BOUNCE')
  })
})

describe('trouble', () => {
  test('a worker that is lost between the answer and SENT has left the report behind', async () => {
    const to = `bounce+${randomUUID()}@simulator.test`
    const [outboxId] = await accept(db.short, [draft(companyId, { to })])
    const received = await receive(db.short, await claim(db.short, 1))
    const lostWorker = worker(db.short, { write: () => Promise.reject(new Error('killed')) })
    await expect(lostWorker(received[0]!)).rejects.toThrow('killed')
    await workOffReports(db.short)
    expect((await read(outboxId!)).email.status, 'its worker might still settle it').toBe('PROCESSING')
    await expireLeases(db.short)
    await returnExpiredLeases(db.short, { all: false, idempotentProviders: [], graceSeconds: 120 })
    await db.pool.query(`update provider_events set next_try_at = now() where state = 'waiting'`)
    await workOffReports(db.short)
    expect((await read(outboxId!)).email).toMatchObject({ status: 'BOUNCED', lease_id: null })
    expect((await suppressed(to)).reason).toBe('HARD_BOUNCE')
  })

  test('a process that is killed in the middle has done nothing, and the next one does all of it', async () => {
    const sent = await sendOne()
    const payload = JSON.stringify(sesEvent('Bounce', { ...sent, to: [sent.to] }))
    await storeProviderEvents(db.short, [{ provider: 'ses', externalId: randomUUID(), payload }])
    // The last statement of all is the one that fails.
    await db.pool.query('alter table suppression_list rename to suppression_list_away')
    await recordFeedback(feedbackDeps(db.short))
    expect([(await read(sent.outboxId)).email.status, (await lastInInbox()).state]).toEqual(['SENT', 'waiting'])
    await db.pool.query('alter table suppression_list_away rename to suppression_list')
    await db.pool.query(`update provider_events set next_try_at = now() where state = 'waiting'`)
    await workOffReports(db.short)
    expect((await read(sent.outboxId)).email.status).toBe('BOUNCED')
    expect((await suppressed(sent.to)).reason).toBe('HARD_BOUNCE')
  })

  test('an event that breaks what we write does not stop its neighbours', async () => {
    const [good, bad, other] = [await sendOne(), await sendOne(), await sendOne()]
    await db.pool.query(
      `create function refuse_it() returns trigger language plpgsql as $$ begin
         if new.outbox_id = '${bad.outboxId}' then raise exception 'poison' using errcode = '22000'; end if; return new; end $$`,
    )
    await db.pool.query(
      'create trigger refuse_it before insert on email_events for each row execute function refuse_it()',
    )
    for (const sent of [good, bad, other])
      await storeProviderEvents(db.short, [
        {
          provider: 'ses',
          externalId: randomUUID(),
          payload: JSON.stringify(sesEvent('Delivery', { ...sent, to: [sent.to] })),
        },
      ])
    await workOffReports(db.short)
    await db.pool.query('drop trigger refuse_it on email_events; drop function refuse_it')
    const states = await Promise.all([good, bad, other].map(async one => (await read(one.outboxId)).email.status))
    expect(states).toEqual(['DELIVERED', 'SENT', 'DELIVERED'])
    const { rows } = await db.pool.query(`select attempts, note from provider_events where state = 'waiting'`)
    expect(rows).toEqual([{ attempts: 1, note: 'poison' }])
  })

  test('old ones are forgotten in bites, but not what still waits', async () => {
    await db.pool.query(`update provider_events set received_at = now() - interval '8 days'`)
    const { rows } = await db.pool.query(
      `select count(*) filter (where state <> 'waiting')::int as done from provider_events`,
    )
    expect([await purgeProviderEvents(db.pool, 7, 3), await purgeProviderEvents(db.pool, 7, 1000)]).toEqual([
      3,
      rows[0].done - 3,
    ])
    expect((await db.pool.query('select distinct state from provider_events')).rows).toEqual([{ state: 'waiting' }])
  })
})

describe('an e-mail that was replayed after the provider had refused it', () => {
  async function refusedAndReplayed(): Promise<Sent> {
    const sent = await sendOne()
    await report('Reject', sent)
    expect((await read(sent.outboxId)).email.status).toBe('REJECTED')
    expect(await replayNamed(db.pool, [sent.outboxId], 'test')).toMatchObject([{ outboxId: sent.outboxId }])
    return sent
  }

  test.each(['Reject', 'Send'] as const)('is not moved by a late %s of the attempt before', async kind => {
    const sent = await refusedAndReplayed()
    await report(kind, sent)
    const { email, dead, events } = await read(sent.outboxId)
    expect(email).toMatchObject({ status: 'PENDING', sent_at: null })
    expect(dead).toBeUndefined()
    expect(events.filter(one => one.type === 'REJECTED')).toHaveLength(1)
    await db.pool.query('delete from email_ready')
  })
})

test('connections that are closed for good are an error, and no reason to ask again at once for ever', async () => {
  const closed = openDatabase(database.url, () => {})
  await closed.close()
  await expect(recordFeedback(feedbackDeps(closed.pool))).rejects.toThrow('after calling end on the pool')
})
