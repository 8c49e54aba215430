-- Since when a transaction is open that has enqueued e-mails by SQL. Each holds a lock with the minute of its start (put_sql_email).
-- An hour ago at most; null: there is none.
create or replace function open_sql_emails_since() returns timestamptz language sql as $$
  select greatest(to_timestamp(min(objid::bigint) * 60), now() - interval '1 hour') from pg_locks
  where locktype = 'advisory' and classid = 7305002 and objsubid = 2
    and database = (select oid from pg_database where datname = current_database())
  having count(*) > 0
$$;

-- Counts the events since the last call into the statistics of companies and templates and the totals of /metrics. A minute late: every
-- transaction of the gateway that writes events has ended by then, because statements are limited to less. One of an application is
-- waited for. At most five minutes of events in one call, so that it is short also after a long stop. Answers whether it has counted;
-- false: there is nothing to count, or another process is at it.
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
  perform roll_up_counts(from_time, until_time);
  perform roll_up_outcomes(from_time, until_time);
  perform roll_up_template_statistics(from_time, until_time);
  delete from minute_statistics where minute < now() - interval '2 hours';
  update statistics_cursor set counted_until = until_time;
  return true;
end $$;

revoke execute on function open_sql_emails_since, roll_up_statistics from public;
