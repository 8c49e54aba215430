import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { DEFAULT_SUPPRESSION_POLICY } from '../src/contracts/suppression.ts'
import { type AttemptStart, startAttempts } from '../src/db/attempts.ts'
import { listEvents } from '../src/db/emails.ts'
import { returnExpiredLeases } from '../src/db/leases.ts'
import type { Database, Queryable } from '../src/db/pool.ts'
import { storeProviderEvents } from '../src/db/provider-events.ts'
import { readyDueEmails } from '../src/db/schedule.ts'
import { type Settlement, settleAttempts } from '../src/db/settle.ts'
import { type Outcome, toSettlement } from '../src/pipeline/outcome.ts'
import { replayNamed } from '../src/pipeline/replay-dead-letters.ts'
import { resolveUnknownSends } from '../src/pipeline/resolve-unknown.ts'
import { cleanLine } from './support/clean-line.ts'
import { workOffReports } from './support/feedback.ts'
import { accept, claim, draft, expireLeases, makeDue, startOf } from './support/line.ts'
import { rowsRead } from './support/rows-read.ts'
import { type SesKind, sesEvent } from './support/ses-events.ts'
import { graceOver } from './support/unknown.ts'

let db: Database
let companyId: string
cleanLine(line => {
  db = line.gateway.db
  companyId = line.companyId
})

const FAILURE = { code: 'TIMEOUT', category: 'TIMEOUT_ERROR', message: 'no answer' }
const TO = 'maria@example.com'
const SUPPRESSES_NOBODY = { ...DEFAULT_SUPPRESSION_POLICY, automatic: { HARD_BOUNCE: false, COMPLAINT: false } }

async function begin(change: Partial<AttemptStart> = {}): Promise<AttemptStart> {
  const { leaseId, claimed } = await claim(db.hot, 1)
  const start = startOf(leaseId, claimed[0]!.outboxId, { provider: 'ses', ...change })
  expect(await startAttempts(db.hot, [start])).toEqual([true])
  return start
}

const SENT = { kind: 'sent', messageId: 'm-1' } as const

function endOf(outcome: Outcome, { leaseId, ...start }: AttemptStart, more = {}): Settlement {
  return toSettlement(outcome, {
    ...start,
    guard: { leaseId },
    requestId: 'r-1',
    maxAttempts: 5,
    durationMs: 7,
    ...more,
  })
}

const answered =
  (outcome: Outcome, more = {}) =>
  async (start: AttemptStart) =>
    expect(await settleAttempts(db.hot, [endOf(outcome, start, more)])).toEqual([true])

const sent = answered(SENT)

const reported =
  (kind: SesKind) =>
  async ({ outboxId, attemptId }: AttemptStart) => {
    const payload = JSON.stringify(sesEvent(kind, { outboxId, attemptId, messageId: 'm-1', to: [TO] }))
    await storeProviderEvents(db.hot, [{ provider: 'ses', externalId: randomUUID(), payload }])
    await workOffReports(db.pool, { suppression: SUPPRESSES_NOBODY })
  }

async function isLost(): Promise<void> {
  await expireLeases(db.hot)
  expect(await returnExpiredLeases(db.hot, { all: false, recognising: [], graceSeconds: 1 })).toMatchObject({
    unknown: 1,
  })
}

async function isDue({ outboxId }: AttemptStart): Promise<void> {
  await makeDue(db.hot, [outboxId])
  expect(await readyDueEmails(db.hot)).toBe(1)
}

const isResolved = (recognising: string[]) => async () => {
  await graceOver(db.hot)
  expect(await resolveUnknownSends(db.hot, recognising)).toBe(1)
}

async function isReplayed({ outboxId }: AttemptStart): Promise<void> {
  expect((await replayNamed(db.pool, [outboxId], 'test')).map(one => one.outcome)).toEqual(['replayed'])
}

/** Ids, times and facts of what the starts of an e-mail are told as, in order. */
async function startsOf(outboxId: string): Promise<{ event_id: string; type: string; metadata: object }[]> {
  const { rows } = await db.pool.query(
    `select event_id, type, created_at::text, metadata from email_events where outbox_id = $1
       and type in ('RECEIVED', 'VALIDATED', 'SENT_ATTEMPT') order by email_events.created_at, event_id`,
    [outboxId],
  )
  return rows
}

type Step = (start: AttemptStart) => Promise<void>

/** How an attempt ends, and, where it can start again, by what. */
const ENDS: [string, Step[], Partial<AttemptStart>?][] = [
  ['plainly sent', [sent]],
  ['sent without one of its recipients', [answered(SENT, { leftOut: [{ ordinal: 1, hash: 'h' }] })]],
  ['sent and delivered', [sent, reported('Delivery')]],
  ['sent, bounced and complained about', [sent, reported('Bounce'), reported('Complaint')]],
  ['reported as sent before the answer', [reported('Send')]],
  ['delivered before the answer', [reported('Delivery'), reported('Complaint')]],
  ['refused by a report before the answer, and replayed', [reported('Reject'), isReplayed], {}],
  ['sent, refused by a report, and replayed', [sent, reported('Reject'), isReplayed], {}],
  ['retried', [answered({ kind: 'retry', failure: FAILURE, delayMs: 60_000 }), isDue], { attempt: 2, before: 1 }],
  ['parked', [answered({ kind: 'parked', failure: FAILURE })], {}],
  ['dead and replayed', [answered({ kind: 'dead', status: 'DLQ', failure: FAILURE }), isReplayed], {}],
  [
    'unknown and sent again',
    [answered({ kind: 'unknown', failure: FAILURE, graceSeconds: 1 }), isResolved([])],
    { attempt: 2, before: 1 },
  ],
  ['unknown and delivered', [answered({ kind: 'unknown', failure: FAILURE, graceSeconds: 1 }), reported('Delivery')]],
  ['lost with its worker and sent again', [isLost, isResolved([])], { attempt: 2, before: 1 }],
  ['lost with its worker and delivered', [isLost, reported('Delivery')]],
  ['lost with its worker and asked about', [isLost, isResolved(['ses'])], { attempt: 1, before: 1 }],
]

test.each(ENDS)(
  'the start of an e-mail that is %s is told once, and the same at every moment',
  async (_, steps, again) => {
    const [outboxId] = await accept(db.hot, [draft(companyId, { to: TO, cc: ['ana@example.com'] })])
    const first = await begin()
    const told = await startsOf(outboxId!)
    const { attemptId } = first
    expect(told).toEqual([
      expect.objectContaining({ type: 'RECEIVED', metadata: { attempt: 1, requestId: 'r-1' } }),
      expect.objectContaining({
        type: 'VALIDATED',
        metadata: { attempt: 1, validations: ['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'] },
      }),
      expect.objectContaining({ type: 'SENT_ATTEMPT', metadata: { attempt: 1, provider: 'ses', attemptId } }),
    ])
    for (const step of steps) {
      await step(first)
      expect(await startsOf(outboxId!)).toEqual(told)
    }
    if (!again) return
    // Asked about, it goes on under the same id.
    const second = await begin({ ...again, ...(again.attempt === again.before && { attemptId }) })
    const both = await startsOf(outboxId!)
    expect(both).toEqual([...told, ...both.slice(3)])
    expect(both.slice(3).map(({ type }) => type)).toEqual(['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT'])
    expect(both[5]!.metadata).toMatchObject({ attempt: second.attempt, attemptId: second.attemptId })
    await sent(second)
    expect(await startsOf(outboxId!)).toEqual(both)
    expect(new Set(both.map(one => one.event_id)).size).toBe(6)
  },
)

test('an old and a new e-mail start and end together, and their events are found, without what lies between them', async () => {
  const ids = await accept(
    db.hot,
    Array.from({ length: 1000 }, () => draft(companyId)),
  )
  const { leaseId } = await claim(db.hot, 1000)
  await db.pool.query('analyze email_outbox, email_event_log, email_recipient_list')
  const read = (act: Parameters<typeof rowsRead>[2]) => rowsRead(db.hot, '^email_', act)
  const starts = [ids[0]!, ids.at(-1)!].map(id => startOf(leaseId, id))
  const begin = async (client: Queryable) => expect(await startAttempts(client, starts)).toEqual([true, true])
  expect(await read(begin)).toBeLessThan(10)
  await begin(db.hot)
  for (const outcome of [{ kind: 'retry', failure: FAILURE, delayMs: 60_000 }, SENT] satisfies Outcome[]) {
    const ends = starts.map(start => endOf(outcome, start))
    const end = async (client: Queryable) => expect(await settleAttempts(client, ends)).toEqual([true, true])
    expect(await read(end)).toBeLessThan(20)
  }
  const list = async (client: Queryable) => expect(await listEvents(client, ids[0]!)).toHaveLength(4)
  expect(await read(list)).toBeLessThan(10)
  await db.pool.query('delete from email_outbox')
})
