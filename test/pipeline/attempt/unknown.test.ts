import { describe, expect, test } from 'vitest'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { resolveUnknownSends } from '../../../src/pipeline/housekeeping/unknown.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import { tell as report } from '../../support/feedback.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  EMPTY_OUTBOX,
  expireLeases,
  readEmail,
  receive,
  typesOf,
  worker,
} from '../../support/outbox.ts'
import { counted, graceOver, lost, refused, scripted, taken, timedOut, unknownSends } from '../../support/unknown.ts'

const TRIED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const UNTIL_UNKNOWN = ['QUEUED', ...TRIED, 'UNKNOWN']
const RECOGNISING = ['resend']

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})

const read = (outboxId: string) => readEmail(db, outboxId)
const resolve = () => resolveUnknownSends(db, RECOGNISING)

/** One worker takes what is ready. The call of an unknown send is repeated at its own provider; anything else goes to the first. */
async function workWith(...providers: [Provider, ...Provider[]]): Promise<number> {
  const received = await receive(db, await claim(db, 100))
  const send = worker(db, {
    route: email =>
      email.unresolvedAttempt ? providers.find(one => one.name === email.unresolvedAttempt!.provider)! : providers[0],
  })
  for (const claimed of received) await send(claimed)
  return received.length
}

/** Sent once, without an answer. */
async function sendUnanswered(provider: Provider, change: DraftChange = {}): Promise<string> {
  const [outboxId] = await accept(db, [draft(companyId, change)])
  await workWith(provider)
  expect((await read(outboxId!)).email.status).toBe('UNKNOWN')
  return outboxId!
}

const tell = (outboxId: string, kind: 'DELIVERED' | 'BOUNCED' | 'COMPLAINED', recipient = 'maria@example.com') =>
  report(db, outboxId, 'm-reported', { kind, recipient, metadata: {} })

describe('an attempt that left and was not answered', () => {
  test.each([
    ['the connection was lost', lost, 'CONNECTION_LOST'],
    ['the time was over', timedOut, 'TIMEOUT'],
  ])('%s: the e-mail is UNKNOWN, with its reason, counted, and waits for evidence', async (_, answer, reason) => {
    const ses = scripted('ses', false, answer())
    const outboxId = await sendUnanswered(ses)
    const stored = await read(outboxId)
    expect(typesOf(stored)).toEqual(UNTIL_UNKNOWN)
    expect(stored.events.at(-1)!.metadata).toMatchObject({
      reason,
      attempt: 1,
      attemptId: ses.calls[0]!.attemptId,
      provider: 'ses',
      graceSeconds: 120,
    })
    expect(stored.email).toMatchObject({ attempts: 1, lease_id: null, started_at: expect.any(Date), failed_at: null })
    expect(await unknownSends(db)).toEqual([{ outbox_id: outboxId, reason, seconds: 120 }])
    expect(await counted(db)).toEqual({ [`unknown_sends ${reason}`]: 1 })
    expect([await resolve(), await workWith(ses)], 'nothing happens before its time').toEqual([0, 0])
    expect(ses.calls).toHaveLength(1)
  })

  test('at a provider that recognises attempts the call is repeated soon after; where the worker was lost, at once', async () => {
    await sendUnanswered(scripted('resend', true, lost()))
    expect((await unknownSends(db)).map(one => one.seconds)).toEqual([5])
    await db.query(EMPTY_OUTBOX)
    await accept(db, [draft(companyId)])
    const received = await receive(db, await claim(db, 1))
    const provider = scripted('resend', true, () => Promise.reject(new Error('killed')))
    await expect(worker(db, { route: () => provider })(received[0]!)).rejects.toThrow('killed')
    await expireLeases(db)
    await returnExpiredLeases(db, { all: false, idempotentProviders: RECOGNISING, graceSeconds: 120 })
    expect(await unknownSends(db)).toMatchObject([{ reason: 'WORKER_LOST', seconds: 0 }])
    expect(await counted(db)).toEqual({ 'unknown_sends WORKER_LOST': 1 })
  })
})

describe('evidence: the provider’s own event', () => {
  test.each([
    ['DELIVERED', 'DELIVERED'],
    ['BOUNCED', 'BOUNCE'],
    ['COMPLAINED', 'COMPLAINT'],
  ] as const)('%s resolves it, and it is never sent again', async (kind, type) => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await sendUnanswered(ses)
    await tell(outboxId, kind)
    const stored = await read(outboxId)
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'SENT', type])
    expect(stored.events.at(-3)!.metadata).toMatchObject({ by: 'provider-event', from: 'UNKNOWN', event: type })
    expect(stored.email).toMatchObject({
      status: kind,
      message_id: 'm-reported',
      sent_at: expect.any(Date),
      started_at: null,
    })
    expect(await unknownSends(db)).toEqual([])
    expect(await counted(db)).toEqual({ 'unknown_sends CONNECTION_LOST': 1, 'unknown_resolved provider-event': 1 })
    expect([await resolve(), await workWith(ses)]).toEqual([0, 0])
  })

  test('that overtakes the answer: the status stands, SENT is recorded first and once, and nothing is unknown', async () => {
    const [outboxId] = await accept(db, [draft(companyId)])
    const early = scripted('ses', false, async message => {
      await report(db, message.outboxId, 'm-1', {
        kind: 'DELIVERED',
        recipient: 'maria@example.com',
        metadata: {},
      })
      return { kind: 'sent', messageId: 'm-1', events: [] }
    })
    await workWith(early)
    const stored = await read(outboxId!)
    expect(stored.email).toMatchObject({
      status: 'DELIVERED',
      message_id: 'm-1',
      sent_at: expect.any(Date),
      lease_id: null,
    })
    expect(typesOf(stored)).toEqual(['QUEUED', ...TRIED, 'SENT', 'DELIVERED'])
    expect([await unknownSends(db), await counted(db)]).toEqual([[], {}])
  })

  test('that comes when it is already ready to be sent again keeps it from being sent', async () => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await sendUnanswered(ses)
    await graceOver(db)
    expect(await resolve()).toBe(1)
    await tell(outboxId, 'DELIVERED')
    await workWith(ses)
    expect(ses.calls).toHaveLength(1)
    expect((await read(outboxId)).email).toMatchObject({ status: 'DELIVERED', attempts: 1 })
  })

  test('that comes after it was given up brings it back from the dead letters', async () => {
    const outboxId = await sendUnanswered(scripted('ses', false, lost()), { onUnknown: 'hold' })
    await db.query(`update email_outbox set expires_at = now() - interval '1 second'`)
    await graceOver(db)
    await resolve()
    expect((await read(outboxId)).email.status).toBe('FAILED')
    await tell(outboxId, 'DELIVERED')
    const stored = await read(outboxId)
    expect([stored.email.status, stored.email.failed_at, stored.dead]).toEqual(['DELIVERED', null, undefined])
    expect(stored.events.at(-3)!.metadata).toMatchObject({ by: 'provider-event', from: 'FAILED' })
  })
})

describe('evidence: the call repeated under the same attempt id', () => {
  test('taken: SENT under the attempt it was, no attempt is spent, no second provider is tried', async () => {
    const resend = scripted('resend', true, lost(), taken())
    const other = scripted('smtp', false, taken())
    const outboxId = await sendUnanswered(resend)
    await graceOver(db)
    expect(await resolve()).toBe(1)
    expect((await read(outboxId)).email).toMatchObject({ status: 'PENDING', started_at: expect.any(Date) })
    await workWith(other, resend)
    const stored = await read(outboxId)
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, ...TRIED, 'RESOLVED', 'SENT'])
    expect(stored.events.at(-2)!.metadata).toMatchObject({ by: 'idempotency-key' })
    expect(stored.email).toMatchObject({ status: 'SENT', attempts: 1, started_at: null, error_code: null })
    const [first, again] = resend.calls
    expect(again!.attemptId).toBe(first!.attemptId)
    expect([resend.calls.length, other.calls.length]).toEqual([2, 0])
    expect(await unknownSends(db)).toEqual([])
    expect(await counted(db)).toEqual({ 'unknown_sends CONNECTION_LOST': 1, 'unknown_resolved idempotency-key': 1 })
  })

  test('refused for good: says nothing about the first request, so it ends as one whose outcome nobody knows', async () => {
    const resend = scripted('resend', true, lost(), refused())
    const outboxId = await sendUnanswered(resend)
    await graceOver(db)
    await resolve()
    await workWith(resend)
    const stored = await read(outboxId)
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, ...TRIED, 'RESOLVED', 'FAILED', 'DLQ_MOVED'])
    expect(stored.email).toMatchObject({ status: 'FAILED', error_code: 'SEND_OUTCOME_UNKNOWN' })
    expect(stored.dead, 'a replay takes it only by its id or code').toMatchObject({
      failed_attempts: 1,
      last_failure_code: 'SEND_OUTCOME_UNKNOWN',
      last_failure_reason: expect.stringContaining('no such domain'),
    })
    expect(await counted(db)).toMatchObject({ 'unknown_resolved given-up': 1 })
  })

  test('unanswered again: UNKNOWN and repeated again, also with onUnknown hold and with no attempt left', async () => {
    const resend = scripted('resend', true, lost(), timedOut(), lost(), taken())
    const outboxId = await sendUnanswered(resend, { onUnknown: 'hold', maxAttempts: 1 })
    for (let time = 0; time < 3; time++) {
      await graceOver(db)
      expect(await resolve()).toBe(1)
      await workWith(resend)
    }
    expect((await read(outboxId)).email).toMatchObject({ status: 'SENT', attempts: 1 })
    expect(new Set(resend.calls.map(one => one.attemptId)).size).toBe(1)
    expect(await counted(db)).toEqual({
      'unknown_sends CONNECTION_LOST': 2,
      'unknown_sends TIMEOUT': 1,
      'unknown_resolved idempotency-key': 1,
    })
  })
})
