import { fragment, type Queryable, sql } from '../platform/postgres/query.ts'
import { LOCK_EXISTING_READY_ROW, SCHEDULED_FOR, WAITING_AND_DUE } from './sql.ts'

/** What the lane decides of a claim. */
export type ClaimLimits = {
  size: number
  /** Leases whose work is done; they end with this claim. */
  endedLeases: string[]
  /** How many more of a company may be taken; `defaultAllowance` of any company that is not named. */
  allowances: Map<string, number>
  defaultAllowance: number
}

export type Claim = ClaimLimits & {
  leaseId: string
  /** work: this process works on them. dispatch: they go on the BullMQ queue. */
  kind: 'work' | 'dispatch'
  holder: string
  leaseSeconds: number
  perTurn: number
}

export type Claimed = { outboxId: string; companyId: string }

/** The next e-mails in the fair order, leased. Their rows are not touched before their attempts start. */
export async function claimFairBatch(db: Queryable, claim: Claim): Promise<Claimed[]> {
  const { leaseId, kind, holder, leaseSeconds, size, perTurn, endedLeases, allowances, defaultAllowance } = claim
  return sql<Claimed>(db, 'claim-fair-batch')`
    select outbox_id, company_id
     from claim_fair_batch(${leaseId}, ${kind}, ${holder}, ${leaseSeconds}, ${size}, ${perTurn}, ${endedLeases}, ${[...allowances.keys()]}, ${[...allowances.values()]}, ${defaultAllowance})`
}

/** Ends these claims, and returns to ready what of them has not started. A claim that was never committed has nothing to return. */
export async function returnClaims(db: Queryable, leaseIds: string[]): Promise<void> {
  await sql(db, 'return-claims')`
    with ended as (
       delete from leases where lease_id = any(${leaseIds}) returning outbox_ids
     )
     insert into email_ready (company_id, priority, outbox_id)
     select o.company_id, o.priority, o.outbox_id from ended cross join unnest(ended.outbox_ids) as claimed(id)
     join email_outbox o on o.outbox_id = claimed.id where ${WAITING_AND_DUE}
     ${LOCK_EXISTING_READY_ROW}`
}

/**
 * The same for claims, and leases of jobs, whose connection was lost. Such a claim may still be waiting for its turn, so this waits
 * behind it: what it commits is seen and returned. A lease of jobs takes no turn and is not waited for: one that commits later
 * expires, and its e-mails are charged an attempt.
 */
export async function returnUncertainClaims(db: Queryable, leaseIds: string[]): Promise<void> {
  await sql(db, 'wait-for-claims')`select wait_for_claims()`
  await returnClaims(db, leaseIds)
}

/** As if they had never been claimed: what a process has leased and will not start. */
export async function returnToReady(db: Queryable, outboxIds: string[]): Promise<void> {
  if (outboxIds.length === 0) return
  await sql(db, 'return-to-ready')`
    insert into email_ready (company_id, priority, outbox_id)
     select company_id, priority, outbox_id from email_outbox o
     where outbox_id = any(${outboxIds}) and ${WAITING_AND_DUE}
     ${LOCK_EXISTING_READY_ROW}`
}

/**
 * What could not be started because somebody else was changing it: it is due at once, and what is due becomes ready when nobody
 * has it locked (readyDueEmails). Ready at once, it would be claimed again and again until then.
 */
export async function returnWhenUnlocked(db: Queryable, outboxIds: string[]): Promise<void> {
  await sql(db, 'return-when-unlocked')`
    insert into email_scheduled (due_at, outbox_id, company_id, priority)
     select ${SCHEDULED_FOR}, outbox_id, company_id, priority from email_outbox o
     where outbox_id = any(${outboxIds}) and ${WAITING_AND_DUE}
     on conflict do nothing`
}

/**
 * For `with recursive`: the first ready e-mail of each company and priority, in one index look-up each. A backlog is not read, and
 * companies without ready e-mails cost nothing.
 */
export const READY_HEADS = fragment`heads as (
  (select company_id, priority, outbox_id from email_ready order by company_id, priority, outbox_id limit 1)
  union all
  select n.* from heads h cross join lateral (
    select company_id, priority, outbox_id from email_ready r where (r.company_id, r.priority) > (h.company_id, h.priority)
    order by company_id, priority, outbox_id limit 1) n
)`

/**
 * Since when the ready e-mail `o` has been due. It expires a day after its due time, which a replay and another schedule set anew:
 * a dead letter that was replayed waits since the replay, and not since it was accepted.
 */
export const DUE_SINCE = fragment`coalesce(o.next_attempt_at, o.expires_at - interval '24 hours')`
