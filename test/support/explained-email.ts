import type { EmailLocation, QueuePosition } from '../../src/emails/explain.ts'
import type { EmailSummary } from '../../src/outbox/email-view.ts'
import type { EmailStatus } from '../../src/outbox/states.ts'

export const AT = '2026-01-23T10:00:00.000Z'
export const LATER = '2026-01-23T10:00:30.000Z'
export const THROTTLED = {
  code: 'SES_THROTTLING',
  providerCode: 'Throttling',
  category: 'QUOTA_ERROR',
  message: 'Maximum sending rate exceeded',
}

/** What an e-mail of each status is known to have; see the constraints of email_outbox. */
const FACTS: Record<EmailStatus, Partial<EmailSummary>> = {
  PENDING: {},
  PROCESSING: { attempts: 1, provider: 'capture' },
  RETRY_SCHEDULED: { attempts: 1, provider: 'capture', lastError: THROTTLED, nextAttemptAt: LATER },
  UNKNOWN: { attempts: 1, provider: 'ses' },
  SENT: { attempts: 1, provider: 'capture', messageId: 'm-1', sentAt: AT },
  DELIVERED: { attempts: 1, provider: 'capture', messageId: 'm-1', sentAt: AT, deliveredAt: LATER },
  BOUNCED: { attempts: 1, provider: 'capture', messageId: 'm-1', sentAt: AT },
  COMPLAINED: { attempts: 1, provider: 'capture', messageId: 'm-1', sentAt: AT, deliveredAt: AT },
  REJECTED: { attempts: 1, provider: 'capture', lastError: THROTTLED, failedAt: AT },
  FAILED: { attempts: 1, lastError: THROTTLED, failedAt: AT },
  DLQ: { attempts: 5, provider: 'capture', lastError: THROTTLED, failedAt: AT },
  EXPIRED: { attempts: 2, failedAt: AT },
  CANCELLED: {},
}

export function email(status: EmailStatus, more: Partial<EmailSummary> = {}): EmailSummary {
  return {
    outboxId: '0199b3a0-0000-7000-8000-000000000000',
    companyId: '0199b3a0-0000-7000-8000-000000000001',
    requestId: 'r-1',
    externalId: null,
    status,
    from: 'a@example.com',
    to: ['b@example.com'],
    cc: [],
    bcc: [],
    subject: 'Hello',
    templateType: null,
    tags: [],
    attempts: 0,
    maxAttempts: 5,
    provider: null,
    messageId: null,
    lastError: null,
    createdAt: AT,
    scheduledAt: null,
    nextAttemptAt: null,
    sentAt: null,
    deliveredAt: null,
    failedAt: null,
    expiresAt: '2026-01-24T10:00:00.000Z',
    durationMs: null,
    resendOf: null,
    ...FACTS[status],
    ...more,
  }
}

export const ready = (more: Partial<QueuePosition> = {}): QueuePosition => ({
  ahead: 0,
  companies: 1,
  paused: false,
  pauseReason: null,
  ...more,
})
export const where = (more: Partial<EmailLocation> = {}): EmailLocation => ({
  queuePosition: null,
  inFlight: null,
  unknown: null,
  parked: null,
  contentGone: false,
  workersAlive: true,
  throughRedis: false,
  eventsExpected: true,
  sentAgain: false,
  recipients: { bounced: 0, of: 1 },
  ...more,
})
export const PARKED = [
  { provider: 'ses', since: AT, code: 'SES_DAILY_QUOTA_EXCEEDED', reason: 'Daily quota exceeded', probeAt: LATER },
]
export const UNKNOWN_SEND = {
  reason: 'TIMEOUT',
  provider: 'ses',
  since: AT,
  resolveAt: LATER,
  onUnknown: 'resend' as const,
}
export const paused = ready({ paused: true, pauseReason: 'bounce rate above 5 %' })
export const sentences = (explanation: { summary: string; next: string | null }) =>
  `${explanation.summary} ${explanation.next ?? ''}`
