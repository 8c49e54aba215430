-- What companies are told, and where. Deliveries are enqueued by the statement that writes the e-mail's event.

create table webhook_endpoints (
  endpoint_id           uuid primary key,
  company_id            uuid not null references companies on delete cascade,
  -- Hears of test e-mails only, as a test key sees test data only.
  test                  boolean not null default false,
  url                   text not null check (length(url) between 1 and 2048),
  description           text,
  -- Of the body. resend: made by the Resend-compatible API.
  format                text not null default 'native' check (format in ('native', 'resend')),
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
-- A removed endpoint stays, disabled, until its last delivery is purged. Only the others are looked up when an event is written.
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

-- Drawn while the e-mail's row is locked, so it rises with each event of one e-mail, whatever the clock does.
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
