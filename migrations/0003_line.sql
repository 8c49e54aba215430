-- What the sending line works from: who is ready, who waits for a time, who is being worked on, who died.

-- Narrow, and only mail that may be sent now: its size is the backlog's, never the outbox's.
create table email_ready (
  company_id uuid not null,
  priority   smallint not null,
  outbox_id  uuid not null,
  primary key (company_id, priority, outbox_id)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);

-- Scheduled and retrying mail, until it is due.
create table email_scheduled (
  due_at     timestamptz not null,
  outbox_id  uuid not null,
  company_id uuid not null,
  priority   smallint not null,
  primary key (due_at, outbox_id)
);

-- One lease per claimed batch, not per e-mail.
create table leases (
  lease_id   uuid primary key,
  holder     text not null,
  outbox_ids uuid[] not null,
  taken_at   timestamptz not null default now(),
  expires_at timestamptz not null
);

create table dead_letters (
  outbox_id           uuid primary key,
  company_id          uuid not null,
  failed_attempts     smallint not null check (failed_attempts >= 1),
  last_failure_reason text not null check (last_failure_reason ~ '\S'),
  last_failure_code   text,
  last_failure_at     timestamptz not null,
  retry_history       jsonb not null,
  original_data       jsonb,
  enqueued_at         timestamptz not null,
  moved_at            timestamptz not null default now()
);

-- The local inbox of the capture provider: nothing leaves the machine.
create table capture_inbox (
  message_id  text primary key,
  attempt_id  uuid not null unique,
  outbox_id   uuid not null,
  company_id  uuid not null,
  captured_at timestamptz not null default now(),
  message     jsonb not null
);
create index capture_inbox_newest on capture_inbox (captured_at desc);

-- Where the fair round stands: the company served last.
create table fair_cursor (
  only_row   boolean primary key default true check (only_row),
  company_id uuid not null
);
insert into fair_cursor (company_id) values ('00000000-0000-0000-0000-000000000000');
