import { expect, test } from 'vitest'
import type { EmailEventView } from '../outbox/email-view.ts'
import { attemptsOf } from './view.ts'

let second = 0
const event = (type: EmailEventView['type'], metadata: Record<string, unknown> = {}): EmailEventView => ({
  type,
  createdAt: `2026-11-17T10:31:${String(second++ % 60).padStart(2, '0')}.000Z`,
  metadata,
})

test('each attempt ends with what the log says next, and free retries are told apart', () => {
  const attempts = attemptsOf([
    event('QUEUED'),
    event('SENT_ATTEMPT', { provider: 'ses', attemptId: 'a' }),
    event('RETRY_SCHEDULED', { throttled: true, errorCode: 'SES_THROTTLED', errorMessage: 'slow', backoffDelay: 5000 }),
    event('RECEIVED'),
    event('SENT_ATTEMPT', { provider: 'ses', attemptId: 'b' }),
    event('RETRY_SCHEDULED', { errorCode: 'SMTP_450', providerCode: '450', durationMs: 12 }),
    event('SENT_ATTEMPT', { provider: 'resend', attemptId: 'c' }),
    event('SENT', { messageId: 'm-1', durationMs: 214 }),
    event('BOUNCE', { errorCode: 'x' }),
  ])
  expect(attempts.map(one => [one.provider, one.end, one.message])).toEqual([
    ['ses', 'throttled', 'slow'],
    ['ses', 'retry', null],
    ['resend', 'sent', 'm-1'],
  ])
  expect(attempts[0]).toMatchObject({ code: 'SES_THROTTLED', retryInMs: 5000 })
  expect(attempts[1]).toMatchObject({ providerCode: '450', durationMs: 12 })
})

test('an attempt without an end is under way, and a report of the recipient is none', () => {
  expect(attemptsOf([event('SENT_ATTEMPT', { provider: 'ses' })])[0]).toMatchObject({ end: 'running', endedAt: null })
  expect(attemptsOf([event('QUEUED'), event('CANCELLED')])).toEqual([])
})

test('a call that asks what became of an unknown send has its number, and the next send goes on counting', () => {
  const attempts = attemptsOf([
    event('SENT_ATTEMPT', { provider: 'resend', attemptId: 'a', attempt: 1 }),
    event('UNKNOWN'),
    event('SENT_ATTEMPT', { provider: 'resend', attemptId: 'a', attempt: 1 }),
    event('UNKNOWN'),
    event('SENT_ATTEMPT', { provider: 'resend', attemptId: 'a', attempt: 1 }),
    event('RESOLVED', { by: 'idempotency-key' }),
    event('RETRY_SCHEDULED', { errorCode: 'RESEND_500' }),
    event('SENT_ATTEMPT', { provider: 'resend', attemptId: 'b', attempt: 2 }),
    event('SENT', { messageId: 'm-1' }),
  ])
  expect(attempts.map(one => [one.number, one.asksAgain, one.end])).toEqual([
    [1, false, 'unknown'],
    [1, true, 'unknown'],
    [1, true, 'retry'],
    [2, false, 'sent'],
  ])
})

test('sends without an id are counted one by one', () => {
  const attempts = attemptsOf([event('SENT_ATTEMPT', { provider: 'ses' }), event('SENT_ATTEMPT', { provider: 'ses' })])
  expect(attempts.map(one => [one.number, one.asksAgain])).toEqual([
    [1, false],
    [2, false],
  ])
})

test('an attempt whose worker had called nobody is not one without an answer', () => {
  const attempts = attemptsOf([
    event('SENT_ATTEMPT', { provider: 'ses', attemptId: 'a' }),
    event('UNKNOWN'),
    event('RESOLVED', { by: 'not-called' }),
  ])
  expect(attempts[0]).toMatchObject({ end: 'uncalled' })
})
