-- What the role of a company may use.
create or replace function grant_sql_access(p_role name) returns void language plpgsql as $$
begin
  execute format('grant usage on schema public to %I', p_role);
  execute format('grant select, insert on email_queue to %I', p_role);
  execute format('grant select on email_logs, dlq to %I', p_role);
  execute format('grant execute on function sql_companies(), enqueue_email(uuid, text, text, jsonb), cancel_email(uuid),
    mark_email_failed(uuid, text), process_pending_emails_for_retry(int) to %I', p_role);
end $$;

create or replace function revoke_sql_access(p_role name) returns void language plpgsql as $$
begin
  execute format('revoke usage on schema public from %I', p_role);
  execute format('revoke all on email_queue, email_logs, dlq from %I', p_role);
  execute format('revoke execute on function sql_companies(), enqueue_email(uuid, text, text, jsonb), cancel_email(uuid),
    mark_email_failed(uuid, text), process_pending_emails_for_retry(int) from %I', p_role);
end $$;
revoke execute on function grant_sql_access(name), revoke_sql_access(name) from public;
