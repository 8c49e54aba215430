import type { Settlement } from '../db/outbox/settle.ts'
import type { SettledOutcome } from './outcome.ts'
import { type AttemptFacts, partialSettlementOf, type SettlementEvent } from './partial-settlements.ts'

/** What is written for each outcome: the state, its events in order, and where the e-mail goes next. */
export function toSettlement(outcome: SettledOutcome, facts: AttemptFacts): Settlement {
  const { outboxId, guard, leftOut = [] } = facts
  const { attempts = facts.attempt, events, ...rest } = partialSettlementOf(outcome, facts)
  const resolved = resolvedNow(outcome, facts)
  return {
    outboxId,
    guard,
    attempts,
    ...rest,
    ...(leftOut.length > 0 && { leftOut: leftOut.map(one => one.ordinal) }),
    ...(resolved.length > 0 && { count: ['unknown_resolved', 'idempotency-key'] as [string, string] }),
    events: [...receivedNow(outcome, facts), ...resolved, ...events],
  }
}

/** RECEIVED is written with the start; an e-mail that ends without one has none yet. */
function receivedNow({ kind }: SettledOutcome, { guard, attempt, requestId }: AttemptFacts): SettlementEvent[] {
  return 'waiting' in guard && kind !== 'cannot-ask' ? [{ type: 'RECEIVED', metadata: { attempt, requestId } }] : []
}

function resolvedNow({ kind }: SettledOutcome, { isUnresolved, attemptId }: AttemptFacts): SettlementEvent[] {
  if (!isUnresolved || kind === 'unknown' || kind === 'parked') return []
  return [{ type: 'RESOLVED', metadata: { by: 'idempotency-key', attemptId } }]
}
