import type { Settlement } from '../db/outbox/settle.ts'
import type { SettledOutcome } from './outcome.ts'
import { type AttemptFacts, partialSettlementOf, type SettlementEvent } from './settlement-by-outcome.ts'

/** What is written for each outcome: the state, its events in order, and where the e-mail goes next. */
export function toSettlement(outcome: SettledOutcome, facts: AttemptFacts): Settlement {
  const { outboxId, guard } = facts
  const { attempts = facts.attempt, events, ...rest } = partialSettlementOf(outcome, facts)
  const resolved = resolvedNow(outcome, facts)
  return {
    outboxId,
    guard,
    attempts,
    ...rest,
    ...(resolved && { count: ['unknown_resolved', resolved] as [string, string] }),
    events: [
      ...receivedNow(outcome, facts),
      ...(resolved ? [{ type: 'RESOLVED' as const, metadata: { by: resolved, attemptId: facts.attemptId } }] : []),
      ...events,
    ],
  }
}

/** RECEIVED is written with the start; an e-mail that ends without one has none yet. */
function receivedNow({ kind }: SettledOutcome, { guard, attempt, requestId }: AttemptFacts): SettlementEvent[] {
  return guard.kind === 'claimed' && kind !== 'cannot-repeat'
    ? [{ type: 'RECEIVED', metadata: { attempt, requestId } }]
    : []
}

/** What resolved the unknown outcome of an attempt whose call was repeated; null: nothing did, or no call was repeated. */
function resolvedNow({ kind }: SettledOutcome, { isUnresolved }: AttemptFacts): 'idempotency-key' | 'given-up' | null {
  if (!isUnresolved || kind === 'unknown' || kind === 'parked') return null
  return kind === 'dead' ? 'given-up' : 'idempotency-key'
}
