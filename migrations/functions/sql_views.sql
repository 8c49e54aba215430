-- The live e-mails that a session may see, in the words of an application. security_barrier: a condition of the reader is looked at
-- after ours, so that no function or cast in it meets a row of another company.

create or replace view email_queue with (security_barrier) as
select o.outbox_id as id, o.user_id, o.template_type,
  (select r.address from email_recipients r where r.outbox_id = o.outbox_id and r.kind = 'to' order by r.ordinal limit 1) as recipient_email,
  (select c.variables from email_content c where c.outbox_id = o.outbox_id) as payload,
  case when o.status in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN') then 'pending'
    when o.status in ('SENT', 'DELIVERED', 'COMPLAINED') then 'sent'
    when o.status = 'CANCELLED' then 'cancelled' else 'failed' end as status,
  -- A retry counts when it is due: none has been needed while the first attempt runs, or when it was the last one.
  (o.attempts - case when o.attempts > 0 and o.status not in ('PENDING', 'RETRY_SCHEDULED', 'CANCELLED') then 1 else 0 end)::int as retries,
  (o.max_attempts - 1)::int as max_retries,
  coalesce((select max(v.created_at) from email_events v where v.outbox_id = o.outbox_id
    and v.type in ('SENT_ATTEMPT', 'RETRY_SCHEDULED', 'FAILED', 'REJECTED')), o.started_at) as last_attempt_at,
  o.next_attempt_at as next_retry_at,
  coalesce(o.failure_reason, o.error_code, case when o.status = 'BOUNCED' then concat_ws(' ', 'Bounced:', o.bounce_type) end) as error_message,
  o.message_id as resend_id, o.created_at
from email_outbox o where o.company_id = any ((select sql_companies())::uuid[]) and not o.test;

-- Column names of the documents, as Postgres reads them without quotes.
create or replace view email_logs with (security_barrier) as
select o.outbox_id as outboxid, o.company_id as companyid, o.recipient_id as recipientid,
  (select r.address from email_recipients r where r.outbox_id = o.outbox_id and r.kind = 'to' order by r.ordinal limit 1) as "to",
  o.subject, o.status, o.message_id as sesmessageid, o.error_code as errorcode, o.failure_reason as errorreason, o.attempts,
  o.duration_ms as durationms, o.request_id as requestid, o.created_at as createdat, o.sent_at as sentat, o.failed_at as failedat
from email_outbox o where o.company_id = any ((select sql_companies())::uuid[]) and not o.test;

-- A dead letter outlives its e-mail, so one whose e-mail is gone is shown as well.
create or replace view dlq with (security_barrier) as
select d.outbox_id as jobid, d.outbox_id as outboxid, d.company_id as companyid, d.original_data as originaldata,
  d.failed_attempts as failedattempts, d.last_failure_reason as lastfailurereason, d.last_failure_code as lastfailurecode,
  d.last_failure_at as lastfailuretimestamp, d.enqueued_at as enqueuedat, d.moved_at as movedtodlqat, d.retry_history as retryhistory
from dead_letters d left join email_outbox o on o.outbox_id = d.outbox_id
where d.company_id = any ((select sql_companies())::uuid[]) and o.test is not true;

-- INSERT INTO email_queue is enqueue_email for each row. The other columns are the gateway's.
create or replace function insert_into_email_queue() returns trigger language plpgsql
set search_path = public, pg_temp as $$
begin
  if coalesce(new.status, 'pending') <> 'pending' or coalesce(new.retries, 0) <> 0 or num_nonnulls(new.id, new.max_retries,
    new.last_attempt_at, new.next_retry_at, new.error_message, new.resend_id, new.created_at) > 0 then
    raise feature_not_supported using message = 'INSERT INTO email_queue takes user_id, template_type, recipient_email and payload',
      hint = 'The gateway sets the other columns.';
  end if;
  new.id := enqueue_email(new.user_id, new.template_type, new.recipient_email, new.payload);
  new.status := 'pending';
  new.retries := 0;
  return new;
end $$;
create or replace trigger enqueue instead of insert on email_queue for each row execute function insert_into_email_queue();

-- Without this, Postgres would pass the change on to the table, and the owner would lose e-mails under way.
create or replace function refuse_view_change() returns trigger language plpgsql as $$
begin
  raise feature_not_supported using message = format('%s is not changed by %s', tg_table_name, tg_op),
    hint = 'Use enqueue_email, cancel_email, mark_email_failed or process_pending_emails_for_retry.';
end $$;
create or replace trigger refuse instead of update or delete on email_queue for each row execute function refuse_view_change();
create or replace trigger refuse instead of insert or update or delete on email_logs for each row execute function refuse_view_change();

-- Brings up to p_limit scheduled retries forward and returns them.
create or replace function process_pending_emails_for_retry(p_limit int) returns setof email_queue language plpgsql security definer
set search_path = public, pg_temp as $$
declare
  ids uuid[] := array(select ready_retries(sql_companies(), false, p_limit));
begin
  return query select * from email_queue q where q.id = any(ids);
end $$;

revoke execute on function insert_into_email_queue(), refuse_view_change(), process_pending_emails_for_retry(int) from public;
