import { describe, expect, test } from 'vitest'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { resolveUnknownSends } from '../../../src/pipeline/housekeeping/unknown.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import type { Provider, SendResult } from '../../../src/providers/provider.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  makeDue,
  readEmail,
  receive,
  type StoredEmail,
  typesOf,
  worker,
} from '../../support/outbox.ts'
import {
  counted,
  graceOver,
  lost,
  overQuota,
  refused,
  scripted,
  taken,
  throttled,
  unavailable,
  unknownSends,
} from '../../support/unknown.ts'

const TRIED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const UNTIL_UNKNOWN = ['QUEUED', ...TRIED, 'UNKNOWN']

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})

const read = (outboxId: string) => readEmail(db, outboxId)
const resolve = () => resolveUnknownSends(db, [])
const metadataOf = ({ events }: StoredEmail, type: string) => events.find(event => event.type === type)!.metadata

async function workWith(provider: Provider): Promise<void> {
  for (const claimed of await receive(db, await claim(db, 100))) await worker(db, { route: () => provider })(claimed)
}

async function sendUnanswered(provider: Provider, change: DraftChange = {}): Promise<string> {
  const [outboxId] = await accept(db, [draft(companyId, change)])
  await workWith(provider)
  expect((await read(outboxId!)).email.status).toBe('UNKNOWN')
  return outboxId!
}

describe('no evidence in time: the policy decides', () => {
  test('resend: it is sent again, as a new attempt', async () => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await sendUnanswered(ses)
    await graceOver(db)
    expect(await resolve()).toBe(1)
    const stored = await read(outboxId)
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED'])
    expect(metadataOf(stored, 'RESOLVED')).toMatchObject({ by: 'policy-resend', attemptId: ses.calls[0]!.attemptId })
    expect(stored.email).toMatchObject({ status: 'PENDING', started_at: null, attempts: 1 })
    await workWith(ses)
    const after = await read(outboxId)
    expect(typesOf(after)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', ...TRIED, 'SENT'])
    expect(after.email).toMatchObject({ status: 'SENT', attempts: 2 })
    expect(ses.calls[1]!.attemptId).not.toBe(ses.calls[0]!.attemptId)
    expect(await unknownSends(db)).toEqual([])
    expect(await counted(db)).toEqual({ 'unknown_sends CONNECTION_LOST': 1, 'unknown_resolved policy-resend': 1 })
  })

  test('resend without an attempt left: a dead letter that says why', async () => {
    const outboxId = await sendUnanswered(scripted('ses', false, lost()), { maxAttempts: 1 })
    await graceOver(db)
    expect(await resolve()).toBe(1)
    const stored = await read(outboxId)
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'FAILED', 'DLQ_MOVED'])
    expect(stored.email).toMatchObject({
      status: 'DLQ',
      failed_at: expect.any(Date),
      error_code: 'SEND_OUTCOME_UNKNOWN',
    })
    expect(stored.dead).toMatchObject({ failed_attempts: 1, last_failure_code: 'SEND_OUTCOME_UNKNOWN' })
    expect(stored.dead!.last_failure_reason).toMatch(/\w+ \w+/)
    expect(stored.recipients.map(row => row.status)).toEqual(['DLQ'])
    expect(await unknownSends(db)).toEqual([])
    expect(await counted(db)).toMatchObject({ 'unknown_resolved given-up': 1 })
  })

  test('hold: it waits for evidence until its time is over, then FAILED with a dead letter', async () => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await sendUnanswered(ses, { onUnknown: 'hold' })
    await graceOver(db)
    expect(await resolve()).toBe(0)
    const [unknown] = await unknownSends(db)
    expect(unknown!.seconds, 'not looked at again before').toBeGreaterThan(86_000)
    await workWith(ses)
    expect((await read(outboxId)).email.status).toBe('UNKNOWN')
    await db.query(`update email_outbox set expires_at = now() - interval '1 second'`)
    await graceOver(db)
    expect(await resolve()).toBe(1)
    const stored = await read(outboxId)
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'FAILED', 'DLQ_MOVED'])
    expect(metadataOf(stored, 'FAILED')).toMatchObject({ errorCode: 'SEND_OUTCOME_UNKNOWN', willRetry: false })
    expect(stored.email.status).toBe('FAILED')
    expect(stored.dead).toMatchObject({ last_failure_code: 'SEND_OUTCOME_UNKNOWN', failed_attempts: 1 })
    expect(ses.calls, 'never sent again').toHaveLength(1)
    expect(await unknownSends(db)).toEqual([])
  })

  test('two runs of housekeeping at once decide once', async () => {
    const ids = []
    for (let made = 0; made < 5; made++) ids.push(await sendUnanswered(scripted('ses', false, lost())))
    await graceOver(db)
    await Promise.all([resolve(), resolve(), resolve()])
    for (const id of ids) expect(typesOf(await read(id))).toEqual([...UNTIL_UNKNOWN, 'RESOLVED'])
    expect(await counted(db)).toMatchObject({ 'unknown_resolved policy-resend': 5 })
  })
})

describe('the late answer of a worker that lost its lease while it waited', () => {
  /** Its lease runs out in the middle of the call, `then` happens, and the answer arrives. */
  async function answeredLate(answer: SendResult, then: () => Promise<unknown> = async () => {}): Promise<StoredEmail> {
    const slow = scripted('ses', false, async () => {
      await expireLeases(db)
      await returnExpiredLeases(db, { all: false, idempotentProviders: [], graceSeconds: 120 })
      await then()
      return answer
    })
    const [outboxId] = await accept(db, [draft(companyId)])
    for (const claimed of await receive(db, await claim(db, 100)))
      await worker(db, { route: () => slow, countSent: (_, recipients) => sentTo.push(recipients) })(claimed)
    return read(outboxId!)
  }
  const sentTo: number[] = []
  const COUNTED = { 'unknown_sends WORKER_LOST': 1, 'unknown_resolved late-answer': 1 }

  test('taken: SENT, and resolved', async () => {
    const stored = await answeredLate(taken())
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'SENT'])
    expect(metadataOf(stored, 'RESOLVED')).toMatchObject({ by: 'late-answer' })
    expect(stored.email).toMatchObject({ status: 'SENT', message_id: expect.stringMatching(/^m-/), started_at: null })
    expect([await unknownSends(db), await counted(db)]).toEqual([[], COUNTED])
    expect(sentTo, 'as every sent e-mail, it counts for the reputation').toEqual([1])
  })

  test('refused: REJECTED with its dead letter', async () => {
    const stored = await answeredLate(refused())
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'REJECTED', 'DLQ_MOVED'])
    expect(stored.dead).toMatchObject({ failed_attempts: 1 })
    expect([await unknownSends(db), await counted(db)]).toEqual([[], COUNTED])
  })

  test('refused for now: it is tried again, as a new attempt', async () => {
    const stored = await answeredLate(unavailable())
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'RETRY_SCHEDULED'])
    expect(stored.email).toMatchObject({ status: 'RETRY_SCHEDULED', attempts: 1, started_at: null })
    expect([await unknownSends(db), await counted(db)]).toEqual([[], COUNTED])
    await makeDue(db, [stored.email.outbox_id])
  })

  test('throttled: it waits with its attempt not counted', async () => {
    const stored = await answeredLate(throttled())
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'RETRY_SCHEDULED'])
    expect(stored.email).toMatchObject({ status: 'RETRY_SCHEDULED', attempts: 0, started_at: null })
    await makeDue(db, [stored.email.outbox_id])
  })

  test('parked: it waits with its attempt not counted', async () => {
    const stored = await answeredLate(overQuota())
    expect(stored.email).toMatchObject({ status: 'PENDING', attempts: 0, started_at: null })
    expect([await unknownSends(db), await counted(db)]).toEqual([[], COUNTED])
  })

  describe('to the repeated call of an earlier attempt', () => {
    /** The provider knows attempts again; the worker that repeats the call loses its lease, too. */
    async function repeatedLate(answer: SendResult): Promise<StoredEmail> {
      const idempotent = (result: SendResult, before: () => Promise<unknown> = async () => {}) =>
        scripted('resend', true, async () => {
          await before()
          return result
        })
      const lose = async () => {
        await expireLeases(db)
        await returnExpiredLeases(db, { all: false, idempotentProviders: [], graceSeconds: 120 })
      }
      const outboxId = await sendUnanswered(idempotent(lost()))
      await db.query(`update unknown_sends set resolve_at = now()`)
      expect(await resolveUnknownSends(db, ['resend'])).toBe(1)
      for (const claimed of await receive(db, await claim(db, 100)))
        await worker(db, { route: () => idempotent(answer, lose) })(claimed)
      return read(outboxId)
    }

    test('taken: resolved, once', async () => {
      const stored = await repeatedLate(taken())
      expect(typesOf(stored).filter(type => type === 'RESOLVED')).toHaveLength(1)
      expect(stored.email.status).toBe('SENT')
    })

    test('parked: it stays unknown', async () => {
      const stored = await repeatedLate(overQuota())
      expect(typesOf(stored)).not.toContain('RESOLVED')
      expect(stored.email.status).toBe('UNKNOWN')
      expect(await unknownSends(db)).toHaveLength(1)
    })
  })

  test('after the policy has made it ready again: it changes nothing', async () => {
    const stored = await answeredLate(taken(), async () => {
      await graceOver(db)
      await resolve()
    })
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED'])
    expect(stored.email).toMatchObject({ status: 'PENDING', message_id: null })
    expect(await counted(db)).toMatchObject({ 'unknown_resolved policy-resend': 1 })
  })
})
