import { hashEmail } from '../contracts/hashing.ts'
import {
  decideFeedback,
  EMAIL_STATUSES,
  type EmailEventType,
  type EmailStatus,
  type FeedbackStatus,
} from '../contracts/states.ts'
import { type Feedback, putFeedback } from '../db/feedback.ts'
import type { Queryable } from '../db/pool.ts'
import type { ProviderEvent } from '../providers/provider.ts'

const EVENT_TYPE: Record<ProviderEvent['kind'], EmailEventType> = {
  DELIVERED: 'DELIVERED',
  BOUNCED: 'BOUNCE',
  COMPLAINED: 'COMPLAINT',
}

/** Step 4 of the line: what the provider says became of an e-mail. */
export async function recordFeedback(
  db: Queryable,
  outboxId: string,
  messageId: string,
  event: ProviderEvent,
): Promise<void> {
  const recipientHash = hashEmail(event.recipient)
  await putFeedback(db, {
    outboxId,
    messageId,
    status: event.kind,
    outranks: outrankedBy(event.kind),
    unsent: outrankedBy('SENT'),
    type: EVENT_TYPE[event.kind],
    recipient: event.recipient,
    metadata: { ...event.metadata, messageId, recipientHash },
  } satisfies Feedback)
}

function outrankedBy(incoming: FeedbackStatus): EmailStatus[] {
  return EMAIL_STATUSES.filter(current => decideFeedback(current, incoming) === incoming)
}
