import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertCompany } from '../../../src/companies/companies.ts'
import { storeProviderEvents } from '../../../src/outbox/provider-events.ts'
import { settleAttempts } from '../../../src/outbox/settle.ts'
import { startAttempts } from '../../../src/outbox/start.ts'
import { ensurePartitions } from '../../../src/platform/postgres/partitions.ts'
import { type Database, openDatabase } from '../../../src/platform/postgres/pool.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { workOffReports } from '../../support/feedback.ts'
import { accept, claim, draft, startOf } from '../../support/outbox.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { type SesKind, sesEvent } from '../../support/ses-events.ts'

const KINDS = ['Send', 'Delivery', 'Bounce', 'Complaint'] as const
const ORDERS = permutations([...KINDS])

let database: { url: string; drop(): Promise<void> }
let db: Database
let companyId: string

beforeAll(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url, () => {})
  await ensurePartitions(db.pool)
  companyId = uuidv7()
  await insertCompany(db.pool, { companyId, name: 'orders' })
})
afterAll(async () => {
  await db?.close()
  await database?.drop()
})

type Case = {
  order: SesKind[]
  sentAfter: number
  to: string
  outboxId: string
  attemptId: string
  leaseId: string
  messageId: string
}

/** Under way: SENT_ATTEMPT is written, the provider has it, and its answer is not there yet. */
async function underWay(plans: { order: SesKind[]; sentAfter: number }[]): Promise<Case[]> {
  const people = plans.map((_, place) => `person-${place}-${randomUUID()}@example.com`)
  const ids = await accept(
    db.short,
    people.map(to => draft(companyId, { to })),
  )
  const { leaseId } = await claim(db.short, ids.length)
  const starts = ids.map(outboxId => startOf(leaseId, outboxId, { provider: 'ses' }))
  expect(await startAttempts(db.short, starts)).toEqual(starts.map(() => true))
  return plans.map((plan, place) => ({
    ...plan,
    leaseId,
    to: people[place]!,
    outboxId: ids[place]!,
    attemptId: starts[place]!.attemptId,
    messageId: `0100-${randomUUID()}`,
  }))
}

/** The worker's own answer, as it settles: where an event was faster, it only adds what it knows. */
async function settleSent(cases: Case[]): Promise<void> {
  if (cases.length === 0) return
  await settleAttempts(
    db.short,
    cases.map(({ outboxId, leaseId, messageId }) => ({
      outboxId,
      guard: { kind: 'started', leaseId },
      status: 'SENT' as const,
      attempts: 1,
      messageId,
      durationMs: 5,
      events: [{ type: 'SENT' as const, metadata: { messageId } }],
    })),
  )
}

const MOMENTS: Record<string, string> = { Send: '01', Delivery: '02', Bounce: '03', Complaint: '04' }
const momentOf = (kind: string) => `2026-01-23T10:00:${MOMENTS[kind]}.000Z`

/** Three times over: by SNS twice, and once more as another message about the same thing. */
function deliveries(one: Case, kind: SesKind) {
  const { messageId, to, outboxId, attemptId } = one
  const payload = JSON.stringify(sesEvent(kind, { messageId, to: [to], outboxId, attemptId, at: momentOf(kind) }))
  const id = randomUUID()
  return [id, id, randomUUID()].map(externalId => ({ provider: 'ses' as const, externalId, payload }))
}

test('all orders of Send, Delivery, Bounce and Complaint, three times each, some before SENT: one end, each event once', async () => {
  const cases = await underWay(ORDERS.flatMap(order => [0, 1, 2, 3, 4].map(sentAfter => ({ order, sentAfter }))))
  for (let step = 0; step <= KINDS.length; step++) {
    await settleSent(cases.filter(one => one.sentAfter === step))
    if (step === KINDS.length) break
    const events = cases.flatMap(one => deliveries(one, one.order[step]!))
    for (let from = 0; from < events.length; from += 100)
      await storeProviderEvents(db.short, events.slice(from, from + 100))
    // Two workers at once, in small bites: they step over each other's.
    await Promise.all([workOffReports(db.short, { batch: 25 }), workOffReports(db.short, { batch: 40 })])
    await finishBusy()
  }
  const { rows } = await db.pool.query(
    `select o.status, o.bounce_type, o.delivered_at, o.bounced_at, o.complained_at, o.sent_at is not null as sent, o.lease_id, o.failed_at,
       o.message_id = any($2) as ours, (select string_agg(r.status, ',') from email_recipients r where r.outbox_id = o.outbox_id) as people,
       (select string_agg(e.type, ' ' order by e.type) from email_events e where e.outbox_id = o.outbox_id
          and e.type not in ('QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT')) as events, count(*)::int as emails
     from email_outbox o where o.outbox_id = any($1) group by o.outbox_id, o.status, o.bounce_type, o.delivered_at, o.bounced_at,
       o.complained_at, o.sent_at, o.lease_id, o.failed_at, o.message_id`,
    [cases.map(one => one.outboxId), cases.map(one => one.messageId)],
  )
  expect(rows).toHaveLength(cases.length)
  expect([...new Set(rows.map(row => JSON.stringify(row)))].map(row => JSON.parse(row))).toEqual([
    {
      status: 'COMPLAINED',
      bounce_type: 'Permanent',
      delivered_at: momentOf('Delivery'),
      bounced_at: momentOf('Bounce'),
      complained_at: momentOf('Complaint'),
      sent: true,
      lease_id: null,
      failed_at: null,
      ours: true,
      people: 'COMPLAINED',
      events: 'BOUNCE COMPLAINT DELIVERED SENT',
      emails: 1,
    },
  ])
  const list = await db.pool.query(
    `select email_hash, reason, expires_at from suppression_list where email_hash = any($1) order by email_hash`,
    [cases.map(one => hashEmail(one.to))],
  )
  const forEver = (email_hash: string) => ({ email_hash, reason: 'COMPLAINT', expires_at: null })
  expect(list.rows).toEqual(
    cases
      .map(one => hashEmail(one.to))
      .sort()
      .map(forEver),
  )
  const inbox = await db.pool.query(
    'select state, count(*)::int as count, count(payload)::int as kept from provider_events group by state',
  )
  expect(inbox.rows).toEqual([{ state: 'processed', count: cases.length * KINDS.length * 2, kept: 0 }])
  const figures = await db.pool.query(
    `select sum(reputation_sent)::int as sent, sum(reputation_bounced)::int as bounced, sum(reputation_complained)::int as complained from statistics`,
  )
  // The worker counts what it settles itself, which this test leaves out; the others were resolved by an event.
  const sent = cases.filter(one => one.sentAfter > 0).length
  expect(figures.rows).toEqual([{ sent, bounced: cases.length, complained: cases.length }])
})

describe('every order of two', () => {
  const ENDS: [SesKind, SesKind, string, string | null][] = [
    ['Delivery', 'Bounce', 'DELIVERED', 'HARD_BOUNCE'],
    ['Bounce', 'Complaint', 'COMPLAINED', 'COMPLAINT'],
    ['Send', 'Bounce', 'BOUNCED', 'HARD_BOUNCE'],
    ['Reject', 'Send', 'REJECTED', null],
    ['DeliveryDelay', 'Delivery', 'DELIVERED', null],
    ['Rendering Failure', 'DeliveryDelay', 'REJECTED', null],
  ]
  test.each(ENDS)('%s and %s end as %s', async (a, b, status, reason) => {
    const [one, other] = await underWay([
      { order: [a, b], sentAfter: 0 },
      { order: [b, a], sentAfter: 2 },
    ])
    await settleSent([one!])
    for (const step of [0, 1]) {
      await storeProviderEvents(
        db.short,
        [one!, other!].flatMap(some => deliveries(some, some.order[step]!)),
      )
      await workOffReports(db.short)
      await finishBusy()
    }
    await settleSent([other!])
    for (const { outboxId, to } of [one!, other!]) {
      const { rows } = await db.pool.query(
        `select o.status, (select status from email_recipients where outbox_id = $1) as person, (o.failed_at is not null) as failed,
           (select count(*)::int from dead_letters where outbox_id = $1) as dead,
           (select reason from suppression_list where email_hash = $2) as reason from email_outbox o where outbox_id = $1`,
        [outboxId, hashEmail(to)],
      )
      const rejected = status === 'REJECTED'
      expect(rows).toEqual([{ status, person: status, failed: rejected, dead: rejected ? 1 : 0, reason }])
    }
  })
})

/** What was locked by the other worker for a moment is tried again a second later; here it is now. */
async function finishBusy(): Promise<void> {
  while (
    ((await db.pool.query(`update provider_events set next_try_at = now() where state = 'waiting'`)).rowCount ?? 0) > 0
  )
    await workOffReports(db.short as pg.Pool)
}

function permutations<T>(items: T[]): T[][] {
  if (items.length <= 1) return [items]
  return items.flatMap((item, place) => permutations(items.toSpliced(place, 1)).map(rest => [item, ...rest]))
}
