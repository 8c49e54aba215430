-- Part of roll_up_statistics: what e-mails came to in the end, by the hour in which they were accepted. An e-mail with new events may have
-- been counted before: it is taken out as it stood at p_from, and put in as it stands at p_until.
create or replace function roll_up_outcomes(p_from timestamptz, p_until timestamptz) returns void language sql as $$
  with recent as materialized (
    select * from counted_events(p_from, p_until)
  ), story as (
    -- All events of each of these e-mails. Those of a new one are in "recent".
    select * from recent
    union all
    select older.outbox_id, older.company_id, e.type, e.created_at, e.metadata, older.accepted_at, older.due_at
    from (select outbox_id, company_id, accepted_at, due_at from recent
      group by 1, 2, 3, 4 having not bool_or(type = 'QUEUED')) older
    cross join lateral (select * from email_events e where e.outbox_id = older.outbox_id and e.created_at < p_from offset 0) e
  ), facts as (
    -- What a provider reports about a copy says nothing about the e-mail. Of an erased e-mail nobody knows: only its QUEUED has no hash.
    select s.*, s.type in ('SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT') and s.metadata ? 'recipientHash' and s.metadata ->> 'recipientHash'
      is distinct from max(s.metadata ->> 'recipientHash') filter (where s.type = 'QUEUED') over (partition by s.outbox_id) as of_copy
    from story s
  ), stands as (
    select f.outbox_id, f.company_id, f.accepted_at, f.due_at, m.sign,
      (array_agg(f.type order by f.created_at desc) filter (where f.type not in ('QUEUED', 'RECEIVED', 'VALIDATED', 'VALIDATION_FAILED',
        'SENT_ATTEMPT', 'RESOLVED', 'DELIVERED', 'COMPLAINT')))[1] as last_type,
      coalesce(bool_or(f.type in ('DELIVERED', 'COMPLAINT')), false) as arrived,
      bool_or(is_failed_attempt(f.type, f.metadata)) as retried,
      coalesce(min(f.created_at) filter (where f.type = 'DELIVERED'), min(f.created_at) filter (where f.type = 'SENT')) as arrived_at
    from facts f join (values (p_from, -1), (p_until, 1)) as m(until, sign) on f.created_at < m.until
    where not f.of_copy group by 1, 2, 3, 4, 5
  ), outcomes as (
    select *, arrived or coalesce(last_type = 'SENT', false) as delivered,
      not arrived and last_type in ('REJECTED', 'FAILED', 'DLQ_MOVED', 'EXPIRED', 'BOUNCE') as failed
    from stands
  )
  insert into company_statistics as s (company_id, hour, finally_delivered, finally_failed, recovered, not_recovered, delivery_seconds)
  select company_id, date_trunc('hour', accepted_at), coalesce(sum(sign) filter (where delivered), 0),
    coalesce(sum(sign) filter (where failed), 0), coalesce(sum(sign) filter (where delivered and retried), 0),
    coalesce(sum(sign) filter (where failed and retried), 0),
    coalesce(sum(sign * greatest(0, extract(epoch from arrived_at - due_at))) filter (where delivered), 0)
  from outcomes group by 1, 2 order by 1, 2
  on conflict (company_id, hour) do update set
    finally_delivered = s.finally_delivered + excluded.finally_delivered, finally_failed = s.finally_failed + excluded.finally_failed,
    recovered = s.recovered + excluded.recovered, not_recovered = s.not_recovered + excluded.not_recovered,
    delivery_seconds = s.delivery_seconds + excluded.delivery_seconds
$$;

revoke execute on function roll_up_outcomes from public;
