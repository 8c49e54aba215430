-- Counts the events since the last call into company_statistics. A minute late: every transaction that writes events has ended by
-- then, because statements are limited to less. Answers how many rows of statistics were written; null when another process is at it.
create or replace function roll_up_statistics() returns bigint language plpgsql as $$
declare
  from_time timestamptz;
  until_time timestamptz := now() - interval '1 minute';
  written bigint;
begin
  select counted_until into from_time from statistics_cursor for update skip locked;
  if from_time is null or from_time >= until_time then
    return null;
  end if;
  insert into company_statistics as s (company_id, hour, accepted, sent, delivered, bounced, complained, rejected, failed, expired)
  select e.company_id, date_trunc('hour', e.created_at), count(*) filter (where e.type = 'QUEUED'), count(*) filter (where e.type = 'SENT'),
    count(*) filter (where e.type = 'DELIVERED'), count(*) filter (where e.type = 'BOUNCE'), count(*) filter (where e.type = 'COMPLAINT'),
    count(*) filter (where e.type = 'REJECTED'), count(*) filter (where e.type = 'FAILED'), count(*) filter (where e.type = 'EXPIRED')
  from email_events e join email_outbox o on o.outbox_id = e.outbox_id and not o.test
  where e.created_at >= from_time and e.created_at < until_time
    and e.type in ('QUEUED', 'SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT', 'REJECTED', 'FAILED', 'EXPIRED')
  group by 1, 2 order by 1, 2
  on conflict (company_id, hour) do update set accepted = s.accepted + excluded.accepted, sent = s.sent + excluded.sent,
    delivered = s.delivered + excluded.delivered, bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained,
    rejected = s.rejected + excluded.rejected, failed = s.failed + excluded.failed, expired = s.expired + excluded.expired;
  get diagnostics written = row_count;
  perform roll_up_template_statistics(from_time, until_time);
  update statistics_cursor set counted_until = until_time;
  return written;
end $$;
