import { expect, test } from 'vitest'
import { EMAIL_STATUSES } from '../../outbox/states.ts'
import { fromTag, tagsByName, toTag } from '../../webhooks/body.ts'
import { lastEventOf } from './emails.ts'

const NOW = new Date('2026-11-15T10:00:00Z')
const facts = { scheduledAt: null, lastError: null }

test('every status has a last_event of the SDK', () => {
  const events = EMAIL_STATUSES.map(status => lastEventOf({ ...facts, status }, NOW))
  expect(Object.fromEntries(EMAIL_STATUSES.map((status, i) => [status, events[i]]))).toEqual({
    PENDING: 'queued',
    PROCESSING: 'queued',
    RETRY_SCHEDULED: 'delivery_delayed',
    UNKNOWN: 'delivery_delayed',
    SENT: 'sent',
    DELIVERED: 'delivered',
    BOUNCED: 'bounced',
    COMPLAINED: 'complained',
    REJECTED: 'failed',
    FAILED: 'failed',
    DLQ: 'failed',
    EXPIRED: 'failed',
    CANCELLED: 'canceled',
  })
})

test('an e-mail waits as scheduled until its time has come, and as queued from then on', () => {
  const at = (scheduledAt: string) => lastEventOf({ ...facts, status: 'PENDING', scheduledAt }, NOW)
  expect(at('2026-11-15T10:00:01.000Z')).toBe('scheduled')
  expect(at('2026-11-15T10:00:00.000Z')).toBe('queued')
})

test('an e-mail whose recipients were all suppressed before the send is suppressed, not failed', () => {
  const lastError = { code: 'RECIPIENT_SUPPRESSED', providerCode: null, category: null, message: 'x' }
  expect(lastEventOf({ ...facts, status: 'REJECTED', lastError }, NOW)).toBe('suppressed')
})

test('tags come back as they were given', () => {
  const tag = { name: 'category', value: 'confirm_email-2' }
  expect(fromTag(toTag(tag))).toEqual(tag)
  expect(fromTag('welcome')).toEqual({ name: 'welcome', value: 'true' })
  expect(fromTag('campaign:spring:2')).toEqual({ name: 'campaign', value: 'spring:2' })
  expect(tagsByName(['a:1', 'b:2', 'a:3'])).toEqual({ a: '1', b: '2' })
})
