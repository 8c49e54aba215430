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
       update email_outbox o set status = 'PENDING', lease_id = null from ended
       where o.outbox_id = any(ended.outbox_ids) and o.lease_id = ended.lease_id
       returning o.company_id, o.priority, o.outbox_id
     ), put as (
       insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from returned
       on conflict do nothing
     )
     select count(*)::int as count from returned`,
    [all],
  )
  return row!.count
}
