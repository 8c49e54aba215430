-- Since when a transaction is open that has enqueued e-mails by SQL. Each holds a lock with the minute of its start (put_sql_email).
-- An hour ago at most; null: there is none.
create or replace function open_sql_emails_since() returns timestamptz language sql as $$
  select greatest(to_timestamp(min(objid::bigint) * 60), now() - interval '1 hour') from pg_locks
  where locktype = 'advisory' and classid = 7305002 and objsubid = 2
    and database = (select oid from pg_database where datname = current_database())
  having count(*) > 0
$$;

-- The label of an attempt in /metrics: 1 to 10, and 11+.
create or replace function attempt_label(p_attempt text) returns text language sql immutable as $$
  select case when length(p_attempt) = 1 or p_attempt = '10' then p_attempt when p_attempt is not null then '11+' end
$$;

-- Counts the events since the last call into company_statistics, minute_statistics and the totals of /metrics. A minute late: every transaction of the gateway that writes events has
-- ended by then, because statements are limited to less. One of an application is waited for. At most five minutes of events in one
-- call, so that it is short also after a long stop. Answers how many rows of statistics were written; null when there is nothing to
-- count, or another process is at it.
create or replace function roll_up_statistics() returns bigint language plpgsql as $$
declare
  from_time timestamptz;
  until_time timestamptz;
  written bigint;
begin
  select counted_until into from_time from statistics_cursor for update skip locked;
  until_time := least(now() - interval '1 minute', from_time + interval '5 minutes', open_sql_emails_since());
  if from_time is null or from_time >= until_time - interval '1 second' then
    return null;
  end if;
  with recent as materialized (
    select e.outbox_id, e.company_id, e.type, e.created_at, e.metadata, o.created_at as accepted_at,
      greatest(o.created_at, o.scheduled_at) as due_at
    from email_events e join email_outbox o on o.outbox_id = e.outbox_id and not o.test
    where e.created_at >= from_time and e.created_at < until_time and e.type in ('QUEUED', 'SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT',
      'REJECTED', 'FAILED', 'DLQ_MOVED', 'EXPIRED', 'CANCELLED', 'REPLAYED', 'RETRY_SCHEDULED', 'UNKNOWN', 'VALIDATION_FAILED')
  ), story as (
    -- The whole story of each of these e-mails. That of a new one is in "recent".
    select * from recent
    union all
    select older.outbox_id, older.company_id, e.type, e.created_at, e.metadata, older.accepted_at, older.due_at
    from (select outbox_id, company_id, accepted_at, due_at from recent
      group by 1, 2, 3, 4 having not bool_or(type = 'QUEUED')) older
    cross join lateral (select * from email_events e where e.outbox_id = older.outbox_id and e.created_at < from_time offset 0) e
  ), facts as (
    -- What a provider reports about a copy says nothing about the e-mail. Of an erased e-mail nobody knows: only its QUEUED has no hash.
    select s.*, s.type in ('SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT') and s.metadata ? 'recipientHash' and s.metadata ->> 'recipientHash'
        is distinct from max(s.metadata ->> 'recipientHash') filter (where s.type = 'QUEUED') over (partition by s.outbox_id) as of_copy,
      s.type = 'RETRY_SCHEDULED' and not s.metadata ?| array['throttled', 'unconnected', 'parked'] as attempt_failed
    from story s
  ), ends as (
    -- Each e-mail as it stood when it was counted last (-1), and as it stands now (+1).
    select f.outbox_id, f.company_id, f.accepted_at, f.due_at, m.sign,
      (array_agg(f.type order by f.created_at desc) filter (where f.type not in ('QUEUED', 'RECEIVED', 'VALIDATED', 'VALIDATION_FAILED',
        'SENT_ATTEMPT', 'RESOLVED', 'DELIVERED', 'COMPLAINT')))[1] as last_type,
      coalesce(bool_or(f.type in ('DELIVERED', 'COMPLAINT')), false) as arrived, bool_or(f.attempt_failed) as retried,
      coalesce(min(f.created_at) filter (where f.type = 'DELIVERED'), min(f.created_at) filter (where f.type = 'SENT')) as arrived_at
    from facts f join (values (from_time, -1), (until_time, 1)) as m(until, sign) on f.created_at < m.until
    where not f.of_copy group by 1, 2, 3, 4, 5
  ), judged as (
    select *, arrived or coalesce(last_type = 'SENT', false) as delivered,
      not arrived and last_type in ('REJECTED', 'FAILED', 'DLQ_MOVED', 'EXPIRED', 'BOUNCE') as failed
    from ends
  ), counted as (
    select company_id, date_trunc('hour', created_at) as hour, count(*) filter (where type = 'QUEUED') as accepted,
      count(*) filter (where type = 'SENT') as sent, count(*) filter (where type = 'DELIVERED') as delivered,
      count(*) filter (where type = 'BOUNCE') as bounced, count(*) filter (where type = 'COMPLAINT') as complained,
      count(*) filter (where type = 'REJECTED') as rejected, count(*) filter (where type = 'FAILED') as failed,
      count(*) filter (where type = 'EXPIRED') as expired,
      0 as finally_delivered, 0 as finally_failed, 0 as recovered, 0 as not_recovered, 0.0 as delivery_seconds
    from recent group by 1, 2
    union all
    select company_id, date_trunc('hour', accepted_at), 0, 0, 0, 0, 0, 0, 0, 0,
      sum(sign) filter (where delivered), sum(sign) filter (where failed),
      sum(sign) filter (where delivered and retried), sum(sign) filter (where failed and retried),
      sum(sign * greatest(0, extract(epoch from arrived_at - due_at))) filter (where delivered)
    from judged group by 1, 2
  ), put_minutes as (
    insert into minute_statistics as s (company_id, minute, accepted, sent, delivered, bounced, complained, rejected, failed, expired)
    select company_id, date_trunc('minute', created_at), count(*) filter (where type = 'QUEUED'), count(*) filter (where type = 'SENT'),
      count(*) filter (where type = 'DELIVERED'), count(*) filter (where type = 'BOUNCE'), count(*) filter (where type = 'COMPLAINT'),
      count(*) filter (where type = 'REJECTED'), count(*) filter (where type = 'FAILED'), count(*) filter (where type = 'EXPIRED')
    from recent where created_at > now() - interval '2 hours' group by 1, 2 order by 1, 2
    on conflict (company_id, minute) do update set accepted = s.accepted + excluded.accepted, sent = s.sent + excluded.sent,
      delivered = s.delivered + excluded.delivered, bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained,
      rejected = s.rejected + excluded.rejected, failed = s.failed + excluded.failed, expired = s.expired + excluded.expired
  ), kinds as (
    -- The totals of /metrics. Only what is rare is looked up in the metadata, apart from the number of the attempt.
    select type, type = 'RETRY_SCHEDULED' and not metadata ?| array['throttled', 'unconnected', 'parked'] as attempt_failed,
      case type when 'SENT' then metadata ->> 'attempt' when 'RETRY_SCHEDULED' then metadata ->> 'attempt'
        when 'DLQ_MOVED' then metadata ->> 'attempts' end as attempt,
      case type when 'RETRY_SCHEDULED' then coalesce(metadata ->> 'errorCategory', metadata ->> 'errorCode', 'OTHER')
        when 'VALIDATION_FAILED' then coalesce(metadata ->> 'validation', 'OTHER')
        when 'DLQ_MOVED' then coalesce(metadata ->> 'lastErrorCode', 'OTHER') end as cause,
      count(*) as times
    from recent group by 1, 2, 3, 4
  ), put_totals as (
    insert into counters as c (name, label, value)
    select 'pipeline_state_transitions', type, count(*) from email_events
    where created_at >= from_time and created_at < until_time group by type
    union all
    select t.name, left(t.label, 100), sum(k.times) from kinds k cross join lateral (values
      ('pipeline_final_state', case when k.type in ('SENT', 'REJECTED', 'FAILED', 'EXPIRED', 'CANCELLED') then k.type end),
      ('pipeline_retry_count', case k.type when 'RETRY_SCHEDULED' then k.cause end),
      ('pipeline_validation_failures', case k.type when 'VALIDATION_FAILED' then k.cause end),
      ('retry_attempts', case when k.type <> 'RETRY_SCHEDULED' or k.attempt_failed then attempt_label(k.attempt) end),
      ('retry_successes', case k.type when 'SENT' then attempt_label(k.attempt) end),
      ('dlq_entries', case k.type when 'DLQ_MOVED' then '' end),
      ('dlq_by_error_code', case k.type when 'DLQ_MOVED' then k.cause end)
    ) as t(name, label) where t.label is not null group by 1, 2 order by 1, 2
    on conflict (name, label) do update set value = c.value + excluded.value
  ), put_company_totals as (
    insert into company_totals as t (company_id, processed, dead_letters)
    select company_id, count(*) filter (where type in ('SENT', 'REJECTED', 'FAILED', 'EXPIRED', 'RETRY_SCHEDULED', 'UNKNOWN')),
      count(*) filter (where type = 'DLQ_MOVED')
    from recent group by 1 order by 1
    on conflict (company_id) do update set processed = t.processed + excluded.processed, dead_letters = t.dead_letters + excluded.dead_letters
  )
  insert into company_statistics as s (company_id, hour, accepted, sent, delivered, bounced, complained, rejected, failed, expired,
    finally_delivered, finally_failed, recovered, not_recovered, delivery_seconds)
  select company_id, hour, sum(accepted), sum(sent), sum(delivered), sum(bounced), sum(complained), sum(rejected), sum(failed), sum(expired),
    coalesce(sum(finally_delivered), 0), coalesce(sum(finally_failed), 0), coalesce(sum(recovered), 0), coalesce(sum(not_recovered), 0),
    coalesce(sum(delivery_seconds), 0)
  from counted group by 1, 2 order by 1, 2
  on conflict (company_id, hour) do update set accepted = s.accepted + excluded.accepted, sent = s.sent + excluded.sent,
    delivered = s.delivered + excluded.delivered, bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained,
    rejected = s.rejected + excluded.rejected, failed = s.failed + excluded.failed, expired = s.expired + excluded.expired,
    finally_delivered = s.finally_delivered + excluded.finally_delivered, finally_failed = s.finally_failed + excluded.finally_failed,
    recovered = s.recovered + excluded.recovered, not_recovered = s.not_recovered + excluded.not_recovered,
    delivery_seconds = s.delivery_seconds + excluded.delivery_seconds;
  get diagnostics written = row_count;
  delete from minute_statistics where minute < now() - interval '2 hours';
  perform roll_up_template_statistics(from_time, until_time);
  update statistics_cursor set counted_until = until_time;
  return written;
end $$;

revoke execute on function open_sql_emails_since, attempt_label, roll_up_statistics from public;
