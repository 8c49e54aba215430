import { type Queryable, sql } from '../platform/postgres/query.ts'
import { enqueueWebhooks } from '../webhooks/enqueue.ts'

/** `unknown`: those that may have left. */
export type Expired = { expired: string[]; unknown: string[] }

/**
 * Mail of paused companies, or while every provider is parked, is not claimed, so nobody else would notice that its time is
 * over. Only ids older than a day are looked at: one pass over the ready table, in batches. What may have left already is
 * unknown again instead, and given up there: it must not look as if it had never been sent. RECEIVED is not written: it means that a
 * worker has taken up the e-mail, as when one finds that its time is over (pipeline/settle/settlement-by-outcome.ts).
 */
export async function expireWaitingEmails(db: Queryable, limit = 10_000): Promise<Expired> {
  const [row] = await sql<Expired>(db, 'expire-waiting-emails')`
    with late as materialized (
       select o.outbox_id, o.company_id, o.test, o.priority, o.attempts, o.attempt_id, o.provider, o.started_at is not null as may_have_left
       from email_ready r
       join email_outbox o on o.outbox_id = r.outbox_id
       where r.outbox_id < uuid_v7_floor(now() - interval '23 hours') and o.expires_at <= now()
         and o.status in ('PENDING', 'RETRY_SCHEDULED')
       limit ${limit} for update of o skip locked
     ), expired as (
       update email_outbox o set status = 'EXPIRED', next_attempt_at = null, failed_at = now(), error_code = 'EXPIRED', provider_code = null,
         error_category = 'TIMEOUT_ERROR', failure_reason = 'Not sent within 24 hours of its due time'
       from late where o.outbox_id = late.outbox_id and not late.may_have_left
     ), made_unknown as (
       update email_outbox o set status = 'UNKNOWN', next_attempt_at = null from late where o.outbox_id = late.outbox_id and late.may_have_left
     ), put_unknown as (
       insert into unknown_sends (outbox_id, attempt_id, provider, reason, resolve_at)
       select outbox_id, attempt_id, provider, 'PROVIDER_UNAVAILABLE', now() from late where late.may_have_left
       on conflict (outbox_id) do update set attempt_id = excluded.attempt_id, provider = excluded.provider, reason = excluded.reason,
         since = now(), resolve_at = excluded.resolve_at
     ), unready as (
       delete from email_ready r using late
       where r.company_id = late.company_id and r.priority = late.priority and r.outbox_id = late.outbox_id
     ), put_recipients as (
       update email_recipients r set status = 'EXPIRED' from late
       where r.outbox_id = late.outbox_id and not r.suppressed and not late.may_have_left
     ), put_events as (
       insert into email_events (outbox_id, company_id, type, metadata)
       select outbox_id, company_id, 'EXPIRED', jsonb_build_object('attempts', attempts) from late where not late.may_have_left
       returning outbox_id, event_id
     ), ${enqueueWebhooks(`select late.company_id, late.test, late.outbox_id, v.event_id, 'email.expired' as type
       from put_events v join late on late.outbox_id = v.outbox_id`)}
     select coalesce(array_agg(outbox_id) filter (where not may_have_left), '{}') as expired,
       coalesce(array_agg(outbox_id) filter (where may_have_left), '{}') as unknown from late`
  return row!
}
