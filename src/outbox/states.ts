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

/** Transitions between event types, as published in the contract. STATUS_TRANSITIONS below is what the gateway does. */
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

/** Provider events arrive in any order: the highest rank wins. REJECTED is above SENT because SES rejects after it reported the send. */
export const FEEDBACK_RANK = { SENT: 1, REJECTED: 2, BOUNCED: 3, DELIVERED: 4, COMPLAINED: 5 } as const
export type FeedbackStatus = keyof typeof FEEDBACK_RANK

const ANY_FEEDBACK = ['SENT', 'REJECTED', 'BOUNCED', 'DELIVERED', 'COMPLAINED'] as const

/**
 * The moves that the SQL statements make, each guarded by the status it leaves. Nothing reads this table at run time: tests compare
 * every move that the gateway made with it.
 *
 * A provider event proves that an attempt reached the provider, so it also moves an e-mail that is waiting or dead by now
 * (resent after UNKNOWN, or a hold that expired): if it stayed replayable, a replay would send it twice. The gateway itself sets
 * SENT, and REJECTED when the provider refuses the e-mail or every recipient is suppressed.
 */
export const STATUS_TRANSITIONS: Readonly<Record<EmailStatus, readonly EmailStatus[]>> = {
  // RETRY_SCHEDULED: its worker was lost before it started an attempt. This and DLQ: mark_email_failed() records a failure reported by the
  // caller. UNKNOWN: the call of an earlier attempt cannot be repeated.
  PENDING: ['PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN', 'CANCELLED', 'EXPIRED', 'FAILED', 'DLQ', ...ANY_FEEDBACK],
  // PENDING: the provider was parked by its answer, so that no attempt is spent.
  PROCESSING: ['PENDING', 'RETRY_SCHEDULED', 'UNKNOWN', 'FAILED', 'DLQ', ...ANY_FEEDBACK],
  // The status stays until the retry is started, also when its time has come.
  RETRY_SCHEDULED: ['PENDING', 'PROCESSING', 'CANCELLED', 'EXPIRED', 'FAILED', 'DLQ', ...ANY_FEEDBACK],
  // PENDING: onUnknown is resend, or an idempotent provider is called again with the same attempt. RETRY_SCHEDULED: a late answer refuses
  // it for now. FAILED: onUnknown is hold and it has expired. DLQ: no attempts left. See docs/sending.md.
  UNKNOWN: ['PENDING', 'RETRY_SCHEDULED', 'FAILED', 'DLQ', ...ANY_FEEDBACK],
  SENT: ['REJECTED', 'BOUNCED', 'DELIVERED', 'COMPLAINED'],
  BOUNCED: ['DELIVERED', 'COMPLAINED'],
  DELIVERED: ['COMPLAINED'],
  COMPLAINED: [],
  // From a final status, PENDING is a replay (event REPLAYED).
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

/** A PROCESSING or UNKNOWN e-mail may already have left the gateway. */
export const CANCELLABLE_STATUSES = ['PENDING', 'RETRY_SCHEDULED'] as const satisfies readonly EmailStatus[]

export function mayMove(from: EmailStatus, to: EmailStatus): boolean {
  return STATUS_TRANSITIONS[from].includes(to)
}

/** `sentIsFinal`: provider events are not configured, so nothing follows SENT. */
export function isFinal(status: EmailStatus, sentIsFinal = false): boolean {
  return (FINAL_STATUSES as readonly EmailStatus[]).includes(status) || (sentIsFinal && status === 'SENT')
}

/** The new status, or null when the event changes nothing (it is recorded anyway). */
export function decideFeedback(current: EmailStatus, incoming: EmailStatus): EmailStatus | null {
  return rank(incoming) > rank(current) ? incoming : null
}

function rank(status: EmailStatus): number {
  return Object.hasOwn(FEEDBACK_RANK, status) ? FEEDBACK_RANK[status as FeedbackStatus] : 0
}
