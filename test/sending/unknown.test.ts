import { describe, expect, test } from 'vitest'
import { returnExpiredLeases } from '../../src/db/outbox/leases.ts'
import type { Queryable } from '../../src/db/query.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { resolveUnknownSends } from '../../src/sending/resolve-unknown.ts'
import { cleanLine } from '../support/clean-line.ts'
import { tell as report } from '../support/feedback.ts'
import {
  accept,
  CLEAN_LINE,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  receive,
  storyOf,
  typesOf,
  worker,
} from '../support/line.ts'
import { counted, doubts, graceOver, lost, refused, scripted, taken, timedOut } from '../support/unknown.ts'

const TRIED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const IN_DOUBT = ['QUEUED', ...TRIED, 'UNKNOWN']
const RECOGNISING = ['resend']

let db: Queryable
let companyId: string
cleanLine(line => {
  ;({ db, companyId } = line)
})

const story = (outboxId: string) => storyOf(db, outboxId)
const resolve = () => resolveUnknownSends(db, RECOGNISING)

/** One worker takes what is ready. An unknown outcome is asked about where it arose; anything else goes to the first. */
async function workWith(...providers: [Provider, ...Provider[]]): Promise<number> {
  const hands = await receive(db, await claim(db, 100))
  const send = worker(db, {
    route: email =>
      email.unresolvedAttempt ? providers.find(one => one.name === email.unresolvedAttempt!.provider)! : providers[0],
  })
  for (const hand of hands) await send(hand)
  return hands.length
}

/** Sent once, without an answer. */
async function inDoubt(provider: Provider, change: DraftChange = {}): Promise<string> {
  const [outboxId] = await accept(db, [draft(companyId, change)])
  await workWith(provider)
  expect((await story(outboxId!)).email.status).toBe('UNKNOWN')
  return outboxId!
}

const tell = (outboxId: string, kind: 'DELIVERED' | 'BOUNCED' | 'COMPLAINED', recipient = 'maria@example.com') =>
  report(db, outboxId, 'm-told', { kind, recipient, metadata: {} })

describe('an attempt that left and was not answered', () => {
  test.each([
    ['the connection was lost', lost, 'CONNECTION_LOST'],
    ['the time was over', timedOut, 'TIMEOUT'],
  ])('%s: the e-mail is UNKNOWN, with its reason, counted, and waits for evidence', async (_, answer, reason) => {
    const ses = scripted('ses', false, answer())
    const outboxId = await inDoubt(ses)
    const told = await story(outboxId)
    expect(typesOf(told)).toEqual(IN_DOUBT)
    expect(told.events.at(-1)!.metadata).toMatchObject({
      reason,
      attempt: 1,
      attemptId: ses.calls[0]!.attemptId,
      provider: 'ses',
      graceSeconds: 120,
    })
    expect(told.email).toMatchObject({ attempts: 1, lease_id: null, started_at: expect.any(Date), failed_at: null })
    expect(await doubts(db)).toEqual([{ outbox_id: outboxId, reason, seconds: 120 }])
    expect(await counted(db)).toEqual({ [`unknown_sends ${reason}`]: 1 })
    expect([await resolve(), await workWith(ses)], 'nothing happens before its time').toEqual([0, 0])
    expect(ses.calls).toHaveLength(1)
  })

  test('a provider that recognises attempts is asked soon after; one whose worker was lost, at once', async () => {
    await inDoubt(scripted('resend', true, lost()))
    expect((await doubts(db)).map(one => one.seconds)).toEqual([5])
    await db.query(CLEAN_LINE)
    await accept(db, [draft(companyId)])
    const hands = await receive(db, await claim(db, 1))
    const dying = scripted('resend', true, () => Promise.reject(new Error('killed')))
    await expect(worker(db, { route: () => dying })(hands[0]!)).rejects.toThrow('killed')
    await expireLeases(db)
    await returnExpiredLeases(db, { all: false, idempotentProviders: RECOGNISING, graceSeconds: 120 })
    expect(await doubts(db)).toMatchObject([{ reason: 'WORKER_LOST', seconds: 0 }])
    expect(await counted(db)).toEqual({ 'unknown_sends WORKER_LOST': 1 })
  })
})

describe('evidence: the provider’s own event', () => {
  test.each([
    ['DELIVERED', 'DELIVERED'],
    ['BOUNCED', 'BOUNCE'],
    ['COMPLAINED', 'COMPLAINT'],
  ] as const)('%s ends the doubt, and it is never sent again', async (kind, type) => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await inDoubt(ses)
    await tell(outboxId, kind)
    const told = await story(outboxId)
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED', 'SENT', type])
    expect(told.events.at(-3)!.metadata).toMatchObject({ by: 'provider-event', from: 'UNKNOWN', event: type })
    expect(told.email).toMatchObject({
      status: kind,
      message_id: 'm-told',
      sent_at: expect.any(Date),
      started_at: null,
    })
    expect(await doubts(db)).toEqual([])
    expect(await counted(db)).toEqual({ 'unknown_sends CONNECTION_LOST': 1, 'unknown_resolved provider-event': 1 })
    expect([await resolve(), await workWith(ses)]).toEqual([0, 0])
  })

  test('that overtakes the answer: the state stands, that it was sent is told first and once, and there is no doubt', async () => {
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
    const told = await story(outboxId!)
    expect(told.email).toMatchObject({
      status: 'DELIVERED',
      message_id: 'm-1',
      sent_at: expect.any(Date),
      lease_id: null,
    })
    expect(typesOf(told)).toEqual(['QUEUED', ...TRIED, 'SENT', 'DELIVERED'])
    expect([await doubts(db), await counted(db)]).toEqual([[], {}])
  })

  test('that comes when it is already in line to be sent again takes it out', async () => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await inDoubt(ses)
    await graceOver(db)
    expect(await resolve()).toBe(1)
    await tell(outboxId, 'DELIVERED')
    await workWith(ses)
    expect(ses.calls).toHaveLength(1)
    expect((await story(outboxId)).email).toMatchObject({ status: 'DELIVERED', attempts: 1 })
  })

  test('that comes after it was given up brings it back from the dead letters', async () => {
    const outboxId = await inDoubt(scripted('ses', false, lost()), { onUnknown: 'hold' })
    await db.query(`update email_outbox set expires_at = now() - interval '1 second'`)
    await graceOver(db)
    await resolve()
    expect((await story(outboxId)).email.status).toBe('FAILED')
    await tell(outboxId, 'DELIVERED')
    const told = await story(outboxId)
    expect([told.email.status, told.email.failed_at, told.dead]).toEqual(['DELIVERED', null, undefined])
    expect(told.events.at(-3)!.metadata).toMatchObject({ by: 'provider-event', from: 'FAILED' })
  })
})

describe('evidence: asking again with the same attempt id', () => {
  test('taken: SENT under the attempt it was, no attempt is spent, no second provider is tried', async () => {
    const resend = scripted('resend', true, lost(), taken())
    const other = scripted('smtp', false, taken())
    const outboxId = await inDoubt(resend)
    await graceOver(db)
    expect(await resolve()).toBe(1)
    expect((await story(outboxId)).email).toMatchObject({ status: 'PENDING', started_at: expect.any(Date) })
    await workWith(other, resend)
    const told = await story(outboxId)
    expect(typesOf(told)).toEqual([...IN_DOUBT, ...TRIED, 'RESOLVED', 'SENT'])
    expect(told.events.at(-2)!.metadata).toMatchObject({ by: 'idempotency-key' })
    expect(told.email).toMatchObject({ status: 'SENT', attempts: 1, started_at: null, error_code: null })
    const [first, again] = resend.calls
    expect(again!.attemptId).toBe(first!.attemptId)
    expect([resend.calls.length, other.calls.length]).toEqual([2, 0])
    expect(await doubts(db)).toEqual([])
    expect(await counted(db)).toEqual({ 'unknown_sends CONNECTION_LOST': 1, 'unknown_resolved idempotency-key': 1 })
  })

  test('refused for good: says nothing about the first request, so it ends as one whose outcome nobody knows', async () => {
    const resend = scripted('resend', true, lost(), refused())
    const outboxId = await inDoubt(resend)
    await graceOver(db)
    await resolve()
    await workWith(resend)
    const told = await story(outboxId)
    expect(typesOf(told)).toEqual([...IN_DOUBT, ...TRIED, 'RESOLVED', 'FAILED', 'DLQ_MOVED'])
    expect(told.email).toMatchObject({ status: 'FAILED', error_code: 'SEND_OUTCOME_UNKNOWN' })
    expect(told.dead, 'a replay takes it only by its id or code').toMatchObject({
      failed_attempts: 1,
      last_failure_code: 'SEND_OUTCOME_UNKNOWN',
      last_failure_reason: expect.stringContaining('no such domain'),
    })
    expect(await counted(db)).toMatchObject({ 'unknown_resolved given-up': 1 })
  })

  test('unanswered again: UNKNOWN again, and asked again, also when held, expired attempts and all', async () => {
    const resend = scripted('resend', true, lost(), timedOut(), lost(), taken())
    const outboxId = await inDoubt(resend, { onUnknown: 'hold', maxAttempts: 1 })
    for (let time = 0; time < 3; time++) {
      await graceOver(db)
      expect(await resolve()).toBe(1)
      await workWith(resend)
    }
    expect((await story(outboxId)).email).toMatchObject({ status: 'SENT', attempts: 1 })
    expect(new Set(resend.calls.map(one => one.attemptId)).size).toBe(1)
    expect(await counted(db)).toEqual({
      'unknown_sends CONNECTION_LOST': 2,
      'unknown_sends TIMEOUT': 1,
      'unknown_resolved idempotency-key': 1,
    })
  })
})
