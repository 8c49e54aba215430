import type { EmailToSend } from '../../outbox/load.ts'
import type { Settlement } from '../../outbox/settle.ts'
import type { Tracing } from '../../platform/telemetry/tracing.ts'
import { hashEmail } from '../../platform/text/hashing.ts'
import { type Attempt, type AttemptDeps, attemptEmail, type ProviderCall } from '../attempt/attempt.ts'
import type { AttemptLog } from '../attempt/observe.ts'
import { attemptNumber, type SettledOutcome } from '../attempt/outcome.ts'
import type { ClaimedEmail } from '../lanes/lane.ts'
import { type AttemptFacts, partialSettlementOf, type SettlementEvent } from './settlement-by-outcome.ts'
import type { SynchronousEvents } from './synchronous-events.ts'

export type SettleDeps = {
  outbox: {
    /** Writes state, events and where the e-mail goes next in one commit. false: the guard did not hold, and nothing was written. */
    write: (settlement: Settlement) => Promise<boolean>
    returnToReady: (outboxId: string) => Promise<unknown>
    /** The same, as soon as nobody else is changing it. Nothing happens to what has ended or was started by another worker. */
    returnWhenUnlocked: (outboxId: string) => Promise<unknown>
    /** Keeps what the provider reported with its answer, for the feedback step. */
    storeEvents: (sent: SynchronousEvents) => Promise<unknown>
  }
  count: {
    /** Recipients, for the company's reputation. */
    sent: (companyId: string, recipients: number) => void
    /** For /metrics: what was written, and how long the attempt took. */
    settled: (settlement: Settlement, durationMs: number) => void
  }
  wake: {
    /** After events of the provider were stored. */
    feedback: () => void
    /** After a write, which may have enqueued webhooks. */
    webhooks: () => void
  }
  log: AttemptLog
  tracing: Tracing
}

/** Steps 3 and 4. Both lanes call this with every e-mail they have leased. If it throws, the lane frees its slot, and the lease of the e-mail expires. */
export async function attemptAndSettle(
  claimed: ClaimedEmail,
  deps: { attempt: AttemptDeps; settle: SettleDeps },
): Promise<void> {
  const attempt = await attemptEmail(claimed, deps.attempt)
  // The call is over: the direct lane takes the next e-mail while this outcome is written. The BullMQ lane waits for the end of the job.
  claimed.leaveFlight()
  const settle = () => settleEmail(claimed, attempt, deps.settle)
  await deps.settle.tracing.traced('settle', claimed.email?.traceparent, settle, () => ({
    outboxId: claimed.outboxId,
    outcome: attempt.outcome.kind,
  }))
}

/** Step 4: write the outcome (`Outcome` in attempt/outcome.ts): sent, retry, dead, unknown, postponed, back to ready and so on. */
async function settleEmail(claimed: ClaimedEmail, attempt: Attempt, deps: SettleDeps): Promise<void> {
  const { outcome, call } = attempt
  const email = claimed.email
  if (!email) return deps.log.notOurs(claimed)
  if (outcome.kind === 'not-ours') return returnNotOurs(claimed, deps)
  if (outcome.kind === 'back-to-ready') return void (await deps.outbox.returnToReady(claimed.outboxId))
  const facts = factsOf(claimed, email, outcome, attempt)
  const settlement = toSettlement(outcome, facts)

  // Before the outcome: once it is written, nobody asks the provider for these events again.
  const hasEvents = await storeEvents(email, outcome, call, deps)
  if (await deps.outbox.write(settlement)) {
    deps.log.settled(email, outcome, facts)
    afterWrite(email, outcome, settlement, facts, deps)
  } else if (call) await settleLate(email, outcome, settlement, facts, deps)
  else await returnNotOurs(claimed, deps)
  if (hasEvents) deps.wake.feedback()
}

/** Whoever has locked the e-mail may leave it as it is: then it still waits, and nobody else would come back to it. */
async function returnNotOurs(claimed: ClaimedEmail, deps: SettleDeps): Promise<void> {
  await deps.outbox.returnWhenUnlocked(claimed.outboxId)
  deps.log.notOurs(claimed)
}

function factsOf(
  { outboxId, leaseId }: ClaimedEmail,
  email: EmailToSend,
  outcome: SettledOutcome,
  { call, durationMs }: Attempt,
): AttemptFacts {
  const { requestId, attempts: attemptsBefore, maxAttempts } = email
  const facts = { outboxId, requestId, attemptsBefore, maxAttempts, durationMs }
  if (!call)
    return {
      ...facts,
      guard: { kind: 'claimed', leaseId },
      // An e-mail that expires spends no attempt.
      attempt: outcome.kind === 'expired' ? attemptsBefore : Math.min(attemptsBefore + 1, maxAttempts),
    }
  const { attemptId, provider } = call
  return {
    ...facts,
    guard: { kind: 'started', leaseId },
    attempt: attemptNumber(email),
    attemptId,
    provider,
    isUnresolved: email.unresolvedAttempt !== null,
    suppressedHashes: call.suppressed.map(one => hashEmail(one.address)),
  }
}

async function storeEvents(
  { outboxId }: EmailToSend,
  outcome: SettledOutcome,
  call: ProviderCall | null,
  deps: SettleDeps,
): Promise<boolean> {
  if (outcome.kind !== 'sent' || !call || call.events.length === 0) return false
  const { provider, attemptId, events } = call
  await deps.outbox.storeEvents({ provider, outboxId, attemptId, messageId: outcome.messageId, events })
  return true
}

function afterWrite(
  email: EmailToSend,
  outcome: SettledOutcome,
  settlement: Settlement,
  facts: AttemptFacts,
  deps: SettleDeps,
): void {
  // E-mails of test keys are no part of a reputation: they never leave the gateway.
  if (outcome.kind === 'sent' && !email.test)
    deps.count.sent(email.companyId, email.recipients.filter(one => !one.suppressed).length)
  deps.count.settled(settlement, facts.durationMs)
  deps.wake.webhooks()
}

/**
 * The lease was lost while the provider was called. If the e-mail is an unknown send by now, this answer is the evidence that
 * resolves it. Otherwise a provider event came first, or another worker went on with it, and nothing is written.
 */
async function settleLate(
  email: EmailToSend,
  outcome: SettledOutcome,
  settlement: Settlement,
  facts: AttemptFacts,
  deps: SettleDeps,
): Promise<void> {
  // Neither an unknown outcome is evidence, nor the refusal to say what became of an attempt.
  if (settlement.status === 'UNKNOWN' || settlement.sameAttempt) return deps.log.leaseLost(email, facts)
  const resolved = settlement.events.some(event => event.type === 'RESOLVED')
    ? settlement
    : resolvedLate(settlement, facts)
  const isResolved = await deps.outbox.write({ ...resolved, guard: { kind: 'unknown', attemptId: facts.attemptId! } })
  if (!isResolved) return deps.log.leaseLost(email, facts)
  deps.log.late(email, facts, settlement.status)
  afterWrite(email, outcome, settlement, facts, deps)
}

function resolvedLate(settlement: Settlement, { attemptId }: AttemptFacts): Settlement {
  const by = 'late-answer'
  const events: Settlement['events'] = [{ type: 'RESOLVED', metadata: { by, attemptId } }, ...settlement.events]
  return { ...settlement, events, count: ['unknown_resolved', by] }
}

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
