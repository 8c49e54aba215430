import { formatAddress } from '../addresses.ts'
import type { EmailSummary } from '../email-view.ts'
import type { EmailStatus } from '../states.ts'
import { fromTag } from './tags.ts'

export type ResendLastEvent =
  | 'bounced'
  | 'canceled'
  | 'complained'
  | 'delivered'
  | 'delivery_delayed'
  | 'failed'
  | 'queued'
  | 'scheduled'
  | 'sent'
  | 'suppressed'

const LAST_EVENTS: Readonly<Record<EmailStatus, ResendLastEvent>> = {
  PENDING: 'queued',
  PROCESSING: 'queued',
  RETRY_SCHEDULED: 'delivery_delayed',
  // The message may have left; until that is known, it is reported as delayed.
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
}

export function lastEventOf({ status, scheduledAt, lastError }: LastEventFacts, now: Date): ResendLastEvent {
  if (status === 'PENDING' && scheduledAt !== null && Date.parse(scheduledAt) > now.getTime()) return 'scheduled'
  if (status === 'REJECTED' && lastError?.code === 'RECIPIENT_SUPPRESSED') return 'suppressed'
  return LAST_EVENTS[status]
}

type LastEventFacts = Pick<EmailSummary, 'status' | 'scheduledAt' | 'lastError'>

/** What the summary of an e-mail does not have: its reply addresses, and the display names by address. */
export type MailAddresses = { replyTo: string[] | null; names: ReadonlyMap<string, string> }

/** An e-mail in a list of the Resend API. */
export function toResendListItem(email: EmailSummary, { replyTo, names }: MailAddresses, now: Date) {
  const named = (addresses: string[]) =>
    addresses.map(address => formatAddress({ address, displayName: names.get(address) ?? null }))
  return {
    id: email.outboxId,
    // The SDK's type has no null. It is known once a provider has taken the e-mail.
    message_id: email.messageId ?? '',
    to: named(email.to),
    from: email.from,
    created_at: email.createdAt,
    subject: email.subject ?? '',
    bcc: nullIfEmpty(named(email.bcc)),
    cc: nullIfEmpty(named(email.cc)),
    reply_to: nullIfEmpty(replyTo ?? []),
    last_event: lastEventOf(email, now),
    scheduled_at: email.scheduledAt,
  }
}

export type StoredContent = { html: string | null; text: string | null; replyTo: string[] | null }

/** content null: retention has deleted it. */
export function toResendEmail(
  email: EmailSummary,
  content: StoredContent | null,
  names: MailAddresses['names'],
  now: Date,
) {
  return {
    object: 'email' as const,
    ...toResendListItem(email, { replyTo: content?.replyTo ?? null, names }, now),
    html: content?.html ?? null,
    text: content?.text ?? null,
    tags: email.tags.map(fromTag),
  }
}

const nullIfEmpty = (addresses: string[]) => (addresses.length > 0 ? addresses : null)
