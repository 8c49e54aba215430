-- Since when a transaction is open that has enqueued e-mails by SQL. Each holds a lock with the minute of its start (put_sql_email).
-- An hour ago at most; null: there is none.
create or replace function open_sql_emails_since() returns timestamptz language sql as $$
  select greatest(to_timestamp(min(objid::bigint) * 60), now() - interval '1 hour') from pg_locks
  where locktype = 'advisory' and classid = 7305002 and objsubid = 2
    and database = (select oid from pg_database where datname = current_database())
  having count(*) > 0
$$;

-- Whether an event says that an attempt failed: not one that was put off without spending an attempt.
create or replace function is_failed_attempt(p_type text, p_metadata jsonb) returns boolean language sql immutable as $$
  select p_type = 'RETRY_SCHEDULED' and not p_metadata ?| array['throttled', 'unconnected', 'parked']
$$;

-- The events between two times, with what is counted of their metadata: only what is rare, apart from the attempt and the recipient. With the
-- e-mail of those that statistics count, unless a test key sent it.
create or replace function events_to_count(p_from timestamptz, p_until timestamptz)
returns table (outbox_id uuid, company_id uuid, type text, created_at timestamptz, attempt_failed boolean, recipient text, attempt text, cause text,
  live boolean, template_type text, accepted_at timestamptz, due_at timestamptz)
language sql stable as $$
  select e.outbox_id, e.company_id, e.type, e.created_at, is_failed_attempt(e.type, e.metadata),
    case when e.type in ('QUEUED', 'SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT') then e.metadata ->> 'recipientHash' end,
    case when e.type in ('SENT', 'RETRY_SCHEDULED') then e.metadata ->> 'attempt' when e.type = 'DLQ_MOVED' then e.metadata ->> 'attempts' end,
    case e.type when 'RETRY_SCHEDULED' then coalesce(e.metadata ->> 'errorCategory', e.metadata ->> 'errorCode', 'OTHER')
      when 'VALIDATION_FAILED' then coalesce(e.metadata ->> 'validation', 'OTHER')
      when 'DLQ_MOVED' then coalesce(e.metadata ->> 'lastErrorCode', 'OTHER') end,
    o.created_at is not null, coalesce(o.template_type, ''), o.created_at, greatest(o.created_at, o.scheduled_at)
  -- "offset 0": one look at the e-mail of each event, whatever the planner expects.
  from email_events e left join lateral (
    select o.created_at, o.scheduled_at, o.template_type from email_outbox o where o.outbox_id = e.outbox_id and not o.test
      and e.type not in ('RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'RESOLVED') offset 0) o on true
  where e.created_at >= p_from and e.created_at < p_until
$$;

-- Part of roll_up_statistics: reads each event between two times once, and counts it into statistics and counters.
-- Planned for the times of each call: a plan for any times would expect many more events, and read all of email_outbox for them.
create or replace function roll_up_events(p_from timestamptz, p_until timestamptz) returns void
language plpgsql set plan_cache_mode = force_custom_plan as $$
begin
  with events as materialized (
    select * from events_to_count(p_from, p_until)
  ), live as materialized (
    select * from events where live
  ), happened as materialized (
    select company_id, template_type, date_trunc('minute', created_at) as minute,
      count(*) filter (where type = 'QUEUED') as accepted, count(*) filter (where type = 'SENT') as sent,
      count(*) filter (where type = 'DELIVERED') as delivered, count(*) filter (where type = 'BOUNCE') as bounced,
      count(*) filter (where type = 'COMPLAINT') as complained, count(*) filter (where type = 'REJECTED') as rejected,
      count(*) filter (where type = 'FAILED') as failed, count(*) filter (where type = 'EXPIRED') as expired,
      count(*) filter (where type = 'DLQ_MOVED') as dead_letters, count(*) filter (where type = 'RETRY_SCHEDULED') as retries
    from live group by 1, 2, 3

  -- What e-mails came to. One with new events may have been counted before: it is taken out as it stood at p_from, and put in as it
  -- stands at p_until. All events of a new one are in "live".
  ), story as (
    select outbox_id, company_id, accepted_at, due_at, type, created_at, attempt_failed, recipient from live
    union all
    select older.*, e.type, e.created_at, is_failed_attempt(e.type, e.metadata), e.metadata ->> 'recipientHash'
    from (select outbox_id, company_id, accepted_at, due_at from live group by 1, 2, 3, 4 having not bool_or(type = 'QUEUED')) older
    cross join lateral (select * from email_events e where e.outbox_id = older.outbox_id and e.created_at < p_from offset 0) e
  ), facts as (
    -- What a provider reports about a copy says nothing about the e-mail. Of an erased e-mail nobody knows: only its QUEUED has no hash.
    select s.*, s.type in ('SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT') and s.recipient is not null and s.recipient
      is distinct from max(s.recipient) filter (where s.type = 'QUEUED') over (partition by s.outbox_id) as of_copy
    from story s
  ), stands as (
    select f.outbox_id, f.company_id, f.accepted_at, f.due_at, m.sign,
      (array_agg(f.type order by f.created_at desc) filter (where f.type not in ('QUEUED', 'RECEIVED', 'VALIDATED', 'VALIDATION_FAILED',
        'SENT_ATTEMPT', 'RESOLVED', 'DELIVERED', 'COMPLAINT')))[1] as last_type,
      coalesce(bool_or(f.type in ('DELIVERED', 'COMPLAINT')), false) as arrived, bool_or(f.attempt_failed) as retried,
      coalesce(min(f.created_at) filter (where f.type = 'DELIVERED'), min(f.created_at) filter (where f.type = 'SENT')) as arrived_at
    from facts f join (values (p_from, -1), (p_until, 1)) as m(until, sign) on f.created_at < m.until
    where not f.of_copy group by 1, 2, 3, 4, 5
  ), outcomes as (
    select *, arrived or coalesce(last_type = 'SENT', false) as delivered,
      not arrived and last_type in ('REJECTED', 'FAILED', 'DLQ_MOVED', 'EXPIRED', 'BOUNCE') as failed
    from stands
  ), kinds as (
    select company_id, type, attempt_failed, cause, count(*) as times,
      case when length(attempt) = 1 or attempt = '10' then attempt when attempt is not null then '11+' end as attempt
    from live group by company_id, type, attempt_failed, cause, 6
  ), put_counters as (
    insert into counters as c (name, label, value)
    select 'pipeline_state_transitions', type, count(*) from events group by type
    union all
    select t.name, left(t.label, 100), sum(k.times) from kinds k cross join lateral (values
      ('pipeline_final_state', case when k.type in ('SENT', 'REJECTED', 'FAILED', 'EXPIRED', 'CANCELLED') then k.type end),
      ('pipeline_retry_count', case k.type when 'RETRY_SCHEDULED' then k.cause end),
      ('pipeline_validation_failures', case k.type when 'VALIDATION_FAILED' then k.cause end),
      ('retry_attempts', case when k.type <> 'RETRY_SCHEDULED' or k.attempt_failed then k.attempt end),
      ('retry_successes', case k.type when 'SENT' then k.attempt end),
      ('dlq_entries', case k.type when 'DLQ_MOVED' then '' end),
      ('dlq_by_error_code', case k.type when 'DLQ_MOVED' then k.cause end),
      ('dlq_by_company', case k.type when 'DLQ_MOVED' then k.company_id::text end),
      ('tenant_jobs_processed', case when k.type in ('SENT', 'REJECTED', 'FAILED', 'EXPIRED', 'RETRY_SCHEDULED', 'UNKNOWN') then k.company_id::text end)
    ) as t(name, label) where t.label is not null group by 1, 2 order by 1, 2
    on conflict (name, label) do update set value = c.value + excluded.value
  ), changes as (
    -- Of the company by the minute and by the hour, and of its template by the hour.
    select h.company_id, t.template_type, t.step, t.at, h.accepted, h.sent, h.delivered, h.bounced, h.complained, h.rejected, h.failed, h.expired,
      h.dead_letters, h.retries, 0 as finally_delivered, 0 as finally_failed, 0 as recovered, 0 as not_recovered, 0.0 as delivery_seconds
    from happened h cross join lateral (values
      ('', 'minute', case when h.minute > now() - interval '2 hours' then h.minute end),
      ('', 'hour', date_trunc('hour', h.minute)),
      (h.template_type, 'hour', case when h.template_type <> '' then date_trunc('hour', h.minute) end)
    ) as t(template_type, step, at) where t.at is not null
    union all
    select company_id, '', 'hour', date_trunc('hour', accepted_at), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      sign * delivered::int, sign * coalesce(failed, false)::int, sign * (delivered and retried)::int, sign * coalesce(failed and retried, false)::int,
      case when delivered then sign * greatest(0, extract(epoch from arrived_at - due_at)) else 0 end
    from outcomes
  )
  insert into statistics as s (company_id, template_type, step, at, accepted, sent, delivered, bounced, complained, rejected, failed, expired,
    dead_letters, retries, finally_delivered, finally_failed, recovered, not_recovered, delivery_seconds)
  select company_id, template_type, step, at, sum(accepted), sum(sent), sum(delivered), sum(bounced), sum(complained), sum(rejected),
    sum(failed), sum(expired), sum(dead_letters), sum(retries), sum(finally_delivered), sum(finally_failed), sum(recovered),
    sum(not_recovered), sum(delivery_seconds)
  from changes group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (company_id, template_type, step, at) do update set accepted = s.accepted + excluded.accepted, sent = s.sent + excluded.sent,
    delivered = s.delivered + excluded.delivered, bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained,
    rejected = s.rejected + excluded.rejected, failed = s.failed + excluded.failed, expired = s.expired + excluded.expired,
    dead_letters = s.dead_letters + excluded.dead_letters, retries = s.retries + excluded.retries,
    finally_delivered = s.finally_delivered + excluded.finally_delivered, finally_failed = s.finally_failed + excluded.finally_failed,
    recovered = s.recovered + excluded.recovered, not_recovered = s.not_recovered + excluded.not_recovered,
    delivery_seconds = s.delivery_seconds + excluded.delivery_seconds;
end $$;

-- Counts the events since the last call into statistics and counters. A minute late: every transaction of the gateway that writes events
-- has ended by then, because statements are limited to less. One of an application is waited for. At most five minutes of events in one
-- call, so that it is short also after a long stop. Answers whether it has counted; false: there is nothing to count, or another process
-- is at it.
create or replace function roll_up_statistics() returns boolean language plpgsql as $$
declare
  from_time timestamptz;
  until_time timestamptz;
begin
  select counted_until into from_time from statistics_cursor for update skip locked;
  until_time := least(now() - interval '1 minute', from_time + interval '5 minutes', open_sql_emails_since());
  if from_time is null or from_time >= until_time - interval '1 second' then
    return false;
  end if;
  perform roll_up_events(from_time, until_time);
  delete from statistics where template_type = '' and step = 'minute' and at < now() - interval '2 hours';
  update statistics_cursor set counted_until = until_time;
  return true;
end $$;

revoke execute on function open_sql_emails_since, is_failed_attempt, events_to_count, roll_up_events, roll_up_statistics from public;
