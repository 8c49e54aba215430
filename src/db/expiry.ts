import { type Queryable, run } from './pool.ts'

/**
 * Mail of paused companies, or while every provider is parked, is not claimed, so nobody else would notice that its time is
 * over. Only ids older than a day are looked at: one pass over the ready table, in bites.
 */
export async function expireWaitingEmails(db: Queryable, limit = 10_000): Promise<number> {
  const [row] = await run<{ count: number }>(
    db,
    'expire-waiting-emails',
    `with late as materialized (
       select o.outbox_id, o.company_id, o.priority, o.attempts from email_ready r
       join email_outbox o on o.outbox_id = r.outbox_id
       where r.outbox_id < uuid_v7_floor(now() - interval '23 hours') and o.expires_at <= now()
         and o.status in ('PENDING', 'RETRY_SCHEDULED') and o.started_at is null
       limit $1 for update of o skip locked
     ), expired as (
       update email_outbox o set status = 'EXPIRED', next_attempt_at = null, failed_at = now(), error_code = 'EXPIRED',
         error_category = 'TIMEOUT_ERROR', failure_reason = 'Not sent within 24 hours of its due time'
       from late where o.outbox_id = late.outbox_id
     ), unready as (
       delete from email_ready r using late
       where r.company_id = late.company_id and r.priority = late.priority and r.outbox_id = late.outbox_id
     ), put_recipients as (
       update email_recipients r set status = 'EXPIRED' from late where r.outbox_id = late.outbox_id and not r.suppressed
     ), put_events as (
       insert into email_events (outbox_id, event_id, type, metadata)
       select outbox_id, uuid_v7_now(), 'EXPIRED', jsonb_build_object('attempts', attempts) from late
     )
     select count(*)::int as count from late`,
    [limit],
  )
  return row!.count
}
