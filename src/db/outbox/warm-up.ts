import { uuidv7 } from '../../contracts/uuid.ts'
import { type Database, type Queryable, withConnection } from '../pool.ts'
import { claimFairBatch } from './claim.ts'
import { loadEmailsToSend } from './load.ts'
import { settleAttempts } from './settle.ts'
import { startAttempts } from './start.ts'

type Statement = keyof Database['line']

/**
 * E-mails that do not exist go through the line's statements, on all of their connections: these are open and those are
 * planned when the first one comes, which would wait for both, 50 ms. A server that is away is found when it is needed.
 */
export async function rehearse(line: Database['line'], statements: Statement[]): Promise<void> {
  // Alike in everything, and not: these are two statements.
  const [one, other] = [uuidv7(), uuidv7()].map(outboxId => ({ outboxId, leaseId: uuidv7(), attemptId: uuidv7() }))
  const mixes = [[one!], [one!, other!]]
  const acts: Record<Statement, (db: Queryable) => Promise<unknown>> = {
    claims: db => claimFairBatch(db, { ...OF_NOBODY, leaseId: one!.leaseId }),
    emails: db => loadEmailsToSend(db, [one!.outboxId]),
    starts: async db => {
      for (const mix of mixes)
        await startAttempts(
          db,
          mix.map(ids => ({ ...ids, provider: '', attempt: 1, before: 0 })),
        )
    },
    settlements: async db => {
      for (const mix of mixes)
        await settleAttempts(
          db,
          mix.map(({ outboxId, leaseId }) => ({ ...AS_SENT, outboxId, guard: { leaseId } })),
        )
    },
  }
  const onConnection = (statement: Statement) => withConnection(line[statement], acts[statement])
  await Promise.allSettled(
    statements.flatMap(statement => Array.from({ length: line[statement].options.max }, () => onConnection(statement))),
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
