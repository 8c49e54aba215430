-- One attempt counted as failed: the retry that its policy says, or a dead letter. RETRY_SCHEDULED, DLQ, NOT_WAITING or NOT_FOUND.
-- Its ready row stays, as with cancel_email: it is claimed, and found to be of an e-mail that is not due.
create or replace function mark_email_failed(p_id uuid, p_error text) returns text language plpgsql security definer
set search_path = public, pg_temp as $$
declare
  email email_outbox;
  reason text := coalesce(nullif(btrim(left(p_error, 1000)), ''), 'Marked as failed');
  policy text;
  delay_ms int;
begin
  select * into email from email_outbox where outbox_id = p_id and company_id = any(sql_companies()) and not test
    and status in ('PENDING', 'RETRY_SCHEDULED') and started_at is null for update;
  if not found then
    return say_not_changed(p_id, exists (
      select from email_outbox where outbox_id = p_id and company_id = any(sql_companies()) and not test));
  end if;
  perform limit_idle_transaction();
  delete from email_scheduled where due_at = email.next_attempt_at and outbox_id = p_id;
  if email.attempts + 1 >= email.max_attempts then
    perform end_marked_email(email, reason);
    return 'DLQ';
  end if;
  -- Without a policy of the company or the request, that of the setting RETRY_POLICY, as workers record it.
  policy := coalesce(email.retry_policy, (
    select p.settings ->> 'RETRY_POLICY' from gateway_processes p where p.role <> 'api' order by p.seen_at desc limit 1));
  delay_ms := retry_delay_ms(policy, email.attempts + 1, random());
  update email_outbox set status = 'RETRY_SCHEDULED', attempts = attempts + 1, error_code = 'MARKED_AS_FAILED', provider_code = null,
    error_category = 'TRANSIENT_ERROR', failure_reason = reason,
    next_attempt_at = least(now() + delay_ms * interval '1 millisecond', greatest(expires_at, now()))
  where outbox_id = p_id returning * into email;
  insert into email_scheduled (due_at, outbox_id, company_id, priority)
  values (email.next_attempt_at, p_id, email.company_id, email.priority);
  insert into email_events (outbox_id, company_id, type, metadata) values (p_id, email.company_id, 'RETRY_SCHEDULED',
    marked_error(reason, email.attempts) || jsonb_build_object('willRetry', true, 'nextAttemptNumber', email.attempts + 1, 'backoffDelay', delay_ms));
  return 'RETRY_SCHEDULED';
end $$;

-- What the events say of it.
create or replace function marked_error(p_reason text, p_attempt int) returns jsonb language sql as $$
  select jsonb_build_object('errorCode', 'MARKED_AS_FAILED', 'errorCategory', 'TRANSIENT_ERROR', 'errorMessage', p_reason,
    'attempt', p_attempt, 'markedBy', 'role ' || session_user)
$$;

-- The last attempt was counted as failed: what settling an attempt writes then (src/outbox/settle.ts).
create or replace function end_marked_email(p_email email_outbox, p_reason text) returns void language plpgsql as $$
declare
  spent int := p_email.attempts + 1;
  moved uuid := gen_random_uuid();
begin
  update email_outbox set status = 'DLQ', attempts = spent, next_attempt_at = null, failed_at = now(), error_code = 'MARKED_AS_FAILED',
    provider_code = null, error_category = 'TRANSIENT_ERROR', failure_reason = p_reason
  where outbox_id = p_email.outbox_id;
  update email_recipients set status = 'DLQ' where outbox_id = p_email.outbox_id and not suppressed;
  insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, last_failure_at,
    retry_history, original_data, enqueued_at)
  select p_email.outbox_id, p_email.company_id, spent, p_reason, 'MARKED_AS_FAILED', now(),
    coalesce(jsonb_agg(jsonb_build_object('attempt', v.metadata -> 'attempt', 'timestamp', v.created_at, 'error', v.metadata -> 'errorCode',
      'message', v.metadata -> 'errorMessage') order by v.created_at, v.event_id), '[]')
      || jsonb_build_array(jsonb_build_object('attempt', spent, 'timestamp', now(), 'error', 'MARKED_AS_FAILED', 'message', p_reason)),
    jsonb_build_object('outboxId', p_email.outbox_id, 'companyId', p_email.company_id, 'requestId', p_email.request_id,
      'externalId', p_email.external_id, 'subject', p_email.subject, 'templateType', p_email.template_type, 'tags', p_email.tags),
    p_email.created_at
  from email_events v where v.outbox_id = p_email.outbox_id and v.type = 'RETRY_SCHEDULED' and not v.metadata ?| array['throttled', 'unconnected']
    and v.created_at >= coalesce((select max(r.created_at) from email_events r
      where r.outbox_id = p_email.outbox_id and r.type = 'REPLAYED'), '-infinity');
  insert into email_events (outbox_id, event_id, company_id, type, created_at, metadata) values
    (p_email.outbox_id, gen_random_uuid(), p_email.company_id, 'FAILED', now(),
      marked_error(p_reason, spent) || jsonb_build_object('willRetry', false, 'reason', p_reason)),
    (p_email.outbox_id, moved, p_email.company_id, 'DLQ_MOVED', now() + interval '1 microsecond',
      jsonb_build_object('attempts', spent, 'lastError', p_reason, 'lastErrorCode', 'MARKED_AS_FAILED'));
  with put as (
    insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, outbox_id, event_id)
    select w.endpoint_id, uuid_v7_now(), w.company_id, 'email.failed', p_email.outbox_id, moved from webhook_endpoints w
    where w.company_id = p_email.company_id and w.test = p_email.test and w.disabled_at is null and 'email.failed' = any(w.event_types)
    returning endpoint_id, sequence, delivery_id
  )
  insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from put;
  perform pg_notify('webhook_ready', '');
end $$;

revoke execute on function mark_email_failed(uuid, text), marked_error(text, int), end_marked_email(email_outbox, text) from public;
