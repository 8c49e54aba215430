import { hashEmail } from '../hashing.ts'
import { maskSensitive } from '../masking.ts'
import { type AnyWebhookType, FAILURE_CODES } from './events.ts'

export type WebhookFacts = {
  type: AnyWebhookType
  /** When it happened. */
  timestamp: string
  sequence: number
  companyId: string
  /** Fields given when the webhook was enqueued. */
  data: Record<string, unknown> | null
  email: EmailFacts | null
}

export type EmailFacts = {
  outboxId: string
  externalId: string | null
  requestId: string
  /** null: it came by SQL and ended before it got a sender. */
  from: string | null
  subject: string | null
  tags: string[]
  test: boolean
  attempts: number
  /** Of the last send. */
  messageId: string | null
  templateType: string | null
  createdAt: string
  recipients: { kind: 'to' | 'cc' | 'bcc'; address: string | null }[]
  eventType: string
  /** Of the event. */
  metadata: Record<string, unknown>
}

/** The body that is signed and sent. It is kept with a delivery that is tried again, so every retry sends the same bytes. */
export function buildWebhookBody(facts: WebhookFacts): string {
  const { type, timestamp } = facts
  return JSON.stringify({ type, timestamp, data: webhookData(facts) })
}

export function webhookData({ type, timestamp, sequence, companyId, data, email }: WebhookFacts) {
  const own = email ? { ...aboutEmail(email, companyId), ...fieldsOf(type, timestamp, email) } : { companyId }
  return { sequence, ...own, ...data }
}

function aboutEmail(email: EmailFacts, companyId: string) {
  const to = email.recipients.filter(one => one.kind === 'to').flatMap(one => one.address ?? [])
  const hash = text(email.metadata.recipientHash)
  const recipient = hash === null ? (to[0] ?? null) : addressOf(hash, email)
  return {
    outboxId: email.outboxId,
    externalId: email.externalId,
    companyId,
    requestId: email.requestId,
    recipient,
    recipientHash: hash ?? (recipient === null ? null : hashEmail(recipient)),
    from: email.from,
    to,
    subject: email.subject,
    tags: email.tags,
    test: email.test,
  }
}

function addressOf(hash: string, { recipients }: EmailFacts): string | null {
  return recipients.find(one => one.address !== null && hashEmail(one.address) === hash)?.address ?? null
}

/** The fields of each type in addition to those about the e-mail; see docs/webhooks.md. */
function fieldsOf(
  type: AnyWebhookType,
  at: string,
  { eventType, metadata, attempts }: EmailFacts,
): Record<string, unknown> {
  const attemptsMade = count(metadata.attempts) ?? count(metadata.attempt) ?? attempts
  const messageId = text(metadata.messageId)
  switch (type) {
    case 'email.sent':
      return { messageId, sentAt: at, attempts: attemptsMade, processingTimeMs: count(metadata.durationMs) }
    case 'email.failed':
      return {
        failureCode: FAILURE_CODES.find(code => code === eventType) ?? 'FAILED',
        failedAt: at,
        attempts: attemptsMade,
        errorCode: text(metadata.errorCode) ?? text(metadata.lastErrorCode),
        errorCategory: text(metadata.errorCategory),
        reason: masked(metadata.reason) ?? masked(metadata.lastError) ?? 'No reason was given',
      }
    case 'email.delivered':
      return {
        messageId,
        deliveredAt: moment(metadata.deliveredAt) ?? at,
        smtpResponse: masked(metadata.smtpResponse),
        processingTimeMs: count(metadata.processingTimeMs),
      }
    case 'email.bounced':
      return {
        messageId,
        bouncedAt: moment(metadata.bouncedAt) ?? at,
        bounceType: text(metadata.bounceType),
        bounceSubType: text(metadata.bounceSubType),
        diagnosticCode: masked(metadata.diagnosticCode),
      }
    case 'email.complained':
      return {
        messageId,
        complainedAt: moment(metadata.complaintAt) ?? at,
        feedbackType: text(metadata.feedbackType),
        userAgent: text(metadata.userAgent),
      }
    case 'email.expired':
      return { expiredAt: at, attempts: attemptsMade }
    case 'email.suppressed':
      return { suppressedAt: at, suppressed: metadata.suppressed ?? [] }
    default:
      return {}
  }
}

const text = (value: unknown) => (typeof value === 'string' ? value : null)
const masked = (value: unknown) => (typeof value === 'string' && value !== '' ? maskSensitive(value) : null)
/** The provider's time in our ISO format. */
const moment = (value: unknown) => {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? null : new Date(ms).toISOString()
}
const count = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : null)
