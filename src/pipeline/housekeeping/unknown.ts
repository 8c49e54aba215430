import { type Settlement, settleAttempts } from '../../outbox/settle.ts'
import { decideUnknown, type UnknownDecision } from '../../outbox/unknown.ts'
import {
  forgetResolvedSends,
  holdUnknownSends,
  listDueUnknownSends,
  type UnknownSend,
} from '../../outbox/unknown-sends.ts'
import type { Queryable } from '../../platform/postgres/query.ts'
import { OUTCOME_UNKNOWN } from '../attempt/outcome.ts'

/** Sends whose outcome nobody could tell in time: each has its call repeated, is sent again, held, or given up, as its policy wants. */
export async function resolveUnknownSends(
  db: Queryable,
  idempotentProviders: string[],
  onGivenUp: (outboxIds: string[]) => Promise<unknown> = async () => {},
): Promise<number> {
  const due = await listDueUnknownSends(db)
  const decided = due.map(send => ({
    send,
    decision: decideUnknown({ ...send, recognised: idempotentProviders.includes(send.provider) }),
  }))
  const held = decided.filter(one => one.decision.kind === 'hold')
  await holdUnknownSends(
    db,
    held.map(one => one.send.outboxId),
  )
  const moved = decided.flatMap(({ send, decision }) => settlementOfDecision(send, decision) ?? [])
  const written = moved.length > 0 ? await settleAttempts(db, moved) : []
  await onGivenUp(moved.filter((one, place) => one.dead && written[place]).map(one => one.outboxId))
  await forgetResolvedSends(db)
  return moved.length
}

function settlementOfDecision(send: UnknownSend, decision: UnknownDecision): Settlement | null {
  const { outboxId, attemptId, attempts } = send
  const base = { outboxId, guard: { kind: 'unknown' as const, attemptId }, attempts }
  const resolved = (by: string) => ({
    type: 'RESOLVED' as const,
    metadata: { by, attemptId, attempt: attempts },
  })
  switch (decision.kind) {
    case 'hold':
      return null
    case 'repeat-call':
      // RESOLVED is written when the provider has answered.
      return { ...base, status: 'PENDING', sameAttempt: true, events: [] }
    case 'send-again':
      return {
        ...base,
        status: 'PENDING',
        events: [resolved('policy-resend')],
        count: ['unknown_resolved', 'policy-resend'],
      }
    case 'give-up': {
      const { code, message } = OUTCOME_UNKNOWN
      const metadata = {
        errorCode: code,
        errorCategory: OUTCOME_UNKNOWN.category,
        errorMessage: message,
        attempt: attempts,
      }
      return {
        ...base,
        status: decision.status,
        error: OUTCOME_UNKNOWN,
        events: [
          resolved('given-up'),
          { type: 'FAILED', metadata: { ...metadata, willRetry: false, reason: message } },
          { type: 'DLQ_MOVED', metadata: { attempts, lastError: message, lastErrorCode: code } },
        ],
        dead: { failedAttempts: Math.max(1, attempts), reason: message, code },
        count: ['unknown_resolved', 'given-up'],
      }
    }
  }
}
