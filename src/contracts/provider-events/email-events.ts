import { hashEmail } from '../hashing.ts'
import type { EmailEventType, EmailStatus } from '../states.ts'
import { uuidOf } from '../uuid.ts'
import type { ReportItem } from './event.ts'

/** One reported fact, with the message and the provider it came from. */
export type ReportedFact = ReportItem & { at: string; provider: string; messageId: string; attemptId: string | null }

export type FeedbackEvent = {
  /** The same fact always has the same id, however often and in whichever message it is reported. */
  id: string
  type: EmailEventType
  metadata: Record<string, unknown>
  /** The suppression it causes, if the event is new. */
  effect: { kind: 'HARD_BOUNCE' | 'COMPLAINT'; emailHash: string } | null
}

/** DELAYED makes no event. */
const EVENT_TYPES: Partial<Record<ReportItem['kind'], EmailEventType>> = {
  DELIVERED: 'DELIVERED',
  BOUNCED: 'BOUNCE',
  COMPLAINED: 'COMPLAINT',
  REJECTED: 'REJECTED',
  SENT: 'SENT',
}

/** The metadata field for the time of each kind, with the names of the public API. */
const TIME_FIELDS: Partial<Record<ReportItem['kind'], string>> = {
  SENT: 'sentAt',
  DELIVERED: 'deliveredAt',
  BOUNCED: 'bouncedAt',
  COMPLAINED: 'complaintAt',
  REJECTED: 'rejectedAt',
}

/**
 * `addresses`: of the recipients that the fact is about; null once the person was erased. None: the report names somebody to whom the
 * e-mail did not go. Its text comes from the server of a recipient, so it suppresses nobody and counts for nothing.
 */
export function eventOf(fact: ReportedFact, addresses: readonly (string | null)[]): FeedbackEvent | null {
  const type = EVENT_TYPES[fact.kind]
  if (!type) return null
  const { provider, messageId, attemptId, feedbackId } = fact
  const emailHash = recipientHash(fact, addresses)
  const { processingTimeMs } = fact.metadata
  return {
    id: uuidOf(
      [provider.split(':')[0], messageId, type, feedbackId ?? '', variantOf(fact), emailHash ?? ''].join('\n'),
    ),
    type,
    metadata: {
      ...fact.metadata,
      [TIME_FIELDS[fact.kind] ?? 'at']: fact.at,
      ...(processingTimeMs !== undefined && { durationMs: processingTimeMs }),
      messageId,
      sesMessageId: messageId,
      provider,
      ...(attemptId && { attemptId }),
      ...(emailHash && { recipientHash: emailHash }),
    },
    effect: emailHash === null || addresses.length === 0 ? null : effectOf(fact, emailHash),
  }
}

function recipientHash({ recipient }: ReportedFact, addresses: readonly (string | null)[]): string | null {
  if (recipient === null) return null
  return hashEmail(addresses.length === 1 ? (addresses[0] ?? recipient) : recipient)
}

/** A permanent bounce after a transient one, or a complaint after one that was withdrawn, is a different fact. */
function variantOf(fact: ReportedFact): string {
  if (fact.kind === 'BOUNCED') return String(fact.metadata.bounceType ?? 'Undetermined')
  return isNotSpam(fact) ? 'not-spam' : ''
}

function effectOf(fact: ReportedFact, emailHash: string): FeedbackEvent['effect'] {
  if (fact.kind === 'BOUNCED' && fact.metadata.bounceType === 'Permanent') return { kind: 'HARD_BOUNCE', emailHash }
  if (fact.kind === 'COMPLAINED' && !isNotSpam(fact)) return { kind: 'COMPLAINT', emailHash }
  return null
}

export const isNotSpam = ({ kind, metadata }: ReportedFact) =>
  kind === 'COMPLAINED' && metadata.feedbackType === 'not-spam'

/** The provider event arrived before the answer of the provider, or the answer was lost. */
export function sentEvent({ messageId, provider, at, attemptId }: ReportedFact): FeedbackEvent {
  return {
    id: uuidOf([provider.split(':')[0], messageId, 'SENT', '', '', ''].join('\n')),
    type: 'SENT',
    metadata: {
      sentAt: at,
      messageId,
      sesMessageId: messageId,
      provider,
      by: 'provider-event',
      ...(attemptId && { attemptId }),
    },
    effect: null,
  }
}

export function resolvedEvent(
  email: { outboxId: string; status: EmailStatus; attemptId: string | null },
  fact: ReportedFact,
): FeedbackEvent {
  const { outboxId, status: from, attemptId } = email
  const event = EVENT_TYPES[fact.kind] ?? fact.kind
  return {
    id: uuidOf(['resolved', outboxId, fact.messageId, attemptId ?? '', from].join('\n')),
    type: 'RESOLVED',
    metadata: { by: 'provider-event', from, event, attemptId },
    effect: null,
  }
}
