-- Changes of waiting e-mails. Each locks the e-mail's row. Workers pass over a row that is locked and come back to it, so a transaction
-- that stays open delays its own e-mails only. One that does nothing is ended by Postgres, to let go of them.
create or replace function limit_idle_transaction() returns void language sql as $$
  select set_config('idle_in_transaction_session_timeout', '5s', true)
  where current_setting('idle_in_transaction_session_timeout')::interval not between interval '1 millisecond' and interval '5 seconds'
$$;

-- Cancels what no worker has started on. A start and this meet on the e-mail's row: one of them wins. With started_at, a worker died
-- after the message may have left: too late as well. Returns whether it was cancelled; null: there is no such e-mail.
-- p_companies null: of any company. p_unready: whether its ready row goes, too. A claim would wait for that, with everybody's e-mails, so
-- a company's own transaction leaves the row: it is claimed, and found to be of an e-mail that has ended.
create or replace function cancel_waiting_email(p_id uuid, p_companies uuid[], p_by text, p_unready boolean) returns boolean language plpgsql as $$
declare
  email email_outbox;
begin
  select * into email from email_outbox where outbox_id = p_id and (p_companies is null or company_id = any(p_companies))
    and status in ('PENDING', 'RETRY_SCHEDULED') and started_at is null for update;
  if not found then
    return (select false from email_outbox where outbox_id = p_id and (p_companies is null or company_id = any(p_companies)));
  end if;
  update email_outbox set status = 'CANCELLED', next_attempt_at = null where outbox_id = p_id;
  if p_unready then
    delete from email_ready where company_id = email.company_id and priority = email.priority and outbox_id = p_id;
  end if;
  delete from email_scheduled where due_at = email.next_attempt_at and outbox_id = p_id;
  update email_recipients set status = 'CANCELLED' where outbox_id = p_id and not suppressed;
  insert into email_events (outbox_id, company_id, type, metadata)
  values (p_id, email.company_id, 'CANCELLED', jsonb_build_object('cancelledBy', p_by));
  return true;
end $$;

-- Makes up to p_limit scheduled retries ready. Returns their ids.
create or replace function ready_retries(p_companies uuid[], p_test boolean, p_limit int) returns setof uuid language plpgsql as $$
begin
  return query with picked as materialized (
    select s.due_at, s.outbox_id, s.company_id, s.priority from email_scheduled s join email_outbox o on o.outbox_id = s.outbox_id
    where s.company_id = any(p_companies) and o.test = p_test and o.status = 'RETRY_SCHEDULED' and o.next_attempt_at = s.due_at
    order by s.due_at limit least(greatest(p_limit, 0), 1000) for update of o skip locked
  ), moved as (
    delete from email_scheduled s using picked p where s.due_at = p.due_at and s.outbox_id = p.outbox_id
  ), cleared as (
    update email_outbox o set next_attempt_at = null from picked p where o.outbox_id = p.outbox_id
  ), put as (
    insert into email_ready (company_id, priority, outbox_id) select p.company_id, p.priority, p.outbox_id from picked p
    -- See LOCK_EXISTING_READY_ROW in src/outbox/sql.ts.
    on conflict (company_id, priority, outbox_id) do update set priority = excluded.priority
  )
  select p.outbox_id from picked p;
  if found then
    perform pg_notify('email_ready', '');
  end if;
end $$;

-- CANCELLED, NOT_WAITING or NOT_FOUND.
create or replace function cancel_email(p_id uuid) returns text language plpgsql security definer
set search_path = public, pg_temp as $$
declare
  cancelled boolean;
begin
  if exists (select from email_outbox where outbox_id = p_id and not test) then
    cancelled := cancel_waiting_email(p_id, sql_companies(), 'role ' || session_user, false);
  end if;
  if cancelled then
    perform limit_idle_transaction();
    return 'CANCELLED';
  end if;
  return say_not_changed(p_id, cancelled is not null);
end $$;

-- Says why nothing was changed.
create or replace function say_not_changed(p_id uuid, p_exists boolean) returns text language plpgsql as $$
begin
  raise notice '%', case when p_exists then format('Nothing was changed: the e-mail %s has been started or has ended', p_id)
    else format('Nothing was changed: there is no e-mail %s', p_id) end;
  return case when p_exists then 'NOT_WAITING' else 'NOT_FOUND' end;
end $$;

revoke execute on function limit_idle_transaction(), cancel_waiting_email(uuid, uuid[], text, boolean),
  ready_retries(uuid[], boolean, int), cancel_email(uuid), say_not_changed(uuid, boolean) from public;
