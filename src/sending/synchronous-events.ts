import type { OwnReport } from '../contracts/provider-events/read.ts'
import type { IncomingEvent } from '../db/feedback/provider-events.ts'
import type { OutgoingMessage, ProviderEvent } from '../providers/provider.ts'

export type ReportsOfSend = {
  provider: string
  message: Pick<OutgoingMessage, 'outboxId' | 'attemptId'>
  messageId: string
  events: ProviderEvent[]
}

/** For the inbox. The attempt names them: asked about the same attempt again, the provider says the same again. */
export function reportsOf({ provider, message, messageId, events }: ReportsOfSend): IncomingEvent[] {
  const { outboxId, attemptId } = message
  return events.map((event, place) => ({
    provider: provider === 'smtp' ? 'smtp' : 'capture',
    externalId: `${attemptId}:${place}`,
    payload: JSON.stringify({ outboxId, attemptId, messageId, ...event } satisfies OwnReport),
  }))
}
