export const EMAIL_STATUSES = [
  'PENDING',
  'PROCESSING',
  'RETRY_SCHEDULED',
  'UNKNOWN',
  'SENT',
  'DELIVERED',
  'BOUNCED',
  'COMPLAINED',
  'REJECTED',
  'FAILED',
  'DLQ',
  'EXPIRED',
  'CANCELLED',
] as const
export type EmailStatus = (typeof EMAIL_STATUSES)[number]

export const EMAIL_EVENT_TYPES = [
  'QUEUED',
  'RECEIVED',
  'VALIDATED',
  'VALIDATION_FAILED',
  'SENT_ATTEMPT',
  'SENT',
  'FAILED',
  'RETRY_SCHEDULED',
  'DELIVERED',
  'BOUNCE',
  'COMPLAINT',
  'REJECTED',
  'DLQ_MOVED',
  'EXPIRED',
  'CANCELLED',
  'REPLAYED',
  'UNKNOWN',
  'RESOLVED',
] as const
export type EmailEventType = (typeof EMAIL_EVENT_TYPES)[number]

/** Seed 004 §2.3, verbatim, plus DELIVERED → COMPLAINT (decision 18). STATUS_TRANSITIONS is what the gateway enforces. */
export const VALID_TRANSITIONS: Readonly<Record<string, readonly string[]>> = {
  QUEUED: ['SENT', 'REJECTED', 'DLQ_MOVED'],
  SENT: ['DELIVERED', 'BOUNCE', 'COMPLAINT'],
  DELIVERED: ['COMPLAINT'],
  BOUNCE: [],
  COMPLAINT: [],
  REJECTED: [],
  DLQ_MOVED: [],
}

export function validateTransition(currentStatus: string, newStatus: string): boolean {
  return Object.hasOwn(VALID_TRANSITIONS, currentStatus) && VALID_TRANSITIONS[currentStatus]!.includes(newStatus)
}

/** What providers report. A higher rank wins whatever the order of arrival (decision 18); a Reject follows its Send. */
export const FEEDBACK_RANK = { SENT: 1, REJECTED: 2, BOUNCED: 3, DELIVERED: 4, COMPLAINED: 5 } as const
export type FeedbackStatus = keyof typeof FEEDBACK_RANK

const ANY_FEEDBACK = ['SENT', 'REJECTED', 'BOUNCED', 'DELIVERED', 'COMPLAINED'] as const

/**
 * A provider's event is evidence that some attempt did reach it, so it also moves an e-mail that we meanwhile believed
 * waiting or dead (resent after UNKNOWN, a hold that ran out): leaving that one replayable would invite the duplicate.
 * SENT and REJECTED are our own moves as well; REJECTED then means refused by the provider or suppressed (decision 21).
 */
export const STATUS_TRANSITIONS: Readonly<Record<EmailStatus, readonly EmailStatus[]>> = {
  // RETRY_SCHEDULED and DLQ from a waiting row: mark_email_failed() counts a failure that the caller saw. UNKNOWN: the provider
  // that was to be asked about an attempt is parked.
  PENDING: ['PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN', 'CANCELLED', 'EXPIRED', 'FAILED', 'DLQ', ...ANY_FEEDBACK],
  // PENDING: parked by an open breaker, handed back at shutdown, or the lease ran out before SENT_ATTEMPT.
  PROCESSING: ['PENDING', 'RETRY_SCHEDULED', 'UNKNOWN', 'EXPIRED', 'FAILED', 'DLQ', ...ANY_FEEDBACK],
  // PENDING: the retry has fallen due, or was brought forward by process_pending_emails_for_retry().
  RETRY_SCHEDULED: ['PENDING', 'PROCESSING', 'CANCELLED', 'EXPIRED', 'FAILED', 'DLQ', ...ANY_FEEDBACK],
  // PENDING: onUnknown says resend. FAILED: held until expires_at (decision 34). DLQ: no attempt left to resend with.
  UNKNOWN: ['PENDING', 'FAILED', 'DLQ', ...ANY_FEEDBACK],
  SENT: ['REJECTED', 'BOUNCED', 'DELIVERED', 'COMPLAINED'],
  BOUNCED: ['DELIVERED', 'COMPLAINED'],
  DELIVERED: ['COMPLAINED'],
  COMPLAINED: [],
  // PENDING out of an end is the replay, with event REPLAYED (decisions 2 and 9).
  REJECTED: ['PENDING', 'BOUNCED', 'DELIVERED', 'COMPLAINED'],
  FAILED: ['PENDING', ...ANY_FEEDBACK],
  DLQ: ['PENDING', ...ANY_FEEDBACK],
  EXPIRED: ['PENDING', ...ANY_FEEDBACK],
  CANCELLED: [...ANY_FEEDBACK],
}

export const FINAL_STATUSES = [
  'DELIVERED',
  'BOUNCED',
  'COMPLAINED',
  'REJECTED',
  'FAILED',
  'DLQ',
  'EXPIRED',
  'CANCELLED',
] as const satisfies readonly EmailStatus[]

export const REPLAYABLE_STATUSES = ['REJECTED', 'FAILED', 'DLQ', 'EXPIRED'] as const satisfies readonly EmailStatus[]

/** Nothing of it may have left: a PROCESSING or UNKNOWN e-mail can no longer be called back. */
export const CANCELLABLE_STATUSES = ['PENDING', 'RETRY_SCHEDULED'] as const satisfies readonly EmailStatus[]

export function mayMove(from: EmailStatus, to: EmailStatus): boolean {
  return STATUS_TRANSITIONS[from].includes(to)
}

/** `sentIsFinal`: no provider events are set up, so nothing comes after SENT (seed 004 §2.2). */
export function isFinal(status: EmailStatus, sentIsFinal = false): boolean {
  return (FINAL_STATUSES as readonly EmailStatus[]).includes(status) || (sentIsFinal && status === 'SENT')
}

/** The status to move to, or null when the report changes nothing (it is recorded all the same). */
export function decideFeedback(current: EmailStatus, incoming: EmailStatus): EmailStatus | null {
  return rank(incoming) > rank(current) ? incoming : null
}

function rank(status: EmailStatus): number {
  return Object.hasOwn(FEEDBACK_RANK, status) ? FEEDBACK_RANK[status as FeedbackStatus] : 0
}
