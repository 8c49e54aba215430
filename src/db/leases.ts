import { type Queryable, run } from './pool.ts'

export async function renewLease(db: Queryable, leaseId: string, leaseSeconds: number): Promise<void> {
  await run(db, 'renew-lease', `update leases set expires_at = now() + $2 * interval '1 second' where lease_id = $1`, [
    leaseId,
    leaseSeconds,
  ])
}

export async function endLease(db: Queryable, leaseId: string): Promise<void> {
  await run(db, 'end-lease', `delete from leases where lease_id = $1`, [leaseId])
}

/**
 * E-mails of dead workers become ready again. Where SENT_ATTEMPT was committed, started_at stays: the next worker goes on
 * with the same attempt id, which the provider recognises. `all`: no worker can be alive (the only gateway just started).
 */
export async function returnExpiredLeases(db: Queryable, all: boolean): Promise<number> {
  const [row] = await run<{ count: number }>(
    db,
    'return-expired-leases',
    `with ended as (
       delete from leases where lease_id in (
         select lease_id from leases where $1 or expires_at < now() for update skip locked)
       returning lease_id, outbox_ids
     ), returned as (
       update email_outbox o set status = case when o.started_at is null then 'RETRY_SCHEDULED' else 'PENDING' end, lease_id = null
       from (select lease_id, unnest(outbox_ids) as outbox_id from ended) held
       where o.outbox_id = held.outbox_id and o.lease_id = held.lease_id
       returning o.company_id, o.priority, o.outbox_id, o.attempts, o.started_at, o.attempt_id
     ), put_ready as (
       insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from returned
       on conflict do nothing
     ), put_events as (
       insert into email_events (outbox_id, event_id, type, metadata)
       select outbox_id, uuid_v7_now(1), case when started_at is null then 'RETRY_SCHEDULED' else 'UNKNOWN' end,
         case when started_at is null then jsonb_build_object('errorCode', 'WORKER_LOST', 'errorCategory', 'TRANSIENT_ERROR',
             'errorMessage', 'The worker was lost before it sent anything', 'willRetry', true, 'attempt', attempts,
             'nextAttemptNumber', attempts + 1, 'backoffDelay', 0)
           else jsonb_build_object('errorCode', 'WORKER_LOST', 'attempt', attempts, 'attemptId', attempt_id) end
       from returned
       union all
       select outbox_id, uuid_v7_now(2), 'RESOLVED', jsonb_build_object('by', 'idempotency-key', 'attempt', attempts, 'attemptId', attempt_id)
       from returned where started_at is not null
     )
     select count(*)::int as count from returned`,
    [all],
  )
  return row!.count
}
