import { domainToUnicode } from 'node:url'
import { hashEmail } from '../hashing.ts'
import { decideFeedback, type EmailEventType, type EmailStatus, FEEDBACK_RANK } from '../states.ts'
import { uuidOf } from '../uuid.ts'
import type { ReportItem } from './event.ts'

export type FeedbackRecipient = {
  ordinal: number
  kind: 'to' | 'cc' | 'bcc'
  /** Lower case; null once the person was erased. */
  address: string | null
  status: EmailStatus
  /** Left out: nothing was sent there. */
  suppressed: boolean
}

/** An e-mail as it is when reports about it are taken in; its row is locked. */
export type EmailBefore = {
  outboxId: string
  status: EmailStatus
  attemptId: string | null
  /** Whether it had left was not known. */
  doubted: boolean
  recipients: FeedbackRecipient[]
}

/** One thing said about it, by whom and of which message. */
export type Said = ReportItem & { at: string; provider: string; messageId: string; attemptId: string | null }

export type FeedbackEvent = {
  /** The same for the same fact, however often and in whichever message it is told. */
  id: string
  type: EmailEventType
  metadata: Record<string, unknown>
  /** What it means for whoever was addressed; only when the event is new. */
  effect: { kind: 'HARD_BOUNCE' | 'COMPLAINT'; emailHash: string } | null
}

/** What becomes of the e-mail. Moments are the provider's, of its `to`; null leaves a column as it is. */
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

const EVENT_TYPES: Partial<Record<ReportItem['kind'], EmailEventType>> = {
  DELIVERED: 'DELIVERED',
  BOUNCED: 'BOUNCE',
  COMPLAINED: 'COMPLAINT',
  REJECTED: 'REJECTED',
  SENT: 'SENT',
}
/** What the source documents call the moment. */
const MOMENTS: Partial<Record<ReportItem['kind'], string>> = {
  SENT: 'sentAt',
  DELIVERED: 'deliveredAt',
  BOUNCED: 'bouncedAt',
  COMPLAINED: 'complaintAt',
  REJECTED: 'rejectedAt',
}
/** Of several bounces the gravest names the type. */
const BOUNCE_TYPES = ['Undetermined', 'Transient', 'Permanent']
const AWAY: EmailStatus[] = ['SENT', 'DELIVERED', 'BOUNCED', 'COMPLAINED']
const GIVEN_UP: EmailStatus[] = ['FAILED', 'DLQ', 'EXPIRED']

/**
 * All that is said about one e-mail, in any order and any number of times, ends in one state: the highest rank wins (decision 18),
 * for each recipient and for the e-mail, which shows its `to`. Anything said is evidence that the message had left.
 */
export function decideEmail(email: EmailBefore, told: readonly Said[]): FeedbackDecision {
  const said = [...told].sort(byTime)
  const recipients = email.recipients.filter(one => !one.suppressed).map(one => ({ ...one }))
  const first = said[0]!
  const decision: FeedbackDecision = {
    status: email.status,
    moved: false,
    recipients: [],
    events: [],
    resolved: false,
    messageId: first.messageId,
    sentAt: first.at,
    deliveredAt: null,
    bouncedAt: null,
    bounceType: null,
    complainedAt: null,
    rejected: null,
  }
  for (const one of said) takeIn(one, recipients, decision)
  decision.moved = decision.status !== email.status
  decision.resolved = decision.moved && (email.doubted || GIVEN_UP.includes(email.status))
  if (decision.moved && decision.status !== 'REJECTED') markSent(recipients)
  decision.recipients = recipients.filter(
    one => one.status !== email.recipients.find(before => before.ordinal === one.ordinal)!.status,
  )
  if (AWAY.includes(decision.status) && !AWAY.includes(email.status)) addFirst(decision.events, departure(first))
  if (decision.resolved) decision.events.unshift(resolution(email, first))
  return decision
}

/** As it happened; a complaint of the same moment comes after the delivery. */
function byTime(a: Said, b: Said): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1
  return rankOf(a) - rankOf(b)
}

const rankOf = ({ kind }: Said) => (kind === 'DELAYED' ? 0 : FEEDBACK_RANK[kind])

function takeIn(said: Said, recipients: FeedbackRecipient[], decision: FeedbackDecision): void {
  const addressed = whomItConcerns(said, recipients)
  const status = meaningOf(said)
  for (const one of addressed) one.status = decideFeedback(one.status, status) ?? one.status
  const ofTo = addressed.some(one => one.kind === 'to')
  decision.status = decideFeedback(decision.status, ofTo ? status : 'SENT') ?? decision.status
  if (ofTo) note(said, status, decision)
  const type = EVENT_TYPES[said.kind]
  if (type) addOnce(decision.events, eventOf(said, type, addressed))
}

function addOnce(events: FeedbackEvent[], event: FeedbackEvent): void {
  if (!events.some(({ id }) => id === event.id)) events.push(event)
}

/** A complaint taken back, or a delay, says nothing but that the message had left. */
function meaningOf(said: Said): EmailStatus {
  if (said.kind === 'DELAYED' || isNotSpam(said)) return 'SENT'
  return said.kind
}

const isNotSpam = ({ kind, metadata }: Said) => kind === 'COMPLAINED' && metadata.feedbackType === 'not-spam'

/** A bounce may name the address that the mail was forwarded to: with one recipient it is that one's all the same. */
function whomItConcerns({ recipient }: Said, recipients: FeedbackRecipient[]): FeedbackRecipient[] {
  if (recipient === null) return recipients
  const forms = addressForms(recipient)
  const named = recipients.filter(one => one.address !== null && forms.includes(one.address))
  return named.length === 0 && recipients.length === 1 ? recipients : named
}

/** Providers speak of `xn--…`, the sender wrote `müller.example`. */
export function addressForms(address: string): string[] {
  const at = address.lastIndexOf('@')
  const domain = domainToUnicode(address.slice(at + 1))
  return domain ? [...new Set([address, `${address.slice(0, at + 1)}${domain}`])] : [address]
}

function note(said: Said, status: EmailStatus, decision: FeedbackDecision): void {
  const { at, metadata } = said
  if (status === 'DELIVERED') decision.deliveredAt = earlier(decision.deliveredAt, at)
  if (status === 'COMPLAINED') decision.complainedAt = earlier(decision.complainedAt, at)
  if (status === 'BOUNCED') {
    decision.bouncedAt = earlier(decision.bouncedAt, at)
    decision.bounceType = graverBounce(decision.bounceType, String(metadata.bounceType ?? 'Undetermined'))
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

function graverBounce(a: string | null, b: string): string {
  return a !== null && BOUNCE_TYPES.indexOf(a) >= BOUNCE_TYPES.indexOf(b) ? a : b
}

function markSent(recipients: FeedbackRecipient[]): void {
  for (const one of recipients) one.status = decideFeedback(one.status, 'SENT') ?? one.status
}

function eventOf(said: Said, type: EmailEventType, addressed: FeedbackRecipient[]): FeedbackEvent {
  const { provider, messageId, attemptId, feedbackId, recipient } = said
  const emailHash =
    recipient === null ? null : hashEmail(addressed.length === 1 ? (addressed[0]!.address ?? recipient) : recipient)
  const { processingTimeMs } = said.metadata
  return {
    id: uuidOf(
      [provider.split(':')[0], messageId, type, feedbackId ?? '', gravityOf(said), emailHash ?? ''].join('\n'),
    ),
    type,
    metadata: {
      ...said.metadata,
      [MOMENTS[said.kind] ?? 'at']: said.at,
      ...(processingTimeMs !== undefined && { durationMs: processingTimeMs }),
      messageId,
      sesMessageId: messageId,
      provider,
      ...(attemptId && { attemptId }),
      ...(emailHash && { recipientHash: emailHash }),
    },
    effect: emailHash === null ? null : effectOf(said, emailHash),
  }
}

/** A bounce for good after a passing one, or a complaint after one that was taken back, is another fact. */
function gravityOf(said: Said): string {
  if (said.kind === 'BOUNCED') return String(said.metadata.bounceType ?? 'Undetermined')
  return isNotSpam(said) ? 'not-spam' : ''
}

function effectOf(said: Said, emailHash: string): FeedbackEvent['effect'] {
  if (said.kind === 'BOUNCED' && said.metadata.bounceType === 'Permanent') return { kind: 'HARD_BOUNCE', emailHash }
  if (said.kind === 'COMPLAINED' && !isNotSpam(said)) return { kind: 'COMPLAINT', emailHash }
  return null
}

/** The event overtook the answer, or the answer was lost: that it was sent is told all the same, and before what came of it. */
function departure({ messageId, provider, at, attemptId }: Said): FeedbackEvent {
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

function addFirst(events: FeedbackEvent[], event: FeedbackEvent): void {
  if (!events.some(({ type }) => type === event.type)) events.unshift(event)
}

function resolution(email: EmailBefore, said: Said): FeedbackEvent {
  const { outboxId, status: from, attemptId } = email
  const event = EVENT_TYPES[said.kind] ?? said.kind
  return {
    id: uuidOf(['resolved', outboxId, said.messageId, attemptId ?? '', from].join('\n')),
    type: 'RESOLVED',
    metadata: { by: 'provider-event', from, event, attemptId },
    effect: null,
  }
}
