-- One row at a time, each found by its key. As joins, these were planned while the queue was empty and vacuumed, when reading
-- all of it looks cheapest, and then read all of it for every forty deliveries until the next ANALYZE.

-- Writes the outcome of one attempt and takes the delivery out of webhook_ready. Returns the outcome, or null when another process
-- has written an outcome of this attempt.
create or replace function settle_webhook(
  p_endpoint uuid, p_delivery uuid, p_attempts smallint, p_outcome text, p_delay_ms float8, p_body text, p_status smallint,
  p_error text, p_answer text, p_duration_ms int)
returns text language plpgsql as $$
declare
  delivery_sequence bigint;
begin
  update webhook_deliveries d set status = case p_outcome when 'retry' then 'waiting' else p_outcome end, attempts = d.attempts + 1,
    due_at = now() + p_delay_ms * interval '1 millisecond', body = case when p_outcome = 'retry' then coalesce(d.body, p_body) end,
    last_attempt_at = now(), last_status = p_status, last_error = p_error, last_answer = p_answer, last_duration_ms = p_duration_ms
  where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and d.attempts = p_attempts and d.status = 'waiting'
  returning d.sequence into delivery_sequence;
  if not found then
    return null;
  end if;
  if p_outcome = 'retry' or p_answer <> '' then
    -- Under way while its e-mail was erased. A statement of its own: it sees what the erasure committed while the update above
    -- waited for the row.
    update webhook_deliveries d set body = null, last_answer = null from email_outbox o
    where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and o.outbox_id = d.outbox_id and o.erased_at is not null;
  end if;
  delete from webhook_ready r where r.endpoint_id = p_endpoint and r.sequence = delivery_sequence;
  return p_outcome;
end $$;

-- Moves a waiting delivery to a later time: it is due then, and no longer ready.
create or replace function postpone_webhook(p_endpoint uuid, p_delivery uuid, p_due timestamptz) returns void language plpgsql as $$
declare
  delivery_sequence bigint;
begin
  update webhook_deliveries d set due_at = p_due
  where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and d.status = 'waiting' returning d.sequence into delivery_sequence;
  delete from webhook_ready r where r.endpoint_id = p_endpoint and r.sequence = delivery_sequence;
end $$;

-- Makes a waiting delivery ready, because it is due.
create or replace function ready_webhook(p_endpoint uuid, p_delivery uuid) returns void language plpgsql as $$
declare
  delivery_sequence bigint;
begin
  update webhook_deliveries d set due_at = null
  where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and d.status = 'waiting' returning d.sequence into delivery_sequence;
  if found then
    insert into webhook_ready (endpoint_id, sequence, delivery_id) values (p_endpoint, delivery_sequence, p_delivery) on conflict do nothing;
  end if;
end $$;

-- Fails a waiting delivery whose endpoint is disabled or removed.
create or replace function fail_webhook(p_endpoint uuid, p_sequence bigint, p_delivery uuid) returns void language plpgsql as $$
begin
  update webhook_deliveries d set status = 'failed', due_at = null, last_error = 'ENDPOINT_DISABLED'
  where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and d.status = 'waiting';
  delete from webhook_ready r where r.endpoint_id = p_endpoint and r.sequence = p_sequence;
end $$;

create or replace function purge_webhook(p_endpoint uuid, p_delivery uuid) returns void language sql as $$
  delete from webhook_deliveries d where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery
$$;

-- A function of its own: called after the company's row was locked, it sees what the transaction before this one has committed.
create or replace function webhook_endpoint_count(p_company uuid, p_test boolean) returns bigint language sql volatile as $$
  select count(*) from webhook_endpoints where company_id = p_company and test = p_test and disabled_reason is distinct from 'DELETED'
$$;

revoke execute on function settle_webhook, postpone_webhook, ready_webhook, fail_webhook, purge_webhook, webhook_endpoint_count
  from public;
