import { uuidv7 } from '../contracts/uuid.ts'
import { claimFairBatch, returnToReady } from '../db/outbox/claim.ts'
import { loadJobs } from '../db/outbox/dispatch.ts'
import { endLeases } from '../db/outbox/leases.ts'
import { type EmailToSend, loadEmailsToSend } from '../db/outbox/load.ts'
import { leaseDispatched } from '../db/outbox/receive.ts'
import type { Queryable } from '../db/pool.ts'
import type { LeasedJob } from '../sending/bullmq-lane.ts'
import type { Batch, ClaimLimits } from '../sending/direct-lane.ts'
import type { Dispatch } from '../sending/feeder.ts'

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
  db: { claims: Queryable; emails: Queryable },
  limits: ClaimLimits,
  options: ClaimOptions,
): Promise<Batch<EmailToSend> | null> {
  const leaseId = uuidv7()
  const items = await claimFairBatch(db.claims, { ...options, ...limits, leaseId, kind: 'work' })
  options.counted(items.length)
  if (items.length === 0) return null
  return {
    leaseId,
    items,
    contents: () =>
      loadEmailsToSend(
        db.emails,
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
  await returnToReady(db, outboxIds)
  await endLeases(db, [leaseId])
}

/** Step 2 of the line, BullMQ lane, at the worker: what the jobs brought is leased to this process. */
export async function receiveJobs(
  db: Queryable,
  outboxIds: string[],
  ended: string[],
  options: ClaimOptions,
): Promise<LeasedJob<EmailToSend>[]> {
  const leaseId = uuidv7()
  const { holder, leaseSeconds } = options
  // In another spelling it is a stranger's job: Postgres would know the e-mail, and nothing else would.
  const ids = new Set(outboxIds.filter(id => id === id.toLowerCase()))
  const found = await leaseDispatched(db, { leaseId, holder, leaseSeconds, outboxIds: [...ids], ended })
  return outboxIds.map(outboxId => {
    const content = found.get(outboxId)
    if (content) return { kind: 'taken', leaseId, content }
    return { kind: content === null ? 'elsewhere' : 'missing' }
  })
}
