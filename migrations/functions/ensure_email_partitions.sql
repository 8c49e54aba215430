-- Makes the partitions of one day, for every table of an e-mail.
create or replace function ensure_email_partitions(p_day date) returns void language plpgsql as $$
declare
  parent text;
  child text;
  lower_bound uuid := uuid_v7_floor(p_day::timestamp at time zone 'UTC');
  upper_bound uuid := uuid_v7_floor((p_day + 1)::timestamp at time zone 'UTC');
begin
  perform pg_advisory_xact_lock(hashtext('ensure_email_partitions'));
  foreach parent in array array['email_outbox', 'email_recipients', 'email_content', 'email_attachments', 'email_events']
  loop
    child := parent || '_' || to_char(p_day, 'YYYYMMDD');
    continue when exists (select from pg_inherits where inhparent = parent::regclass and inhrelid = to_regclass(child));
    -- It is there and no partition, if somebody has detached it.
    if to_regclass(child) is null then
      execute format('create table %I (like %I including defaults including generated including constraints including storage)', child, parent);
      if parent in ('email_outbox', 'email_recipients') then
        -- Room on the page for the versions that an e-mail's life adds to its row: an update that stays on its page writes no index.
        execute format('alter table %I set (fillfactor = %s)', child, case parent when 'email_outbox' then 40 else 60 end);
      end if;
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, child, lower_bound, upper_bound);
  end loop;
end $$;

revoke execute on function ensure_email_partitions from public;
