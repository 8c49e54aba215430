import { describe, expect, test } from 'vitest'
import { returnExpiredLeases } from '../../src/db/outbox/leases.ts'
import type { Queryable } from '../../src/db/query.ts'
import type { Provider, SendResult } from '../../src/providers/provider.ts'
import { resolveUnknownSends } from '../../src/sending/resolve-unknown.ts'
import { cleanLine } from '../support/clean-line.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  makeDue,
  receive,
  type Story,
  storyOf,
  typesOf,
  worker,
} from '../support/line.ts'
import {
  counted,
  doubts,
  graceOver,
  lost,
  overQuota,
  refused,
  scripted,
  taken,
  throttled,
  unavailable,
} from '../support/unknown.ts'

const TRIED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const IN_DOUBT = ['QUEUED', ...TRIED, 'UNKNOWN']

let db: Queryable
let companyId: string
cleanLine(line => {
  ;({ db, companyId } = line)
})

const story = (outboxId: string) => storyOf(db, outboxId)
const resolve = () => resolveUnknownSends(db, [])
const metadataOf = ({ events }: Story, type: string) => events.find(event => event.type === type)!.metadata

async function workWith(provider: Provider): Promise<void> {
  for (const hand of await receive(db, await claim(db, 100))) await worker(db, { route: () => provider })(hand)
}

async function inDoubt(provider: Provider, change: DraftChange = {}): Promise<string> {
  const [outboxId] = await accept(db, [draft(companyId, change)])
  await workWith(provider)
  expect((await story(outboxId!)).email.status).toBe('UNKNOWN')
  return outboxId!
}

describe('no evidence in time: the policy decides', () => {
  test('resend: it is sent again, as a new attempt', async () => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await inDoubt(ses)
    await graceOver(db)
    expect(await resolve()).toBe(1)
    const told = await story(outboxId)
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED'])
    expect(metadataOf(told, 'RESOLVED')).toMatchObject({ by: 'policy-resend', attemptId: ses.calls[0]!.attemptId })
    expect(told.email).toMatchObject({ status: 'PENDING', started_at: null, attempts: 1 })
    await workWith(ses)
    const after = await story(outboxId)
    expect(typesOf(after)).toEqual([...IN_DOUBT, 'RESOLVED', ...TRIED, 'SENT'])
    expect(after.email).toMatchObject({ status: 'SENT', attempts: 2 })
    expect(ses.calls[1]!.attemptId).not.toBe(ses.calls[0]!.attemptId)
    expect(await doubts(db)).toEqual([])
    expect(await counted(db)).toEqual({ 'unknown_sends CONNECTION_LOST': 1, 'unknown_resolved policy-resend': 1 })
  })

  test('resend without an attempt left: a dead letter that says why', async () => {
    const outboxId = await inDoubt(scripted('ses', false, lost()), { maxAttempts: 1 })
    await graceOver(db)
    expect(await resolve()).toBe(1)
    const told = await story(outboxId)
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED', 'FAILED', 'DLQ_MOVED'])
    expect(told.email).toMatchObject({ status: 'DLQ', failed_at: expect.any(Date), error_code: 'SEND_OUTCOME_UNKNOWN' })
    expect(told.dead).toMatchObject({ failed_attempts: 1, last_failure_code: 'SEND_OUTCOME_UNKNOWN' })
    expect(told.dead!.last_failure_reason).toMatch(/\w+ \w+/)
    expect(told.recipients.map(row => row.status)).toEqual(['DLQ'])
    expect(await doubts(db)).toEqual([])
    expect(await counted(db)).toMatchObject({ 'unknown_resolved given-up': 1 })
  })

  test('hold: it waits for evidence until its time is over, then FAILED with a dead letter', async () => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await inDoubt(ses, { onUnknown: 'hold' })
    await graceOver(db)
    expect(await resolve()).toBe(0)
    const [doubt] = await doubts(db)
    expect(doubt!.seconds, 'not looked at again before').toBeGreaterThan(86_000)
    await workWith(ses)
    expect((await story(outboxId)).email.status).toBe('UNKNOWN')
    await db.query(`update email_outbox set expires_at = now() - interval '1 second'`)
    await graceOver(db)
    expect(await resolve()).toBe(1)
    const told = await story(outboxId)
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED', 'FAILED', 'DLQ_MOVED'])
    expect(metadataOf(told, 'FAILED')).toMatchObject({ errorCode: 'SEND_OUTCOME_UNKNOWN', willRetry: false })
    expect(told.email.status).toBe('FAILED')
    expect(told.dead).toMatchObject({ last_failure_code: 'SEND_OUTCOME_UNKNOWN', failed_attempts: 1 })
    expect(ses.calls, 'never sent again').toHaveLength(1)
    expect(await doubts(db)).toEqual([])
  })

  test('two housekeepers at once decide once', async () => {
    const ids = []
    for (let made = 0; made < 5; made++) ids.push(await inDoubt(scripted('ses', false, lost())))
    await graceOver(db)
    await Promise.all([resolve(), resolve(), resolve()])
    for (const id of ids) expect(typesOf(await story(id))).toEqual([...IN_DOUBT, 'RESOLVED'])
    expect(await counted(db)).toMatchObject({ 'unknown_resolved policy-resend': 5 })
  })
})

describe('the late answer of a worker that lost its lease while it waited', () => {
  /** Its lease runs out in the middle of the call, `then` happens, and the answer arrives. */
  async function answeredLate(answer: SendResult, then: () => Promise<unknown> = async () => {}): Promise<Story> {
    const slow = scripted('ses', false, async () => {
      await expireLeases(db)
      await returnExpiredLeases(db, { all: false, idempotentProviders: [], graceSeconds: 120 })
      await then()
      return answer
    })
    const [outboxId] = await accept(db, [draft(companyId)])
    for (const hand of await receive(db, await claim(db, 100)))
      await worker(db, { route: () => slow, countSent: (_, recipients) => sentTo.push(recipients) })(hand)
    return story(outboxId!)
  }
  const sentTo: number[] = []
  const COUNTED = { 'unknown_sends WORKER_LOST': 1, 'unknown_resolved late-answer': 1 }

  test('taken: SENT, and the doubt is over', async () => {
    const told = await answeredLate(taken())
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED', 'SENT'])
    expect(metadataOf(told, 'RESOLVED')).toMatchObject({ by: 'late-answer' })
    expect(told.email).toMatchObject({ status: 'SENT', message_id: expect.stringMatching(/^m-/), started_at: null })
    expect([await doubts(db), await counted(db)]).toEqual([[], COUNTED])
    expect(sentTo, 'as every sent e-mail, it counts for the reputation').toEqual([1])
  })

  test('refused: REJECTED with its dead letter', async () => {
    const told = await answeredLate(refused())
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED', 'REJECTED', 'DLQ_MOVED'])
    expect(told.dead).toMatchObject({ failed_attempts: 1 })
    expect([await doubts(db), await counted(db)]).toEqual([[], COUNTED])
  })

  test('refused for now: it is tried again, as a new attempt', async () => {
    const told = await answeredLate(unavailable())
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED', 'RETRY_SCHEDULED'])
    expect(told.email).toMatchObject({ status: 'RETRY_SCHEDULED', attempts: 1, started_at: null })
    expect([await doubts(db), await counted(db)]).toEqual([[], COUNTED])
    await makeDue(db, [told.email.outbox_id])
  })

  test('throttled: it waits with its attempt given back', async () => {
    const told = await answeredLate(throttled())
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED', 'RETRY_SCHEDULED'])
    expect(told.email).toMatchObject({ status: 'RETRY_SCHEDULED', attempts: 0, started_at: null })
    await makeDue(db, [told.email.outbox_id])
  })

  test('parked: it waits with its attempt given back', async () => {
    const told = await answeredLate(overQuota())
    expect(told.email).toMatchObject({ status: 'PENDING', attempts: 0, started_at: null })
    expect([await doubts(db), await counted(db)]).toEqual([[], COUNTED])
  })

  describe('to the question what became of an earlier attempt', () => {
    /** The provider knows attempts again; the worker that asks loses its lease, too. */
    async function askedLate(answer: SendResult): Promise<Story> {
      const idempotent = (result: SendResult, before: () => Promise<unknown> = async () => {}) =>
        scripted('resend', true, async () => {
          await before()
          return result
        })
      const lose = async () => {
        await expireLeases(db)
        await returnExpiredLeases(db, { all: false, idempotentProviders: [], graceSeconds: 120 })
      }
      const outboxId = await inDoubt(idempotent(lost()))
      await db.query(`update unknown_sends set resolve_at = now()`)
      expect(await resolveUnknownSends(db, ['resend'])).toBe(1)
      for (const hand of await receive(db, await claim(db, 100)))
        await worker(db, { route: () => idempotent(answer, lose) })(hand)
      return story(outboxId)
    }

    test('taken: the doubt is over, once', async () => {
      const told = await askedLate(taken())
      expect(typesOf(told).filter(type => type === 'RESOLVED')).toHaveLength(1)
      expect(told.email.status).toBe('SENT')
    })

    test('parked: the doubt remains', async () => {
      const told = await askedLate(overQuota())
      expect(typesOf(told)).not.toContain('RESOLVED')
      expect(told.email.status).toBe('UNKNOWN')
      expect(await doubts(db)).toHaveLength(1)
    })
  })

  test('after the policy has put it in line again: it changes nothing', async () => {
    const told = await answeredLate(taken(), async () => {
      await graceOver(db)
      await resolve()
    })
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED'])
    expect(told.email).toMatchObject({ status: 'PENDING', message_id: null })
    expect(await counted(db)).toMatchObject({ 'unknown_resolved policy-resend': 1 })
  })
})
