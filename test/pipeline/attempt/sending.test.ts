import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pauseCompany, resumeCompany } from '../../../src/companies/companies.ts'
import { validateDLQEntry } from '../../../src/outbox/dlq-entry.ts'
import type { EmailStatus } from '../../../src/outbox/states.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { RETRY_POLICIES } from '../../../src/settings/retry.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { rows, send, sendOk, sleep } from '../../support/mail.ts'
import { unaccounted, watchStatuses } from '../../support/moves.ts'
import { forgotten, makeDue, readEmail, type StoredEmail, typesOf } from '../../support/outbox.ts'

const SENT = ['QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'SENT']
const TRIED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const AN_HOUR_MS = 3_600_000

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
  await watchStatuses(gateway.db.pool)
})
afterAll(() => gateway?.stop())

const read = (outboxId: string) => readEmail(gateway.db.pool, outboxId)
const settled = (outboxId: string, ...statuses: EmailStatus[]): Promise<StoredEmail> =>
  until(
    () => read(outboxId),
    ({ email }) => statuses.includes(email.status),
  )
const eventOf = ({ events }: StoredEmail, type: string) => events.find(event => event.type === type)!
const later = (change: Record<string, unknown> = {}, from = company) =>
  sendOk(gateway, from, { delay: AN_HOUR_MS, ...change })

describe('magic recipients', () => {
  test.each([
    [
      'bounce@simulator.test',
      'Permanent',
      { bounceSubType: 'General', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
    ],
    ['soft-bounce@simulator.test', 'Transient', { bounceSubType: 'MailboxFull', diagnosticCode: /^smtp; 4/ }],
  ])('%s is sent, then bounces', async (to, bounceType, metadata) => {
    const stored = await settled(await sendOk(gateway, company, { to }), 'BOUNCED')
    expect(typesOf(stored)).toEqual([...SENT, 'BOUNCE'])
    const { diagnosticCode, ...others } = metadata
    expect(eventOf(stored, 'BOUNCE').metadata).toMatchObject({
      bounceType,
      ...others,
      messageId: stored.email.message_id,
      recipientHash: hashEmail(to),
    })
    expect(eventOf(stored, 'BOUNCE').metadata.diagnosticCode).toMatch(diagnosticCode)
    expect(stored.recipients.map(row => row.status)).toEqual(['BOUNCED'])
    expect(stored.email).toMatchObject({
      bounce_type: bounceType,
      bounced_at: expect.any(Date),
      sent_at: expect.any(Date),
    })
    expect(stored.inbox).toHaveLength(1)
  })

  test('delivered@ is sent, then delivered', async () => {
    const stored = await settled(await sendOk(gateway, company, { to: 'delivered@simulator.test' }), 'DELIVERED')
    expect(typesOf(stored)).toEqual([...SENT, 'DELIVERED'])
    expect(eventOf(stored, 'DELIVERED').metadata).toMatchObject({ smtpResponse: '250 2.0.0 OK' })
    expect(stored.recipients.map(row => row.status)).toEqual(['DELIVERED'])
    expect(stored.email).toMatchObject({ delivered_at: expect.any(Date) })
    expect(stored.email.delivered_at!.getTime()).toBeGreaterThanOrEqual(stored.email.sent_at!.getTime())
  })

  test('complaint@ is delivered, then complained about', async () => {
    const stored = await settled(await sendOk(gateway, company, { to: 'complaint@simulator.test' }), 'COMPLAINED')
    expect(typesOf(stored)).toEqual([...SENT, 'DELIVERED', 'COMPLAINT'])
    expect(eventOf(stored, 'DELIVERED').metadata).toMatchObject({ smtpResponse: '250 2.0.0 OK' })
    expect(eventOf(stored, 'COMPLAINT').metadata).toMatchObject({ feedbackType: 'abuse', userAgent: 'Simulator' })
    expect(stored.recipients.map(row => row.status)).toEqual(['COMPLAINED'])
    expect(stored.email).toMatchObject({ delivered_at: expect.any(Date), complained_at: expect.any(Date) })
  })

  test('a cc that bounces leaves the e-mail to its to', async () => {
    const outboxId = await sendOk(gateway, company, { cc: ['bounce+cc@simulator.test'] })
    const stored = await until(
      () => read(outboxId),
      one => typesOf(one).includes('BOUNCE'),
    )
    expect(stored.recipients.map(row => [row.kind, row.status])).toEqual([
      ['to', 'SENT'],
      ['cc', 'BOUNCED'],
    ])
    expect(stored.email).toMatchObject({ status: 'SENT', bounced_at: null })
  })

  test('the spelling does not matter', async () => {
    await settled(await sendOk(gateway, company, { to: 'B. <Bounce+Again@Simulator.TEST>' }), 'BOUNCED')
  })

  test('reject@ is refused, and is a dead letter with reason, history and data', async () => {
    const outboxId = await sendOk(gateway, company, { to: 'reject@simulator.test', externalId: 'BOL-1', tags: ['a'] })
    const stored = await settled(outboxId, 'REJECTED')
    expect(typesOf(stored)).toEqual(['QUEUED', ...TRIED, 'REJECTED', 'DLQ_MOVED'])
    expect(eventOf(stored, 'REJECTED').metadata).toMatchObject({
      errorCode: 'SES_MESSAGE_REJECTED',
      willRetry: false,
      reason: 'Email address is not verified.',
      sesError: 'MessageRejected',
    })
    expect(eventOf(stored, 'DLQ_MOVED').metadata).toMatchObject({
      attempts: 1,
      lastError: 'Email address is not verified.',
    })
    expect(stored.email).toMatchObject({
      failed_at: expect.any(Date),
      failure_reason: 'Email address is not verified.',
    })
    expect(stored.recipients.map(row => row.status)).toEqual(['REJECTED'])
    expect(stored.inbox).toEqual([])
    const entry = entryOf(stored)
    expect(entry).toMatchObject({
      failedAttempts: 1,
      lastFailureCode: 'SES_MESSAGE_REJECTED',
      providerCode: 'MessageRejected',
    })
    expect(entry.retryHistory).toHaveLength(1)
    expect(entry.originalData).toMatchObject({ outboxId, companyId: company.companyId, subject: 'Hello', tags: ['a'] })
  })
})

/** The dead letter, checked by the contract. */
function entryOf({ dead }: StoredEmail) {
  const iso = (date: Date) => date.toISOString()
  return validateDLQEntry({
    jobId: dead!.outbox_id,
    outboxId: dead!.outbox_id,
    companyId: dead!.company_id,
    originalData: dead!.original_data,
    failedAttempts: dead!.failed_attempts,
    lastFailureReason: dead!.last_failure_reason,
    lastFailureCode: dead!.last_failure_code,
    providerCode: dead!.provider_code ?? undefined,
    lastFailureTimestamp: iso(dead!.last_failure_at),
    enqueuedAt: iso(dead!.enqueued_at),
    movedToDLQAt: iso(dead!.moved_at),
    retryHistory: dead!.retry_history,
  })
}

describe('throttled', () => {
  test('throttle@ is throttled twice, spends no attempt, and is then sent', async () => {
    const outboxId = await sendOk(gateway, company, { to: 'throttle@simulator.test' })
    const stored = await settled(outboxId, 'SENT')
    const throttled = [...TRIED, 'RETRY_SCHEDULED']
    expect(typesOf(stored)).toEqual(['QUEUED', ...throttled, ...throttled, ...TRIED, 'SENT'])
    for (const { metadata } of stored.events.filter(event => event.type === 'RETRY_SCHEDULED'))
      expect(metadata).toMatchObject({
        errorCode: 'SES_THROTTLING',
        originalCode: 'Throttling',
        throttled: true,
        willRetry: true,
        attempt: 1,
        nextAttemptNumber: 1,
      })
    expect(stored.email).toMatchObject({ attempts: 1, error_code: null })
    expect(stored.inbox).toHaveLength(1)
  })
})

describe('retry', () => {
  test('unavailable@ waits as long as its policy says, give or take a quarter', async () => {
    const outboxId = await sendOk(gateway, company, { to: 'unavailable@simulator.test', retryPolicy: 'patient' })
    const stored = await settled(outboxId, 'RETRY_SCHEDULED')
    expect(typesOf(stored)).toEqual(['QUEUED', ...TRIED, 'RETRY_SCHEDULED'])
    const { metadata, created_at } = eventOf(stored, 'RETRY_SCHEDULED')
    expect(metadata).toMatchObject({
      errorCode: 'SES_SERVICE_UNAVAILABLE',
      errorCategory: 'TRANSIENT_ERROR',
      originalCode: 'ServiceUnavailable',
      willRetry: true,
      nextAttemptNumber: 2,
    })
    expect(stored.email.next_attempt_at.getTime() - created_at.getTime()).toBe(metadata.backoffDelay)
    expect(metadata.backoffDelay).toBeGreaterThanOrEqual(45_000)
    expect(metadata.backoffDelay).toBeLessThanOrEqual(75_000)
    const waiting = await rows(gateway, 'select due_at from email_scheduled where outbox_id = $1', [outboxId])
    expect(waiting).toEqual([{ due_at: stored.email.next_attempt_at }])
    expect(stored.recipients.map(row => row.status)).toEqual(['PENDING'])
    expect(stored.email.failed_at).toBeNull()
  })

  test('the first retry of the default policy comes by itself after about a second', async () => {
    const outboxId = await sendOk(gateway, company, { to: 'unavailable@simulator.test' })
    const stored = await until(
      () => read(outboxId),
      ({ email, events }) => email.attempts === 2 && typesOf({ events }).at(-1) === 'RETRY_SCHEDULED',
    )
    const [first, second] = stored.events.filter(event => event.type === 'RECEIVED').map(event => event.created_at)
    expect(second!.getTime() - first!.getTime()).toBeGreaterThanOrEqual(750)
    expect(second!.getTime() - first!.getTime()).toBeLessThan(3000)
  })

  test.each([
    ['steps', 5],
    ['exponential', 5],
    ['patient', 4],
  ] as const)('%s gives up after %i attempts, with the history of all of them', async (retryPolicy, attempts) => {
    const outboxId = await sendOk(gateway, company, { to: 'unavailable@simulator.test', retryPolicy })
    const stored = await until(
      async () => {
        await makeDue(gateway.db.pool, [outboxId])
        return read(outboxId)
      },
      ({ email }) => email.status === 'DLQ',
    )
    const tries = Array.from({ length: attempts - 1 }, () => [...TRIED, 'RETRY_SCHEDULED']).flat()
    expect(typesOf(stored)).toEqual(['QUEUED', ...tries, ...TRIED, 'FAILED', 'DLQ_MOVED'])
    expect(stored.email).toMatchObject({ attempts, next_attempt_at: null, failed_at: expect.any(Date) })
    stored.events
      .filter(event => event.type === 'RETRY_SCHEDULED')
      .forEach(({ metadata }, index) => {
        const baseMs = RETRY_POLICIES[retryPolicy].delaysSeconds[index]! * 1000
        expect(metadata).toMatchObject({ attempt: index + 1, nextAttemptNumber: index + 2 })
        expect(Math.abs(metadata.backoffDelay - baseMs)).toBeLessThanOrEqual(baseMs / 4)
      })
    expect(eventOf(stored, 'FAILED').metadata).toMatchObject({ errorCode: 'SES_SERVICE_UNAVAILABLE', willRetry: false })
    expect(eventOf(stored, 'DLQ_MOVED').metadata).toMatchObject({
      attempts,
      lastError: 'The service is unavailable for now.',
    })
    const entry = entryOf(stored)
    expect(entry.failedAttempts).toBe(attempts)
    expect(entry.retryHistory!.map(one => one.attempt)).toEqual(
      Array.from({ length: attempts }, (_, index) => index + 1),
    )
    expect(stored.recipients.map(row => row.status)).toEqual(['DLQ'])
    expect(stored.inbox).toEqual([])
  })

  test('a retry that succeeds leaves no trace of the error on the e-mail', async () => {
    const outboxId = await sendOk(gateway, company, { to: 'unavailable@simulator.test', retryPolicy: 'patient' })
    await settled(outboxId, 'RETRY_SCHEDULED')
    await rows(gateway, `update email_recipients set address = 'maria@example.com' where outbox_id = $1`, [outboxId])
    await makeDue(gateway.db.pool, [outboxId])
    const { email } = await settled(outboxId, 'SENT')
    expect(email).toMatchObject({ attempts: 2, error_code: null, failure_reason: null, next_attempt_at: null })
  })
})

describe('expiry', () => {
  test.each([0, 2])('mail that is due after its end is EXPIRED and not sent, after %i attempts', async attempts => {
    const outboxId = await later()
    await rows(
      gateway,
      `update email_outbox set expires_at = now() - interval '1 second', attempts = $2 where outbox_id = $1`,
      [outboxId, attempts],
    )
    await makeDue(gateway.db.pool, [outboxId])
    const stored = await settled(outboxId, 'EXPIRED', 'SENT')
    expect(typesOf(stored)).toEqual(['QUEUED', 'RECEIVED', 'EXPIRED'])
    expect(eventOf(stored, 'RECEIVED').metadata).toMatchObject({ attempt: attempts })
    expect(eventOf(stored, 'EXPIRED').metadata).toMatchObject({ attempts })
    expect(stored.email.attempts).toBe(attempts)
    expect(stored.inbox).toEqual([])
    expect(stored.recipients.map(row => row.status)).toEqual(['EXPIRED'])
    expect(stored.email).toMatchObject({ failed_at: expect.any(Date), failure_reason: expect.stringMatching(/\S/) })
    expect(stored.dead).toBeUndefined()
  })

  test('the 24 hours count from the due time', async () => {
    const outboxId = await later()
    const { email } = await read(outboxId)
    expect(email.expires_at.getTime() - email.next_attempt_at.getTime()).toBe(24 * AN_HOUR_MS)
  })

  test('mail for a moment long past is sent at once or refused on acceptance, never accepted and expired', async () => {
    const scheduledAt = new Date(Date.now() - 48 * AN_HOUR_MS).toISOString()
    const answer = await send(gateway, company, { to: 'maria@example.com', subject: 'Hello', text: 'Hi', scheduledAt })
    if (answer.status !== 202) return expect(answer.status).toBe(422)
    const stored = await settled(answer.body.outboxId, 'SENT', 'EXPIRED')
    expect(stored.email.status).toBe('SENT')
  })
})

describe('an e-mail that can no longer be sent', () => {
  const HOSTILE = '<p>Hi</p><script>alert(1)</script>'

  test.each<[name: string, sabotage: string, validation: string, code: string]>([
    ['its HTML turned hostile', `update email_content set html = '${HOSTILE}' where`, 'TEMPLATE', 'INVALID_TEMPLATE'],
    ['its content is empty', `update email_content set html = null, text = null where`, 'TEMPLATE', 'INVALID_TEMPLATE'],
    ['its content is gone', `delete from email_content where`, 'TEMPLATE', 'INVALID_TEMPLATE'],
    ['its subject is gone', `update email_outbox set subject = null where`, 'INTEGRITY', 'INVALID_PAYLOAD'],
    ['its address is none', `update email_recipients set address = 'maria' where`, 'INTEGRITY', 'INVALID_EMAIL'],
    ['its address was erased', `update email_recipients set address = null where`, 'INTEGRITY', 'INVALID_PAYLOAD'],
    ['its recipients are gone', `delete from email_recipients where`, 'INTEGRITY', 'INVALID_PAYLOAD'],
    [
      'its recipient was deleted',
      `update recipients r set deleted_at = now() from email_outbox o where r.recipient_id = o.recipient_id and`,
      'RECIPIENT',
      'RECIPIENT_NOT_FOUND',
    ],
  ])('%s: it is FAILED with its cause, and its neighbours are SENT', async (name, sabotage, validation, code) => {
    const ids = await Promise.all([1, 2, 3].map(place => later({ recipient: { externalId: `${name} ${place}` } })))
    await rows(gateway, `${sabotage} outbox_id = $1`, [ids[1]])
    await makeDue(gateway.db.pool, ids)
    for (const neighbour of [ids[0]!, ids[2]!]) expect(typesOf(await settled(neighbour, 'SENT'))).toEqual(SENT)
    const stored = await settled(ids[1]!, 'FAILED')
    expect(typesOf(stored)).toEqual(['QUEUED', 'RECEIVED', 'VALIDATION_FAILED', 'FAILED', 'DLQ_MOVED'])
    expect(eventOf(stored, 'VALIDATION_FAILED').metadata).toMatchObject({ validation, errorCode: code })
    expect(eventOf(stored, 'FAILED').metadata).toMatchObject({ errorCode: code, willRetry: false })
    expect(stored.email.error_code).toBe(code)
    expect(stored.inbox).toEqual([])
    expect(entryOf(stored).failedAttempts).toBe(1)
    expect(stored.dead!.last_failure_reason, 'a reason that a person can read').toMatch(/\w{2,} \w{2,}/)
    expect(stored.dead!.last_failure_reason).not.toMatch(/Cannot read|undefined|null/)
  })
})

describe('waiting', () => {
  test('a paused company waits, others do not, and it goes on when resumed', async () => {
    const paused = await gateway.company()
    await pauseCompany(gateway.db.pool, paused.companyId, 'by hand')
    const held = await sendOk(gateway, paused)
    await settled(await sendOk(gateway, company), 'SENT')
    await sleep(300)
    expect((await read(held)).email).toMatchObject({ status: 'PENDING', attempts: 0 })
    await resumeCompany(gateway.db.pool, paused.companyId)
    await settled(held, 'SENT')
  })

  test('scheduled mail is not sent early, not even with a stale row among the ready', async () => {
    const outboxId = await later()
    await rows(gateway, 'insert into email_ready (company_id, priority, outbox_id) values ($1, 5, $2)', [
      company.companyId,
      outboxId,
    ])
    await settled(await sendOk(gateway, company), 'SENT')
    await until(
      () => rows(gateway, 'select from email_ready where outbox_id = $1', [outboxId]),
      ready => ready.length === 0,
    )
    expect((await read(outboxId)).email).toMatchObject({ status: 'PENDING', attempts: 0 })
    expect(await rows(gateway, 'select from email_scheduled where outbox_id = $1', [outboxId])).toHaveLength(1)
    await makeDue(gateway.db.pool, [outboxId])
    expect(typesOf(await settled(outboxId, 'SENT'))).toEqual(SENT)
  })

  test('mail with a short delay is sent when its time has come, not before', async () => {
    const { email } = await settled(await sendOk(gateway, company, { delay: 400 }), 'SENT')
    const waitedMs = email.sent_at.getTime() - email.created_at.getTime()
    expect(waitedMs).toBeGreaterThanOrEqual(400)
    expect(waitedMs).toBeLessThan(2500)
  })
})

test('every change of status above is in the table of transitions and wrote its event in the same transaction', async () => {
  const [{ count }] = await rows(gateway, 'select count(*)::int as count from moves')
  expect(count).toBeGreaterThan(50)
  expect(await unaccounted(gateway.db.pool)).toEqual([])
})

test('nothing is left that nobody would ever wake', async () => {
  expect(await forgotten(gateway.db.pool)).toEqual([])
})
