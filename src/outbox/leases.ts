import { type Queryable, sql } from '../platform/postgres/query.ts'
import { IS_READY, IS_SCHEDULED, LOCK_EXISTING_READY_ROW, WAITING_AND_DUE } from './sql.ts'

export async function renewLeases(db: Queryable, leaseIds: string[], leaseSeconds: number): Promise<void> {
  await sql(db, 'renew-leases')`
    update leases set expires_at = now() + ${leaseSeconds} * interval '1 second' where lease_id = any(${leaseIds})`
}

export async function endLeases(db: Queryable, leaseIds: string[]): Promise<void> {
  if (leaseIds.length > 0) await sql(db, 'end-leases')`delete from leases where lease_id = any(${leaseIds})`
}

/** `notTaken`: dispatched, and no worker took the job. `lost`: the ids of those that a worker had, counted as unstarted and as unknown. */
export type Returned = {
  unstarted: number
  unknown: number
  notTaken: number
  lost: { unstarted: string[]; unknown: string[] }
}

/**
 * Returns the e-mails of workers that died. Not started: the attempt counts (content that crashes workers must end too), and the
 * e-mail is ready again. Started, or an unresolved attempt: the message may have left, so its outcome is unknown (again); an
 * idempotent provider recognises the attempt, so its call is repeated at once. What was only dispatched is ready again as it was.
 * `all`: no worker can be alive (the only gateway just started).
 */
export async function returnExpiredLeases(
  db: Queryable,
  options: { all: boolean; idempotentProviders: string[]; graceSeconds: number },
): Promise<Returned> {
  const [row] = await sql<Returned>(db, 'return-expired-leases')`
    with expired as materialized (
       select lease_id, kind, outbox_ids, taken_at from leases where ${options.all} or expires_at < now() for update skip locked
     ), listed as materialized (
       select distinct on (outbox_id) lease_id, kind, taken_at, outbox_id from (
         select lease_id, kind, taken_at, unnest(outbox_ids) as outbox_id from expired) t
       order by outbox_id, kind = 'work' desc, taken_at desc
     ), open as materialized (
       select o.outbox_id, listed.kind, coalesce(o.lease_id, listed.lease_id) as lease_id, o.lease_id is null as was_waiting
       from listed join email_outbox o on o.outbox_id = listed.outbox_id
       -- Any expired lease: a job that was delivered twice is listed under two, and one of the workers had started it.
       where o.lease_id in (select lease_id from expired)
         -- Not started, and not returned: it waits, and is neither ready, nor scheduled, nor listed under a newer lease.
         or (o.lease_id is null and ${WAITING_AND_DUE} and not ${IS_READY} and not ${IS_SCHEDULED}
           -- An older lease may still list an e-mail that its worker has returned to ready, and that was claimed or dispatched since.
           and not exists (select from leases other where other.lease_id not in (select lease_id from expired)
             and (other.taken_at > listed.taken_at or (other.kind = 'work' and other.taken_at = listed.taken_at))
             and other.outbox_ids @> array[listed.outbox_id]))
     ), unfinished as materialized (
       select o.outbox_id, o.company_id, o.priority, o.attempts, o.max_attempts, o.attempt_id, o.provider, o.request_id, open.kind,
         o.lease_id is not null or (o.started_at is not null and open.kind = 'work') as started
       from open join email_outbox o on o.outbox_id = open.outbox_id
       -- A late worker may have settled the e-mail as PENDING and made it ready since this statement began, which sees the former and
       -- not the latter. So what waits now must have been waiting then (was_waiting), or it would be returned twice.
       where o.lease_id in (select lease_id from expired) or (open.was_waiting and ${WAITING_AND_DUE})
       for update of o skip locked
     ), moment as materialized (
       -- Not now(): an attempt may have started after this statement had come, and before it locked the e-mail.
       select clock_timestamp() as at from (select count(*) from unfinished) locked
     ), held as (
       -- Somebody is changing it, perhaps for long: a company may, in a transaction of its own. The next round looks at it again.
       select lease_id, array_agg(outbox_id) as outbox_ids from open
       where outbox_id not in (select outbox_id from unfinished) group by lease_id
     ), kept as (
       update leases l set outbox_ids = held.outbox_ids from held where l.lease_id = held.lease_id
     ), ended as (
       delete from leases l using expired where l.lease_id = expired.lease_id and l.lease_id not in (select lease_id from held)
     ), not_started as (
       update email_outbox o set attempts = least(o.attempts + 1, o.max_attempts), status = 'RETRY_SCHEDULED'
       from unfinished where o.outbox_id = unfinished.outbox_id and not unfinished.started and unfinished.kind = 'work'
     ), started as (
       update email_outbox o set status = 'UNKNOWN', lease_id = null from unfinished where o.outbox_id = unfinished.outbox_id and unfinished.started
     ), put_unknown as (
       insert into unknown_sends (outbox_id, attempt_id, provider, reason, resolve_at)
       select outbox_id, attempt_id, provider, 'WORKER_LOST',
         now() + case when provider = any(${options.idempotentProviders}) then interval '0' else ${options.graceSeconds} * interval '1 second' end
       from unfinished where started
       on conflict (outbox_id) do update set attempt_id = excluded.attempt_id, provider = excluded.provider, reason = excluded.reason,
         since = now(), resolve_at = excluded.resolve_at
     ), put_ready as (
       insert into email_ready (company_id, priority, outbox_id)
       select company_id, priority, outbox_id from unfinished where not started ${LOCK_EXISTING_READY_ROW}
     ), put_events as (
       insert into email_events (outbox_id, company_id, type, created_at, metadata)
       select outbox_id, company_id, 'UNKNOWN', (select at from moment), jsonb_build_object('reason', 'WORKER_LOST', 'errorCode', 'WORKER_LOST',
         'errorMessage', 'The worker was lost after the message may have left', 'attempt', attempts, 'attemptId', attempt_id, 'provider', provider)
       from unfinished where started
       union all
       select outbox_id, company_id, 'RECEIVED', (select at from moment), jsonb_build_object('attempt', attempts + 1, 'requestId', request_id)
       from unfinished where not started and kind = 'work'
       union all
       select outbox_id, company_id, 'RETRY_SCHEDULED', (select at from moment) + interval '1 microsecond', jsonb_build_object('errorCode', 'WORKER_LOST', 'errorCategory', 'TRANSIENT_ERROR',
         'errorMessage', 'The worker was lost before it sent anything', 'attempt', attempts + 1, 'willRetry', attempts + 1 < max_attempts,
         'nextAttemptNumber', case when attempts + 1 < max_attempts then attempts + 2 end, 'backoffDelay', 0)
       from unfinished where not started and kind = 'work'
     ), put_counters as (
       insert into counters as c (name, label, value)
       select 'unknown_sends', 'WORKER_LOST', count(*) from unfinished where started having count(*) > 0
       on conflict (name, label) do update set value = c.value + excluded.value
     )
     select count(*) filter (where not started and kind = 'work')::int as unstarted, count(*) filter (where started)::int as unknown,
       count(*) filter (where not started and kind = 'dispatch')::int as "notTaken",
       json_build_object('unstarted', coalesce(json_agg(outbox_id) filter (where not started and kind = 'work'), '[]'),
         'unknown', coalesce(json_agg(outbox_id) filter (where started), '[]')) as lost from unfinished`
  return row!
}
