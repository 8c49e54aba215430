import { type ClaimLimits, claimFairBatch } from '../../outbox/claim.ts'
import { DISPATCH_SECONDS, leaseDispatched, loadJobs } from '../../outbox/dispatch.ts'
import { type EmailToSend, loadEmailsToSend } from '../../outbox/load.ts'
import type { Queryable } from '../../platform/postgres/query.ts'
import { retryWhileUnavailable } from '../../platform/postgres/retries.ts'
import { uuidv7 } from '../../platform/text/uuid.ts'
import type { LeasedJob } from '../lanes/bullmq.ts'
import type { Batch, LeaseLimits } from '../lanes/direct.ts'
import type { Dispatch } from '../lanes/feeder.ts'

export type ClaimOptions = {
  perTurn: number
  holder: string
  leaseSeconds: number
  /** Called after each claim, with what it took, in fair order. */
  onClaimed: (claimed: { companyId: string }[]) => void
}

/** Step 2, direct lane: takes the next batch in fair order under a lease of this process. */
export async function claimFairly(
  db: { claims: Queryable; emails: Queryable },
  limits: LeaseLimits,
  options: ClaimOptions,
): Promise<Batch<EmailToSend> | null> {
  const { leaseId } = limits
  const items = await claimFairBatch(db.claims, { ...options, ...limits, kind: 'work' })
  options.onClaimed(items)
  if (items.length === 0) return null
  const outboxIds = items.map(item => item.outboxId)
  return {
    leaseId,
    items,
    // A lost connection does not cost an attempt, as the lease would when it expires.
    emails: () => retryWhileUnavailable(() => loadEmailsToSend(db.emails, outboxIds), options.leaseSeconds * 1000),
  }
}

/** Step 2, BullMQ lane, feeder: takes the next batch in fair order, as jobs for the queue. */
export async function dispatchFairly(
  db: { claims: Queryable; jobs: Queryable },
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
  options.onClaimed(claimed)
  return { leaseId, claimed, jobs: () => loadJobs(db.jobs, claimed) }
}

/** Step 2, BullMQ lane, worker: leases the e-mails of received jobs to this process. */
export async function leaseJobs(
  db: Queryable,
  outboxIds: string[],
  lease: { leaseId: string; endedLeases: string[] },
  options: ClaimOptions,
): Promise<LeasedJob<EmailToSend>[]> {
  const { leaseId, endedLeases } = lease
  const { holder, leaseSeconds } = options
  // Postgres accepts an id in upper case, but our own jobs are never written so.
  const ids = new Set(outboxIds.filter(id => id === id.toLowerCase()))
  const found = await leaseDispatched(db, { leaseId, holder, leaseSeconds, outboxIds: [...ids], endedLeases })
  return outboxIds.map(outboxId => {
    const email = found.get(outboxId)
    if (email) return { kind: 'taken', leaseId, email }
    return { kind: email === null ? 'not-ours' : 'no-such-email' }
  })
}
