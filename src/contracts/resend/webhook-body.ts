import { hashEmail } from '../hashing.ts'
import { type EmailFacts, type WebhookFacts, webhookData } from '../webhooks/body.ts'
import type { AnyWebhookType, WebhookEventType } from '../webhooks/events.ts'
import { tagsByName } from './tags.ts'

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
  const data = email ? { ...aboutEmail(email, native), ...fieldsOf(type, native) } : native
  return JSON.stringify({ type: resendTypeOf(type), created_at: timestamp, data })
}

function aboutEmail(email: EmailFacts, native: Record<string, unknown>) {
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

function fieldsOf(type: AnyWebhookType, native: Record<string, unknown>): Record<string, unknown> {
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

const text = (value: unknown) => (typeof value === 'string' ? value : null)
