import { expect, test } from 'vitest'
import { decideResend, type StoredEmail } from './send-again.ts'

const BOUNCED: StoredEmail = {
  outboxId: '01890000-0000-7000-8000-000000000002',
  companyId: '01890000-0000-7000-8000-000000000001',
  test: false,
  status: 'BOUNCED',
  from: 'Shop <shop@example.com>',
  subject: 'Your order',
  html: '<p>It is on its way.</p>',
  text: null,
  replyTo: null,
  headers: null,
  tags: ['order'],
  priority: 5,
  retryPolicy: null,
  onUnknown: 'resend',
  externalId: null,
  recipientId: null,
  template: null,
  variables: null,
  recipients: [
    { kind: 'to', address: 'maria@example.com', name: 'Maria' },
    { kind: 'to', address: 'joao@example.com', name: null },
    { kind: 'cc', address: 'ana@example.com', name: null },
  ],
  attachments: [],
}

test('an e-mail with several recipients is sent again to all of them', () => {
  const decision = decideResend(BOUNCED)
  expect(decision).toMatchObject({
    kind: 'resend',
    body: {
      to: [{ address: 'maria@example.com', displayName: 'Maria' }, { address: 'joao@example.com' }],
      cc: [{ address: 'ana@example.com' }],
      subject: 'Your order',
    },
  })
})

test('an e-mail that has not ended, or whose content or recipient is gone, is not sent again', () => {
  expect(decideResend({ ...BOUNCED, status: 'RETRY_SCHEDULED' }).kind).toBe('not-ended')
  expect(decideResend({ ...BOUNCED, html: null }).kind).toBe('content-gone')
  expect(decideResend({ ...BOUNCED, recipients: [] }).kind).toBe('content-gone')
})

test('an e-mail from SQL that was never rendered is rendered when it is sent again', () => {
  const unrendered = {
    ...BOUNCED,
    status: 'REJECTED' as const,
    subject: null,
    html: null,
    template: 'welcome_user',
    variables: { a: 1 },
  }
  expect(decideResend(unrendered)).toMatchObject({
    kind: 'resend',
    body: { template: 'welcome_user', variables: { a: 1 } },
  })
})
