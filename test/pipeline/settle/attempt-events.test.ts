import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { replayNamed } from '../../../src/dead-letters/jobs.ts'
import { listEvents } from '../../../src/emails/emails.ts'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { loadEmailsToSend } from '../../../src/outbox/load.ts'
import { storeProviderEvents } from '../../../src/outbox/provider-events.ts'
import { readyDueEmails } from '../../../src/outbox/schedule.ts'
import { type Settlement, settleAttempts } from '../../../src/outbox/settle.ts'
import { type AttemptStart, startAttempts } from '../../../src/outbox/start.ts'
import type { SettledOutcome } from '../../../src/pipeline/attempt/outcome.ts'
import { resolveUnknownSends } from '../../../src/pipeline/housekeeping/unknown.ts'
import { toSettlement } from '../../../src/pipeline/settle/settle.ts'
import type { Database } from '../../../src/platform/postgres/pool.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { DEFAULT_SUPPRESSION_POLICY } from '../../../src/suppression/rules.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import { workOffReports } from '../../support/feedback.ts'
import { accept, claim, draft, expireLeases, makeDue, startOf } from '../../support/outbox.ts'
import { rowsRead } from '../../support/rows-read.ts'
import { type SesKind, sesEvent } from '../../support/ses-events.ts'
import { graceOver } from '../../support/unknown.ts'

let db: Database
let companyId: string
emptyOutbox(outbox => {
  db = outbox.gateway.db
  companyId = outbox.companyId
})

const FAILURE = { code: 'TIMEOUT', category: 'TIMEOUT_ERROR', message: 'no answer' }
const TO = 'maria@example.com'
const ATTACHMENT = { filename: 'a.txt', contentType: 'text/plain', contentId: null, base64: 'AAAA' }
const SUPPRESSES_NOBODY = { ...DEFAULT_SUPPRESSION_POLICY, automatic: { HARD_BOUNCE: false, COMPLAINT: false } }

async function begin(change: Partial<AttemptStart> = {}): Promise<AttemptStart> {
  const { leaseId, claimed } = await claim(db.short, 1)
  const start = startOf(leaseId, claimed[0]!.outboxId, { provider: 'ses', ...change })
  expect(await startAttempts(db.short, [start])).toEqual([true])
  return start
}

const SENT = { kind: 'sent', messageId: 'm-1' } as const

function endOf(
  outcome: SettledOutcome,
  { leaseId, suppressedOrdinals: _, ...start }: AttemptStart,
  more = {},
): Settlement {
  return toSettlement(outcome, {
    ...start,
    guard: { kind: 'started', leaseId },
    requestId: 'r-1',
    maxAttempts: 5,
    durationMs: 7,
    ...more,
  })
}

const answered =
  (outcome: SettledOutcome, more = {}) =>
  async (start: AttemptStart) =>
    expect(await settleAttempts(db.short, [endOf(outcome, start, more)])).toEqual([true])

const sent = answered(SENT)

const reported =
  (kind: SesKind) =>
  async ({ outboxId, attemptId }: AttemptStart) => {
    const payload = JSON.stringify(sesEvent(kind, { outboxId, attemptId, messageId: 'm-1', to: [TO] }))
    await storeProviderEvents(db.short, [{ provider: 'ses', externalId: randomUUID(), payload }])
    await workOffReports(db.pool, { suppression: SUPPRESSES_NOBODY })
  }

async function isLost(): Promise<void> {
  await expireLeases(db.short)
  expect(await returnExpiredLeases(db.short, { all: false, idempotentProviders: [], graceSeconds: 1 })).toMatchObject({
    unknown: 1,
  })
}

async function isDue({ outboxId }: AttemptStart): Promise<void> {
  await makeDue(db.short, [outboxId])
  expect(await readyDueEmails(db.short, 1000)).toBe(1)
}

const isResolved = (idempotentProviders: string[]) => async () => {
  await graceOver(db.short)
  expect(await resolveUnknownSends(db.short, idempotentProviders)).toBe(1)
}

async function isReplayed({ outboxId }: AttemptStart): Promise<void> {
  expect((await replayNamed(db.pool, [outboxId], 'test')).map(one => one.outcome)).toEqual(['replayed'])
}

type StoredEvent = { event_id: string; type: string; metadata: object }

/** Ids, times and facts of the events of an e-mail, in order. */
async function eventsOf(outboxId: string, types: string[]): Promise<StoredEvent[]> {
  const { rows } = await db.pool.query(
    `select event_id, type, created_at::text, metadata from email_events where outbox_id = $1 and type = any($2)
     order by email_events.created_at, event_id`,
    [outboxId, types],
  )
  return rows
}

const startsOf = (outboxId: string) => eventsOf(outboxId, ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT'])
const sentOf = (outboxId: string) => eventsOf(outboxId, ['SENT'])

type Step = (start: AttemptStart) => Promise<void>

/** How an attempt ends, and, where it can start again, by what. */
const ENDS: [string, Step[], Partial<AttemptStart>?][] = [
  ['plainly sent', [sent]],
  ['sent without one of its recipients', [answered(SENT, { suppressedHashes: ['sha256:a'] })]],
  ['sent and delivered', [sent, reported('Delivery')]],
  ['sent, bounced and complained about', [sent, reported('Bounce'), reported('Complaint')]],
  ['reported as sent before the answer', [reported('Send')]],
  ['delivered before the answer', [reported('Delivery'), reported('Complaint')]],
  ['refused by a report before the answer, and replayed', [reported('Reject'), isReplayed], {}],
  ['sent, refused by a report, and replayed', [sent, reported('Reject'), isReplayed], {}],
  [
    'retried',
    [answered({ kind: 'retry', failure: FAILURE, delayMs: 60_000 }), isDue],
    { attempt: 2, attemptsBefore: 1 },
  ],
  ['parked', [answered({ kind: 'parked', failure: FAILURE })], {}],
  ['dead and replayed', [answered({ kind: 'dead', status: 'DLQ', failure: FAILURE }), isReplayed], {}],
  [
    'unknown and sent again',
    [answered({ kind: 'unknown', failure: FAILURE, graceSeconds: 1 }), isResolved([])],
    { attempt: 2, attemptsBefore: 1 },
  ],
  ['unknown and delivered', [answered({ kind: 'unknown', failure: FAILURE, graceSeconds: 1 }), reported('Delivery')]],
  ['lost with its worker and sent again', [isLost, isResolved([])], { attempt: 2, attemptsBefore: 1 }],
  ['lost with its worker and delivered', [isLost, reported('Delivery')]],
  ['lost with its worker and to be repeated', [isLost, isResolved(['ses'])], { attempt: 1, attemptsBefore: 1 }],
]

test.each(ENDS)(
  'the start of an e-mail that is %s, and that it was sent, are recorded once, and never change',
  async (_, steps, again) => {
    const [outboxId] = await accept(db.short, [draft(companyId, { to: TO, cc: ['ana@example.com'] })])
    const first = await begin()
    const begun = await startsOf(outboxId!)
    const { attemptId } = first
    expect(begun).toEqual([
      expect.objectContaining({ type: 'RECEIVED', metadata: { attempt: 1, requestId: 'r-1' } }),
      expect.objectContaining({
        type: 'VALIDATED',
        metadata: { attempt: 1, validations: ['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'] },
      }),
      expect.objectContaining({ type: 'SENT_ATTEMPT', metadata: { attempt: 1, provider: 'ses', attemptId } }),
    ])
    let away: StoredEvent[] = []
    for (const step of steps) {
      await step(first)
      expect(await startsOf(outboxId!)).toEqual(begun)
      const now = await sentOf(outboxId!)
      expect(now).toEqual(away.length > 0 ? away : now.slice(0, 1))
      away = now
    }
    if (!again) return
    // A repeated call goes on under the same id.
    const second = await begin({ ...again, ...(again.attempt === again.attemptsBefore && { attemptId }) })
    const both = await startsOf(outboxId!)
    expect(both).toEqual([...begun, ...both.slice(3)])
    expect(both.slice(3).map(({ type }) => type)).toEqual(['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT'])
    expect(both[5]!.metadata).toMatchObject({ attempt: second.attempt, attemptId: second.attemptId })
    await sent(second)
    expect(await startsOf(outboxId!)).toEqual(both)
    expect(await sentOf(outboxId!)).toEqual([...away, expect.objectContaining({ type: 'SENT' })])
    expect(new Set(both.map(one => one.event_id)).size).toBe(6)
  },
)

test('SENT is recorded alike with and without an endpoint that asked for it', async () => {
  const ids: string[] = []
  for (const listens of [false, true]) {
    if (listens)
      await db.pool.query(
        `with endpoint as (
           insert into webhook_endpoints (endpoint_id, company_id, url, event_types, secret_cipher)
           values ($1, $2, 'https://example.com', '{email.sent}', 'x') returning endpoint_id)
         insert into webhook_state (endpoint_id) select endpoint_id from endpoint`,
        [randomUUID(), companyId],
      )
    const [outboxId] = await accept(db.short, [draft(companyId)])
    await sent(await begin())
    ids.push(outboxId!)
  }
  const [alone, delivered] = [await sentOf(ids[0]!), await sentOf(ids[1]!)]
  const metadata = {
    messageId: 'm-1',
    sesMessageId: 'm-1',
    attempt: 1,
    attempts: 1,
    durationMs: 7,
    processingTimeMs: 7,
  }
  expect([alone, delivered]).toEqual([[expect.objectContaining({ metadata })], [expect.objectContaining({ metadata })]])
  const deliveries = await db.pool.query('select outbox_id, event_id from webhook_deliveries')
  expect(deliveries.rows).toEqual([{ outbox_id: ids[1], event_id: delivered[0]!.event_id }])
  await db.pool.query('delete from webhook_deliveries; delete from webhook_endpoints')
})

test('starts and settlements of a batch find their e-mails, whatever their order, and those of one e-mail come one by one', async () => {
  const ids = await accept(
    db.short,
    Array.from({ length: 300 }, () => draft(companyId)),
  )
  const { leaseId } = await claim(db.short, 300)
  const shuffled = ids.map((id, place) => ids[(place * 7) % ids.length] ?? id)
  const starts = shuffled.map((id, place) => startOf(leaseId, id, { provider: `p${place % 3}` }))
  const orphan = startOf(leaseId, randomUUID())
  const again = startOf(leaseId, shuffled[5]!)
  expect(await startAttempts(db.short, [orphan, ...starts, again])).toEqual([false, ...starts.map(() => true), false])
  const ends = starts.map((start, place) => endOf({ kind: 'sent', messageId: `m-${place}` }, start))
  const lost = endOf(SENT, { ...starts[9]!, leaseId: randomUUID() })
  const answers = await settleAttempts(db.short, [lost, ...ends, ends[0]!])
  expect(answers).toEqual([false, ...ends.map(() => true), false])
  const { rows } = await db.pool.query<{ outbox_id: string; provider: string; attempt_id: string; message_id: string }>(
    'select outbox_id, provider, attempt_id, message_id from email_outbox',
  )
  const kept = new Map(rows.map(({ outbox_id, ...facts }) => [outbox_id, facts]))
  expect(shuffled.map(id => kept.get(id))).toEqual(
    starts.map(({ provider, attemptId }, place) => ({ provider, attempt_id: attemptId, message_id: `m-${place}` })),
  )
})

test('an old and a new e-mail start and end together, and their events are found, without what lies between them', async () => {
  const ids = await accept(
    db.short,
    Array.from({ length: 1000 }, () => draft(companyId, { attachments: [ATTACHMENT] })),
  )
  const { leaseId } = await claim(db.short, 1000)
  await db.pool.query('analyze email_outbox, email_events, email_recipients, email_attachments')
  const read = (act: Parameters<typeof rowsRead>[2]) => rowsRead(db.short, '^email_', act)
  const ends = [ids[0]!, ids.at(-1)!]
  expect(await read(async client => expect((await loadEmailsToSend(client, ends)).size).toBe(2))).toBeLessThan(20)
  const starts = ends.map(id => startOf(leaseId, id))
  const begin = async (client: Queryable) => expect(await startAttempts(client, starts)).toEqual([true, true])
  expect(await read(begin)).toBeLessThan(10)
  await begin(db.short)
  for (const outcome of [{ kind: 'retry', failure: FAILURE, delayMs: 60_000 }, SENT] satisfies SettledOutcome[]) {
    const settlements = starts.map(start => endOf(outcome, start))
    const end = async (client: Queryable) => expect(await settleAttempts(client, settlements)).toEqual([true, true])
    expect(await read(end)).toBeLessThan(20)
  }
  const list = async (client: Queryable) => expect(await listEvents(client, ids[0]!)).toHaveLength(4)
  expect(await read(list)).toBeLessThan(10)
  await db.pool.query('delete from email_outbox')
})
