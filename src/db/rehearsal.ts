import { uuidv7 } from '../contracts/uuid.ts'
import { startAttempts } from './attempts.ts'
import { claimFairBatch } from './claim.ts'
import type { Database } from './pool.ts'
import { settleAttempts } from './settle.ts'
import { loadTickets } from './tickets.ts'

type Statement = keyof Database['line']

/**
 * An e-mail that does not exist goes through the line's statements, on all of their connections: these are open and those are
 * planned when the first one comes, which would wait for both, 50 ms. A server that is away is found when it is needed.
 */
export async function rehearse(line: Database['line'], statements: Statement[]): Promise<void> {
  const { claims, tickets, starts, settlements } = line
  const [outboxId, leaseId, attemptId] = [uuidv7(), uuidv7(), uuidv7()]
  const acts: Record<Statement, () => Promise<unknown>> = {
    claims: () => claimFairBatch(claims, { ...OF_NOBODY, leaseId }),
    tickets: () => loadTickets(tickets, [outboxId]),
    starts: () => startAttempts(starts, [{ outboxId, leaseId, attemptId, provider: '', attempt: 1, before: 0 }]),
    settlements: () => settleAttempts(settlements, [{ ...AS_SENT, outboxId, guard: { leaseId } }]),
  }
  await Promise.allSettled(
    statements.flatMap(statement => Array.from({ length: line[statement].options.max }, acts[statement])),
  )
}

/** A claim that may take none of any company. */
const OF_NOBODY = {
  kind: 'work' as const,
  holder: 'rehearsal',
  leaseSeconds: 1,
  size: 1,
  perTurn: 1,
  ended: [],
  left: new Map(),
  most: 0,
}

const AS_SENT = {
  status: 'SENT' as const,
  attempts: 1,
  messageId: '',
  durationMs: 0,
  events: [{ type: 'SENT' as const, metadata: {} }],
}
