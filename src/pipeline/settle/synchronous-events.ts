import type { IncomingEvent } from '../../outbox/provider-events.ts'
import type { ProviderEvent } from '../../providers/provider.ts'
import type { OwnReport } from '../../providers/report.ts'

/** What a provider reported about single recipients together with its answer. */
export type SynchronousEvents = {
  provider: string
  outboxId: string
  attemptId: string
  messageId: string
  events: ProviderEvent[]
}

/** For the table of provider events. Asked again about the same attempt, the provider reports the same: the ids are the same, too. */
export function toIncomingEvents(sent: SynchronousEvents): IncomingEvent[] {
  const { provider, outboxId, attemptId, messageId, events } = sent
  return events.map((event, index) => ({
    provider: provider === 'smtp' ? 'smtp' : 'capture',
    externalId: `${attemptId}:${index}`,
    payload: JSON.stringify({ outboxId, attemptId, messageId, ...event } satisfies OwnReport),
  }))
}
