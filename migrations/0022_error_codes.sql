-- One vocabulary of error codes: error_code and last_failure_code are the gateway's own, and what the provider called the error
-- is beside them.
alter table email_outbox add column provider_code text;
alter table dead_letters add column provider_code text;

-- Dead letters had the provider's word where it gave one. The event that came with each has the gateway's code; where the event
-- is gone with its partition, the e-mail may have it. Without either, the entry stays readable as it is.
update dead_letters d set provider_code = d.last_failure_code, last_failure_code = own.code,
  retry_history = case when jsonb_array_length(d.retry_history) > 0 and d.retry_history -> -1 ->> 'error' = d.last_failure_code
    then jsonb_set(d.retry_history, '{-1}',
      (d.retry_history -> -1) || jsonb_build_object('error', own.code, 'providerCode', d.last_failure_code))
    else d.retry_history end
from (
  select e.outbox_id, coalesce((
      select v.metadata ->> 'lastErrorCode' from email_event_log v
      where v.outbox_id = e.outbox_id and v.type = 'DLQ_MOVED' order by v.created_at desc, v.event_id desc limit 1),
    (select o.error_code from email_outbox o where o.outbox_id = e.outbox_id and o.status in ('REJECTED', 'FAILED', 'DLQ'))) as code
  from dead_letters e where e.last_failure_code is not null
) own
where own.outbox_id = d.outbox_id and own.code is not null and own.code <> d.last_failure_code;

-- The same for e-mails that are read with their error: the event that told it has the provider's word.
update email_outbox o set provider_code = d.provider_code
from dead_letters d where d.outbox_id = o.outbox_id and d.provider_code is not null and o.error_code = d.last_failure_code;
