import { uuidv7 } from '../contracts/uuid.ts'
import { claimFairBatch, handBack } from '../db/claim.ts'
import { loadJobs } from '../db/dispatch.ts'
import { endLeases } from '../db/leases.ts'
import type { Queryable } from '../db/pool.ts'
import { receiveDispatched } from '../db/receipts.ts'
import { loadTickets, type Ticket } from '../db/tickets.ts'
import type { Receipt } from '../lanes/bullmq.ts'
import type { Batch, ClaimLimits } from '../lanes/direct.ts'
import type { Dispatch } from '../lanes/feeder.ts'

export type ClaimOptions = {
  perTurn: number
  holder: string
  leaseSeconds: number
  /** Told how many each claim took. */
  counted: (claimed: number) => void
}

/** How long dispatched e-mails stay so when no feeder looks after them. */
const DISPATCH_SECONDS = 30

/** Step 2 of the line, direct lane: a fair batch out of Postgres, leased to this process. */
export async function claimFairly(
  db: { claims: Queryable; tickets: Queryable },
  limits: ClaimLimits,
  options: ClaimOptions,
): Promise<Batch<Ticket> | null> {
  const leaseId = uuidv7()
  const items = await claimFairBatch(db.claims, { ...options, ...limits, leaseId, kind: 'work' })
  options.counted(items.length)
  if (items.length === 0) return null
  return {
    leaseId,
    items,
    contents: () =>
      loadTickets(
        db.tickets,
        items.map(item => item.outboxId),
      ),
  }
}

/** Step 2 of the line, BullMQ lane, at the feeder: a fair batch out of Postgres, as jobs for the queue. */
export async function dispatchFairly(
  db: { claims: Queryable; facts: Queryable },
  limits: ClaimLimits,
  options: ClaimOptions,
): Promise<Dispatch> {
  const leaseId = uuidv7()
  const leaseSeconds = DISPATCH_SECONDS
  const claimed = await claimFairBatch(db.claims, {
    ...options,
    ...limits,
    leaseSeconds,
    leaseId,
    kind: 'dispatch',
  })
  options.counted(claimed.length)
  return { leaseId, claimed, jobs: () => loadJobs(db.facts, claimed) }
}

/** The queue would not take them: as if they had never been claimed. */
export async function takeBack(db: Queryable, leaseId: string, outboxIds: string[]): Promise<void> {
  await handBack(db, outboxIds)
  await endLeases(db, [leaseId])
}

/** Step 2 of the line, BullMQ lane, at the worker: what the jobs brought is leased to this process. */
export async function receiveJobs(
  db: Queryable,
  outboxIds: string[],
  ended: string[],
  options: ClaimOptions,
): Promise<Receipt<Ticket>[]> {
  const leaseId = uuidv7()
  const { holder, leaseSeconds } = options
  // In another spelling it is a stranger's job: Postgres would know the e-mail, and nothing else would.
  const ids = new Set(outboxIds.filter(id => id === id.toLowerCase()))
  const found = await receiveDispatched(db, { leaseId, holder, leaseSeconds, outboxIds: [...ids], ended })
  return outboxIds.map(outboxId => {
    const content = found.get(outboxId)
    if (content) return { kind: 'taken', leaseId, content }
    return { kind: content === null ? 'elsewhere' : 'missing' }
  })
}
