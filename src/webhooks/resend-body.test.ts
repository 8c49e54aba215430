import { expect, test } from 'vitest'
import { hashEmail } from '../platform/text/hashing.ts'
import { buildResendBody, type EmailFacts, type WebhookFacts } from './body.ts'
import type { AnyWebhookType } from './events.ts'

const AT = '2026-11-15T10:00:00.000Z'
const COMPANY = '01990000-0000-7000-8000-000000000001'
const OUTBOX = '01990000-0000-7000-8000-000000000002'

const email = (metadata: Record<string, unknown>, eventType = 'SENT'): EmailFacts => ({
  outboxId: OUTBOX,
  externalId: null,
  requestId: 'r-1',
  from: 'Shop <shop@example.com>',
  subject: 'Hello',
  tags: ['category:order', 'welcome'],
  test: false,
  attempts: 1,
  messageId: 'm-1',
  templateType: null,
  createdAt: '2026-11-15T09:00:00.000Z',
  recipients: [
    { kind: 'to', address: 'Maria@example.com' },
    { kind: 'to', address: 'joao@example.com' },
    { kind: 'bcc', address: 'boss@example.com' },
  ],
  eventType,
  metadata,
})

function body(type: AnyWebhookType, change: Partial<WebhookFacts>) {
  const facts = { type, timestamp: AT, sequence: 7, companyId: COMPANY, data: null, email: null, ...change }
  return JSON.parse(buildResendBody(facts))
}

test('the body has the form of Resend, with all fields of its types', () => {
  expect(body('email.sent', { email: email({ messageId: 'm-2' }) })).toEqual({
    type: 'email.sent',
    created_at: AT,
    data: {
      email_id: OUTBOX,
      message_id: 'm-2',
      created_at: '2026-11-15T09:00:00.000Z',
      from: 'Shop <shop@example.com>',
      to: ['Maria@example.com', 'joao@example.com'],
      subject: 'Hello',
      tags: { category: 'order', welcome: 'true' },
    },
  })
})

test('an event about one recipient names only that one', () => {
  const metadata = { recipientHash: hashEmail('joao@example.com'), bounceType: 'Permanent', diagnosticCode: '550 No' }
  expect(body('email.bounced', { email: email(metadata, 'BOUNCE') }).data).toMatchObject({
    to: ['joao@example.com'],
    message_id: 'm-1',
    bounce: { message: '550 No', type: 'Permanent', subType: 'General' },
  })
  const suppressed = { recipientHash: hashEmail('maria@example.com'), suppressed: [hashEmail('joao@example.com')] }
  expect(body('email.suppressed', { email: email(suppressed, 'QUEUED') }).data).toMatchObject({
    to: ['joao@example.com'],
    suppressed: { message: expect.stringMatching(/suppression list/), type: expect.any(String) },
  })
})

test('an e-mail that failed or expired is email.failed, with the reason', () => {
  const failed = body('email.failed', { email: email({ reason: 'maria@example.com is unknown' }, 'REJECTED') })
  expect(failed).toMatchObject({ type: 'email.failed', data: { failed: { reason: 'm***@e***.com is unknown' } } })
  const expired = body('email.expired', { email: email({ attempts: 3 }, 'EXPIRED') })
  expect(expired).toMatchObject({
    type: 'email.failed',
    data: { failed: { reason: expect.stringMatching(/expired/) } },
  })
})

test('a template is named by its type, and the address of an erased person is left out', () => {
  const gone = { ...email({}), templateType: 'welcome_user', recipients: [{ kind: 'to' as const, address: null }] }
  expect(body('email.delivered', { email: gone }).data).toMatchObject({ template_id: 'welcome_user', to: [] })
})

test('notices keep their type and their data', () => {
  const data = { webhookId: OUTBOX, message: 'It works.' }
  expect(body('webhook.test', { data })).toEqual({
    type: 'webhook.test',
    created_at: AT,
    data: { sequence: 7, companyId: COMPANY, ...data },
  })
})
