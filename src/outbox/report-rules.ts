import { domainToUnicode } from 'node:url'
import { hashEmail } from '../platform/text/hashing.ts'
import { uuidOf } from '../platform/text/uuid.ts'
import type { ReportItem } from '../providers/report.ts'
import { decideFeedback, type EmailEventType, type EmailStatus, FEEDBACK_RANK } from './states.ts'

type FeedbackRecipient = {
  ordinal: number
  kind: 'to' | 'cc' | 'bcc'
  /** Lower case; null once the person was erased. */
  address: string | null
  status: EmailStatus
  /** Nothing was sent to this recipient. */
  suppressed: boolean
}

/** An e-mail before its new provider events are applied; its row is locked. */
export type EmailBefore = {
  outboxId: string
  status: EmailStatus
  attemptId: string | null
  /** The outcome of its last attempt was unknown. */
  wasUnknown: boolean
  recipients: FeedbackRecipient[]
}

/** The changes of the e-mail. Times are the provider's and about the `to` recipient; null leaves a column unchanged. */
export type FeedbackDecision = {
  status: EmailStatus
  moved: boolean
  recipients: { ordinal: number; status: EmailStatus }[]
  events: FeedbackEvent[]
  resolved: boolean
  messageId: string
  sentAt: string
  deliveredAt: string | null
  bouncedAt: string | null
  bounceType: string | null
  complainedAt: string | null
  rejected: { code: string; reason: string; at: string } | null
}

/** In order of severity: of several bounces the most severe sets the type. */
const BOUNCE_TYPES = ['Undetermined', 'Transient', 'Permanent']
const ACCEPTED_BY_PROVIDER: EmailStatus[] = ['SENT', 'DELIVERED', 'BOUNCED', 'COMPLAINED']
const GIVEN_UP: EmailStatus[] = ['FAILED', 'DLQ', 'EXPIRED']

/**
 * The facts about one e-mail, in any order and with any repetition, lead to the same state: the highest rank wins, for each
 * recipient and for the e-mail, which shows the status of its `to`. Every fact proves that the message was sent.
 */
export function decideEmail(email: EmailBefore, reported: readonly ReportedFact[]): FeedbackDecision {
  const facts = [...reported].sort(byTime)
  const recipients = email.recipients.filter(one => !one.suppressed).map(one => ({ ...one }))
  const first = facts[0]!
  const decision = unchanged(email, first)
  for (const fact of facts) applyFact(fact, recipients, decision)
  decision.moved = decision.status !== email.status
  decision.resolved = decision.moved && (email.wasUnknown || GIVEN_UP.includes(email.status))
  if (decision.moved && decision.status !== 'REJECTED') markSent(recipients)
  decision.recipients = recipients.filter(
    one => one.status !== email.recipients.find(before => before.ordinal === one.ordinal)!.status,
  )
  if (ACCEPTED_BY_PROVIDER.includes(decision.status) && !ACCEPTED_BY_PROVIDER.includes(email.status))
    addFirst(decision.events, sentEvent(first))
  if (decision.resolved) decision.events.unshift(resolvedEvent(email, first))
  return decision
}

function unchanged({ status }: EmailBefore, { messageId, at }: ReportedFact): FeedbackDecision {
  return {
    status,
    moved: false,
    recipients: [],
    events: [],
    resolved: false,
    messageId,
    sentAt: at,
    deliveredAt: null,
    bouncedAt: null,
    bounceType: null,
    complainedAt: null,
    rejected: null,
  }
}

/** With equal times by rank, so that a complaint comes after the delivery. */
function byTime(a: ReportedFact, b: ReportedFact): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1
  return rankOf(a) - rankOf(b)
}

const rankOf = ({ kind }: ReportedFact) => (kind === 'DELAYED' ? 0 : FEEDBACK_RANK[kind])

function applyFact(fact: ReportedFact, recipients: FeedbackRecipient[], decision: FeedbackDecision): void {
  const addressed = recipientsOf(fact, recipients)
  const status = statusOf(fact)
  for (const one of addressed) one.status = decideFeedback(one.status, status) ?? one.status
  const isAboutTo = addressed.some(one => one.kind === 'to')
  decision.status = decideFeedback(decision.status, isAboutTo ? status : 'SENT') ?? decision.status
  if (isAboutTo) recordDetails(fact, status, decision)
  const event = eventOf(
    fact,
    addressed.map(one => one.address),
  )
  if (event) addOnce(decision.events, event)
}

function addOnce(events: FeedbackEvent[], event: FeedbackEvent): void {
  if (!events.some(({ id }) => id === event.id)) events.push(event)
}

/** A withdrawn complaint or a delay only proves that the message was sent. */
function statusOf(fact: ReportedFact): EmailStatus {
  if (fact.kind === 'DELAYED' || isNotSpam(fact)) return 'SENT'
  return fact.kind
}

/** A bounce may name the address that the mail was forwarded to; if there is only one recipient, it is about that one. */
function recipientsOf({ recipient }: ReportedFact, recipients: FeedbackRecipient[]): FeedbackRecipient[] {
  if (recipient === null) return recipients
  const forms = addressForms(recipient)
  const named = recipients.filter(one => one.address !== null && forms.includes(one.address))
  return named.length === 0 && recipients.length === 1 ? recipients : named
}

/** Providers report `xn--…` where the sender wrote `müller.example`. */
export function addressForms(address: string): string[] {
  const at = address.lastIndexOf('@')
  const domain = domainToUnicode(address.slice(at + 1))
  return domain ? [...new Set([address, `${address.slice(0, at + 1)}${domain}`])] : [address]
}

function recordDetails({ at, metadata }: ReportedFact, status: EmailStatus, decision: FeedbackDecision): void {
  if (status === 'DELIVERED') decision.deliveredAt = earlier(decision.deliveredAt, at)
  if (status === 'COMPLAINED') decision.complainedAt = earlier(decision.complainedAt, at)
  if (status === 'BOUNCED') {
    decision.bouncedAt = earlier(decision.bouncedAt, at)
    decision.bounceType = moreSevereBounce(decision.bounceType, String(metadata.bounceType ?? 'Undetermined'))
  }
  if (status === 'REJECTED') {
    const { errorCode, reason } = metadata
    decision.rejected = {
      code: String(errorCode ?? 'REJECT'),
      reason: String(reason ?? 'Rejected by the provider'),
      at,
    }
  }
}

const earlier = (a: string | null, b: string) => (a !== null && a < b ? a : b)

function moreSevereBounce(a: string | null, b: string): string {
  return a !== null && BOUNCE_TYPES.indexOf(a) >= BOUNCE_TYPES.indexOf(b) ? a : b
}

function markSent(recipients: FeedbackRecipient[]): void {
  for (const one of recipients) one.status = decideFeedback(one.status, 'SENT') ?? one.status
}

function addFirst(events: FeedbackEvent[], event: FeedbackEvent): void {
  if (!events.some(({ type }) => type === event.type)) events.unshift(event)
}

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
