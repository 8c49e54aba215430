-- Part of roll_up_statistics: counts the events between two times into template_statistics.
create or replace function roll_up_template_statistics(p_from timestamptz, p_until timestamptz) returns void language sql as $$
  insert into template_statistics as s (company_id, type, hour, accepted, sent, failed, retries)
  select e.company_id, o.template_type, date_trunc('hour', e.created_at), count(*) filter (where e.type = 'QUEUED'),
    count(*) filter (where e.type = 'SENT'), count(*) filter (where e.type in ('DLQ_MOVED', 'EXPIRED')),
    count(*) filter (where e.type = 'RETRY_SCHEDULED')
  from email_events e join email_outbox o on o.outbox_id = e.outbox_id and not o.test and o.template_type is not null
  where e.created_at >= p_from and e.created_at < p_until
    and e.type in ('QUEUED', 'SENT', 'DLQ_MOVED', 'EXPIRED', 'RETRY_SCHEDULED')
  group by 1, 2, 3 order by 1, 2, 3
  on conflict (company_id, type, hour) do update set accepted = s.accepted + excluded.accepted, sent = s.sent + excluded.sent,
    failed = s.failed + excluded.failed, retries = s.retries + excluded.retries
$$;

revoke execute on function roll_up_template_statistics from public;
