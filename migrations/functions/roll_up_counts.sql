-- The label of an attempt in /metrics: 1 to 10, and 11+.
create or replace function attempt_label(p_attempt text) returns text language sql immutable as $$
  select case when length(p_attempt) = 1 or p_attempt = '10' then p_attempt when p_attempt is not null then '11+' end
$$;

-- Part of roll_up_statistics: counts the events between two times, by the hour in which they happened, for the last two hours by the minute,
-- and into the totals of /metrics.
create or replace function roll_up_counts(p_from timestamptz, p_until timestamptz) returns void language sql as $$
  with recent as materialized (
    select * from counted_events(p_from, p_until)
  ), minutes as materialized (
    select company_id, date_trunc('minute', created_at) as minute,
      count(*) filter (where type = 'QUEUED') as accepted, count(*) filter (where type = 'SENT') as sent,
      count(*) filter (where type = 'DELIVERED') as delivered, count(*) filter (where type = 'BOUNCE') as bounced,
      count(*) filter (where type = 'COMPLAINT') as complained, count(*) filter (where type = 'REJECTED') as rejected,
      count(*) filter (where type = 'FAILED') as failed, count(*) filter (where type = 'EXPIRED') as expired
    from recent group by 1, 2
  ), put_minutes as (
    insert into minute_statistics as s (company_id, minute, accepted, sent, delivered, bounced, complained, rejected, failed, expired)
    select * from minutes where minute > now() - interval '2 hours' order by 1, 2
    on conflict (company_id, minute) do update set accepted = s.accepted + excluded.accepted, sent = s.sent + excluded.sent,
      delivered = s.delivered + excluded.delivered, bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained,
      rejected = s.rejected + excluded.rejected, failed = s.failed + excluded.failed, expired = s.expired + excluded.expired
  ), put_hours as (
    insert into company_statistics as s (company_id, hour, accepted, sent, delivered, bounced, complained, rejected, failed, expired)
    select company_id, date_trunc('hour', minute), sum(accepted), sum(sent), sum(delivered), sum(bounced), sum(complained), sum(rejected),
      sum(failed), sum(expired)
    from minutes group by 1, 2 order by 1, 2
    on conflict (company_id, hour) do update set accepted = s.accepted + excluded.accepted, sent = s.sent + excluded.sent,
      delivered = s.delivered + excluded.delivered, bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained,
      rejected = s.rejected + excluded.rejected, failed = s.failed + excluded.failed, expired = s.expired + excluded.expired
  ), kinds as (
    -- Only what is rare is looked up in the metadata, apart from the number of the attempt.
    select type, is_failed_attempt(type, metadata) as attempt_failed,
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
    where created_at >= p_from and created_at < p_until group by type
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
  )
  insert into company_totals as t (company_id, processed, dead_letters)
  select company_id, count(*) filter (where type in ('SENT', 'REJECTED', 'FAILED', 'EXPIRED', 'RETRY_SCHEDULED', 'UNKNOWN')),
    count(*) filter (where type = 'DLQ_MOVED')
  from recent group by 1 order by 1
  on conflict (company_id) do update set processed = t.processed + excluded.processed, dead_letters = t.dead_letters + excluded.dead_letters
$$;

revoke execute on function attempt_label, roll_up_counts from public;
