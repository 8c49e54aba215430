import { type EmailEventType, type EmailStatus, mayMove } from '../../src/contracts/states.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into metadata of every form
export type OrderedEvent = { type: EmailEventType; metadata: any }

/** What may come next. Everything else is a late write that should have hit nothing, or one that was lost. */
const NEXT: Partial<Record<EmailEventType, EmailEventType[]>> = {
  QUEUED: ['RECEIVED', 'CANCELLED', 'EXPIRED'],
  // RETRY_SCHEDULED at once: the worker was lost before it sent anything.
  RECEIVED: ['VALIDATED', 'VALIDATION_FAILED', 'RETRY_SCHEDULED', 'REJECTED', 'FAILED', 'EXPIRED'],
  VALIDATED: ['SENT_ATTEMPT'],
  VALIDATION_FAILED: ['FAILED'],
  SENT_ATTEMPT: ['SENT', 'RETRY_SCHEDULED', 'UNKNOWN', 'REJECTED', 'FAILED'],
  RETRY_SCHEDULED: ['RECEIVED', 'CANCELLED', 'EXPIRED'],
  UNKNOWN: ['RESOLVED'],
  RESOLVED: ['RECEIVED', 'SENT', 'RETRY_SCHEDULED', 'REJECTED', 'FAILED'],
  REJECTED: ['DLQ_MOVED'],
  FAILED: ['DLQ_MOVED'],
}

/** The statuses that events bring with them. The status of a dead letter follows from the event before it. */
function statusAfter({ type, metadata }: OrderedEvent, next: OrderedEvent | undefined): EmailStatus | null {
  if (type === 'QUEUED') return 'PENDING'
  if (type === 'SENT_ATTEMPT') return 'PROCESSING'
  if (type === 'RETRY_SCHEDULED') return metadata.parked ? 'PENDING' : 'RETRY_SCHEDULED'
  if (type === 'RESOLVED') return next?.type === 'RECEIVED' ? 'PENDING' : null
  if (type === 'FAILED') return null
  const own: EmailEventType[] = ['UNKNOWN', 'SENT', 'REJECTED', 'EXPIRED', 'CANCELLED']
  return own.includes(type) ? (type as EmailStatus) : null
}

/** The steps in the events of an e-mail that nothing allows, in words. */
export function illegalSteps(status: string, events: OrderedEvent[]): string[] {
  const wrong: string[] = []
  if (events[0]?.type !== 'QUEUED') wrong.push(`begins with ${events[0]?.type}`)
  let now: EmailStatus = 'PENDING'
  events.forEach((event, place) => {
    const next = events[place + 1]
    if (next && !NEXT[event.type]?.includes(next.type)) wrong.push(`${event.type} → ${next.type}`)
    const after = statusAfter(event, next)
    if (place === 0 || !after || after === now) return
    if (!mayMove(now, after)) wrong.push(`${now} → ${after}`)
    now = after
  })
  if (!['FAILED', 'DLQ'].includes(status) && now !== status) wrong.push(`events say ${now}, is ${status}`)
  return wrong
}
