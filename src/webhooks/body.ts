import { z } from 'zod'
import { hashEmail } from '../platform/text/hashing.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { type AnyWebhookType, FAILURE_CODES, type WebhookEventType } from './events.ts'

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

/** The events of Resend that the gateway has, and which of its own they stand for. Resend has no word for an expired e-mail. */
export const RESEND_EVENT_TYPES = {
  'email.sent': ['email.sent'],
  'email.delivered': ['email.delivered'],
  'email.bounced': ['email.bounced'],
  'email.complained': ['email.complained'],
  'email.failed': ['email.failed', 'email.expired'],
  'email.suppressed': ['email.suppressed'],
} as const satisfies Record<string, readonly WebhookEventType[]>

export type ResendEventType = keyof typeof RESEND_EVENT_TYPES

export const isResendEventType = (type: string): type is ResendEventType => Object.hasOwn(RESEND_EVENT_TYPES, type)

/** Notices such as webhook.test keep their name. */
export const resendTypeOf = (type: AnyWebhookType) => (type === 'email.expired' ? 'email.failed' : type)

/** The body in the form of Resend's webhooks, from the same facts as the native one. */
export function buildResendBody(facts: WebhookFacts): string {
  const { type, timestamp, email } = facts
  const native: Record<string, unknown> = webhookData(facts)
  const data = email ? { ...resendEmailData(email, native), ...resendFields(type, native) } : native
  return JSON.stringify({ type: resendTypeOf(type), created_at: timestamp, data })
}

function resendEmailData(email: EmailFacts, native: Record<string, unknown>) {
  return {
    email_id: email.outboxId,
    message_id: text(native.messageId) ?? email.messageId ?? '',
    created_at: email.createdAt,
    from: email.from,
    to: recipientsOf(email, native),
    subject: email.subject ?? '',
    ...(email.templateType !== null && { template_id: email.templateType }),
    tags: tagsByName(email.tags),
  }
}

/** An event about some of the recipients names only those: a receiver would take every address of `to` for bounced. */
function recipientsOf({ recipients, metadata }: EmailFacts, native: Record<string, unknown>): unknown {
  const hashes = native.suppressed ?? metadata.recipientHash
  if (hashes === undefined) return native.to
  const about = new Set([hashes].flat())
  return recipients.flatMap(({ address }) => (address !== null && about.has(hashEmail(address)) ? address : []))
}

function resendFields(type: AnyWebhookType, native: Record<string, unknown>): Record<string, unknown> {
  switch (type) {
    case 'email.bounced':
      return {
        bounce: {
          message: text(native.diagnosticCode) ?? 'The provider gave no diagnostic text',
          type: text(native.bounceType) ?? 'Undetermined',
          subType: text(native.bounceSubType) ?? 'General',
        },
      }
    case 'email.failed':
      return { failed: { reason: text(native.reason) ?? 'No reason was given' } }
    case 'email.expired':
      return { failed: { reason: 'The e-mail expired before it could be sent' } }
    case 'email.suppressed':
      return {
        suppressed: { message: 'Recipients on the suppression list were left out', type: 'OnAccountSuppressionList' },
      }
    default:
      return {}
  }
}

export type ResendTag = { name: string; value: string }

const MAX_TAGS = 50

/** The characters that Resend allows. Neither name nor value contains the colon that joins them. */
const part = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[A-Za-z0-9_-]+$/, 'must be ASCII letters, digits, _ or -')

export const resendTagsSchema = z.array(z.strictObject({ name: part, value: part })).max(MAX_TAGS)

/** A tag is stored as `name:value`, the form in which providers take it for a pair as well (providers/provider.ts). */
export const toTag = ({ name, value }: ResendTag) => `${name}:${value}`

/** `order:42` → that pair; a tag of the native API without a colon, such as `welcome`, → `welcome`, `true`. */
export function fromTag(tag: string): ResendTag {
  const colon = tag.indexOf(':')
  return colon < 0 ? { name: tag, value: 'true' } : { name: tag.slice(0, colon), value: tag.slice(colon + 1) }
}

/** As the webhooks have them. The first of two tags with one name counts, as at the providers. */
export function tagsByName(tags: readonly string[]): Record<string, string> {
  const pairs = tags.map(fromTag).reverse()
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]))
}
