import type { FeedbackEvent } from '../contracts/provider-events/email-events.ts'
import type { EmailEventType } from '../contracts/states.ts'
import type { DecidedEmail } from '../db/feedback/write.ts'
import type { EmailLine, EmailLog } from '../telemetry/email-log.ts'

/** An event that a provider reported, and that was not known before. */
export type ReportedEvent = { email: DecidedEmail['email']; event: FeedbackEvent }

export function reportedEvents(decided: DecidedEmail[], fresh: Set<string>): ReportedEvent[] {
  return decided.flatMap(({ email, decision }) =>
    decision.events.filter(({ id }) => fresh.has(id)).map(event => ({ email, event })),
  )
}

const LINES: Partial<Record<EmailEventType, EmailLine>> = {
  SENT: 'sent',
  DELIVERED: 'delivered',
  BOUNCE: 'bounced',
  COMPLAINT: 'complained',
  REJECTED: 'rejected',
}

export function logReported({ email, event: { type, metadata } }: ReportedEvent, log: EmailLog): void {
  const line = LINES[type]
  if (!line) return
  const { provider, messageId, bounceType, errorCode, processingTimeMs } = metadata
  log(line, email, {
    state: type,
    attempt: email.attempts,
    maxAttempts: email.maxAttempts,
    ...(typeof provider === 'string' && { provider }),
    ...(typeof messageId === 'string' && { messageId }),
    ...(typeof bounceType === 'string' && { bounceType }),
    ...(typeof errorCode === 'string' && { errorCode }),
    ...(typeof processingTimeMs === 'number' && { durationMs: processingTimeMs }),
  })
}
