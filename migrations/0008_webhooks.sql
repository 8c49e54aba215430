-- What companies are told, and where. Enqueued by the very statement that writes the e-mail's event (db/webhook-queue.ts).

create table webhook_endpoints (
  endpoint_id           uuid primary key,
  company_id            uuid not null references companies on delete cascade,
  url                   text not null check (length(url) between 1 and 2048),
  description           text,
  event_types           text[] not null check (cardinality(event_types) > 0),
  -- Encrypted, not hashed: it signs.
  secret_cipher         bytea not null,
  -- After a rotation both sign until previous_until.
  previous_cipher       bytea,
  previous_until        timestamptz,
  disabled_at           timestamptz,
  disabled_reason       text check (disabled_reason in ('MANUAL', 'GONE', 'FAILING', 'DELETED')),
  created_at            timestamptz not null default now(),
  updated_at            timestamptz not null default now(),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((previous_cipher is null) = (previous_until is null))
);
-- A removed endpoint stays, disabled, until its last delivery is purged. Only these are asked for by the sending line.
create index webhook_endpoints_wanting on webhook_endpoints (company_id) where disabled_at is null;
create index webhook_endpoints_company on webhook_endpoints (company_id, endpoint_id);

-- Who delivers to an endpoint (one process at a time: what is in flight is counted there), and how it has answered lately.
create table webhook_state (
  endpoint_id   uuid primary key references webhook_endpoints on delete cascade,
  holder        uuid,
  held_until    timestamptz not null default '-infinity',
  -- In a row. Above zero, one delivery at a time; resume_at leaves the receiver alone meanwhile.
  failures      int not null default 0,
  failing_since timestamptz,
  resume_at     timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Drawn while the e-mail's row is locked, so it rises with each thing told about one e-mail, whatever the clock does.
create sequence webhook_sequence;

-- No foreign keys: each would lock the endpoint's row for every e-mail.
create table webhook_deliveries (
  endpoint_id      uuid not null,
  delivery_id      uuid not null,
  sequence         bigint not null default nextval('webhook_sequence'),
  company_id       uuid not null,
  type             text not null,
  -- About an e-mail: its event holds the facts. Otherwise they are in data.
  outbox_id        uuid,
  event_id         uuid,
  data             jsonb,
  status           text not null default 'waiting' check (status in ('waiting', 'delivered', 'failed')),
  attempts         smallint not null default 0,
  -- Of a retry. What is due is in webhook_ready instead.
  due_at           timestamptz,
  -- As it was sent first; every retry sends the same bytes.
  body             text,
  created_at       timestamptz not null default now(),
  last_attempt_at  timestamptz,
  last_status      smallint,
  last_error       text,
  last_answer      text,
  last_duration_ms int,
  primary key (endpoint_id, delivery_id),
  check ((outbox_id is null) = (event_id is null)),
  check (outbox_id is not null or data is not null),
  check (due_at is null or status = 'waiting')
) with (fillfactor = 80);
create index webhook_deliveries_email on webhook_deliveries (outbox_id, endpoint_id) where outbox_id is not null;
create index webhook_deliveries_due on webhook_deliveries (due_at) where due_at is not null;

-- Narrow, and only what may be delivered now.
create table webhook_ready (
  endpoint_id uuid not null,
  sequence    bigint not null,
  delivery_id uuid not null,
  primary key (endpoint_id, sequence)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);

-- A function, so that it is asked after the company's row was locked, with what the one before us has written.
create function webhook_endpoint_count(p_company uuid) returns bigint language sql volatile as $$
  select count(*) from webhook_endpoints where company_id = p_company and disabled_reason is distinct from 'DELETED'
$$;

-- One row at a time, each found by its key. As joins, these were planned while the queue was empty and vacuumed, when reading
-- all of it looks cheapest, and then read all of it for every forty deliveries until the next ANALYZE.

-- The end of one attempt; null when somebody else's report came first.
create function settle_webhook(
  p_endpoint uuid, p_delivery uuid, p_attempts smallint, p_outcome text, p_delay_ms float8, p_body text, p_status smallint,
  p_error text, p_answer text, p_duration_ms int)
returns text language plpgsql as $$
declare
  place bigint;
begin
  update webhook_deliveries d set status = case p_outcome when 'retry' then 'waiting' else p_outcome end, attempts = d.attempts + 1,
    due_at = now() + p_delay_ms * interval '1 millisecond', body = case when p_outcome = 'retry' then coalesce(d.body, p_body) end,
    last_attempt_at = now(), last_status = p_status, last_error = p_error, last_answer = p_answer, last_duration_ms = p_duration_ms
  where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and d.attempts = p_attempts and d.status = 'waiting'
  returning d.sequence into place;
  if not found then
    return null;
  end if;
  delete from webhook_ready r where r.endpoint_id = p_endpoint and r.sequence = place;
  return p_outcome;
end $$;

-- Not now but then.
create function postpone_webhook(p_endpoint uuid, p_delivery uuid, p_due timestamptz) returns void language plpgsql as $$
declare
  place bigint;
begin
  update webhook_deliveries d set due_at = p_due
  where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and d.status = 'waiting' returning d.sequence into place;
  delete from webhook_ready r where r.endpoint_id = p_endpoint and r.sequence = place;
end $$;

-- Its time has come.
create function ready_webhook(p_endpoint uuid, p_delivery uuid) returns void language plpgsql as $$
declare
  place bigint;
begin
  update webhook_deliveries d set due_at = null
  where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and d.status = 'waiting' returning d.sequence into place;
  if found then
    insert into webhook_ready (endpoint_id, sequence, delivery_id) values (p_endpoint, place, p_delivery) on conflict do nothing;
  end if;
end $$;

-- Its endpoint is disabled or removed.
create function fail_webhook(p_endpoint uuid, p_sequence bigint, p_delivery uuid) returns void language plpgsql as $$
begin
  update webhook_deliveries d set status = 'failed', due_at = null, last_error = 'ENDPOINT_DISABLED'
  where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery and d.status = 'waiting';
  delete from webhook_ready r where r.endpoint_id = p_endpoint and r.sequence = p_sequence;
end $$;

create function purge_webhook(p_endpoint uuid, p_delivery uuid) returns void language sql as $$
  delete from webhook_deliveries d where d.endpoint_id = p_endpoint and d.delivery_id = p_delivery
$$;
