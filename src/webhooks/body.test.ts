import { describe, expect, test } from 'vitest'
import { hashEmail } from '../platform/text/hashing.ts'
import { buildWebhookBody, type EmailFacts, type WebhookFacts } from './body.ts'
import { type AnyWebhookType, WEBHOOK_EVENT_SCHEMAS } from './events.ts'

const AT = '2026-11-15T10:00:00.000Z'
const COMPANY = '01990000-0000-7000-8000-000000000001'
const OUTBOX = '01990000-0000-7000-8000-000000000002'

const email = (metadata: Record<string, unknown>, eventType = 'SENT'): EmailFacts => ({
  outboxId: OUTBOX,
  externalId: 'BOL-1',
  requestId: 'r-1',
  from: 'shop@example.com',
  subject: 'Hello',
  tags: ['order'],
  test: false,
  attempts: 2,
  messageId: 'm-9',
  templateType: null,
  createdAt: '2026-11-15T09:00:00.000Z',
  recipients: [
    { kind: 'to', address: 'maria@example.com' },
    { kind: 'cc', address: 'Joao@example.com' },
  ],
  eventType,
  metadata,
})

function body(type: AnyWebhookType, change: Partial<WebhookFacts>) {
  const facts = { type, timestamp: AT, sequence: 7, companyId: COMPANY, data: null, email: null, ...change }
  return JSON.parse(buildWebhookBody(facts))
}

const ABOUT_EMAILS: [
  AnyWebhookType,
  Record<string, unknown>,
  Record<string, unknown> | null,
  Record<string, unknown>,
][] = [
  [
    'email.sent',
    { messageId: 'm-1', attempt: 1, durationMs: 5 },
    null,
    { messageId: 'm-1', sentAt: AT, attempts: 1, processingTimeMs: 5 },
  ],
  [
    'email.failed',
    { errorCode: 'X', errorCategory: 'PERMANENT_ERROR', reason: 'maria@example.com is unknown', attempt: 2 },
    null,
    { failureCode: 'REJECTED', failedAt: AT, attempts: 2, errorCode: 'X', reason: 'm***@e***.com is unknown' },
  ],
  [
    'email.delivered',
    { deliveredAt: '2026-11-15T09:59:00+00:00', smtpResponse: '250 OK' },
    null,
    { deliveredAt: '2026-11-15T09:59:00.000Z', smtpResponse: '250 OK' },
  ],
  [
    'email.bounced',
    { messageId: 'm-1', bounceType: 'Permanent', diagnosticCode: '550 maria@example.com' },
    null,
    { bouncedAt: AT, bounceType: 'Permanent', bounceSubType: null, diagnosticCode: '550 m***@e***.com' },
  ],
  [
    'email.complained',
    { feedbackType: 'abuse', userAgent: 'Gmail' },
    null,
    { complainedAt: AT, feedbackType: 'abuse' },
  ],
  ['email.expired', { attempts: 0 }, null, { expiredAt: AT, attempts: 0 }],
  ['email.suppressed', { suppressed: ['sha256:x'] }, null, { suppressedAt: AT, suppressed: ['sha256:x'] }],
]

describe.each(ABOUT_EMAILS)('%s', (type, metadata, data, expected) => {
  test('identifies the e-mail and its outcome, and matches the documented schema', () => {
    const made = body(type, { email: email(metadata, type === 'email.failed' ? 'REJECTED' : 'SENT'), data })
    expect(made).toMatchObject({
      type,
      timestamp: AT,
      data: {
        sequence: 7,
        outboxId: OUTBOX,
        externalId: 'BOL-1',
        companyId: COMPANY,
        requestId: 'r-1',
        recipient: 'maria@example.com',
        recipientHash: hashEmail('maria@example.com'),
        ...expected,
      },
    })
    expect(WEBHOOK_EVENT_SCHEMAS[type].safeParse(made).error).toBeUndefined()
    expect(Object.keys(made.data).sort()).toEqual(Object.keys(WEBHOOK_EVENT_SCHEMAS[type].shape.data.shape).sort())
  })
})

test('attempts that are used up have their own failure code, and give the last reason', () => {
  const metadata = { attempts: 5, lastError: 'Too many', lastErrorCode: 'Throttling' }
  expect(body('email.failed', { email: email(metadata, 'DLQ_MOVED') }).data).toMatchObject({
    failureCode: 'DLQ_MOVED',
    attempts: 5,
    reason: 'Too many',
    errorCode: 'Throttling',
  })
})

test('an event about one recipient names that recipient', () => {
  const recipientHash = hashEmail('joao@example.com')
  const made = body('email.bounced', { email: email({ recipientHash }) })
  expect(made.data).toMatchObject({ recipient: 'Joao@example.com', recipientHash, to: ['maria@example.com'] })
})

test('the recipient of an erased person is null, and the hash stays', () => {
  const recipientHash = hashEmail('gone@example.com')
  const erased = { ...email({ recipientHash }), recipients: [{ kind: 'to' as const, address: null }] }
  expect(body('email.bounced', { email: erased }).data).toMatchObject({ recipient: null, recipientHash, to: [] })
})

test('notices match the documented schema', () => {
  const notice = body('webhook.disabled', { data: { webhookId: OUTBOX, url: 'https://x.example', reason: 'GONE' } })
  expect(WEBHOOK_EVENT_SCHEMAS['webhook.disabled'].safeParse(notice).error).toBeUndefined()
  const test = body('webhook.test', { data: { webhookId: OUTBOX, message: 'It works.' } })
  expect(WEBHOOK_EVENT_SCHEMAS['webhook.test'].safeParse(test).error).toBeUndefined()
})
