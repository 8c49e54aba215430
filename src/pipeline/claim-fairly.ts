import { uuidv7 } from '../contracts/uuid.ts'
import { endLease, renewLease } from '../db/leases.ts'
import { claimFairBatch } from '../db/line.ts'
import type { Queryable } from '../db/pool.ts'
import { readyDueEmails } from '../db/schedule.ts'
import { loadTickets } from '../db/tickets.ts'
import type { Batch } from '../lanes/direct.ts'
import type { Received } from './attempt-email.ts'

export type ClaimOptions = { perTurn: number; holder: string; leaseSeconds: number }

/** Step 2 of the line: a fair batch out of Postgres, leased, with what an attempt needs to know. */
export async function claimFairly(db: Queryable, size: number, options: ClaimOptions): Promise<Batch<Received>> {
  const leaseId = uuidv7()
  const claimed = (await readyDueEmails(db)) ? await claimFairBatch(db, { ...options, leaseId, size }) : []
  const outboxIds = claimed.map(one => one.outboxId)
  const tickets = await loadTickets(db, outboxIds)
  return {
    items: claimed.map(one => ({ ...one, leaseId, ticket: tickets.get(one.outboxId) ?? null })),
    renew: () => renewLease(db, leaseId, options.leaseSeconds),
    end: () => endLease(db, leaseId),
  }
}
