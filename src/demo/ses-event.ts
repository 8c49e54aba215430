import type { IncomingEvent } from '../db/feedback/provider-events.ts'
import type { OutgoingMessage, ProviderEvent } from '../providers/provider.ts'

/** The form of Amazon SES. The same message of the inbox has the same id. */
export const sesMessageId = (capturedId: string) => `0100${capturedId.replace('capture-', '')}-000000`

/** An event as Amazon SES publishes it. */
export function sesEvent(message: OutgoingMessage, messageId: string, event: ProviderEvent): IncomingEvent {
  const { outboxId, attemptId } = message
  const timestamp = new Date().toISOString()
  const mail = {
    messageId,
    timestamp,
    destination: [...message.to, ...message.cc, ...message.bcc],
    tags: { outbox_id: [outboxId], attempt_id: [attemptId] },
  }
  return {
    provider: 'ses',
    externalId: `${attemptId}:${event.kind}:${event.recipient}`,
    payload: JSON.stringify({ mail, ...detailsOf(event, timestamp) }),
  }
}

function detailsOf({ kind, recipient, metadata }: ProviderEvent, timestamp: string) {
  const { diagnosticCode, feedbackType, ...facts } = metadata
  switch (kind) {
    case 'DELIVERED':
      return { eventType: 'Delivery', delivery: { timestamp, recipients: [recipient], ...facts } }
    case 'BOUNCED':
      return {
        eventType: 'Bounce',
        bounce: { timestamp, bouncedRecipients: [{ emailAddress: recipient, diagnosticCode }], ...facts },
      }
    case 'COMPLAINED':
      return {
        eventType: 'Complaint',
        complaint: {
          timestamp,
          complainedRecipients: [{ emailAddress: recipient }],
          complaintFeedbackType: feedbackType,
          ...facts,
        },
      }
  }
}
