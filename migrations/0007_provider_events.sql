-- What providers report: stored as it came, answered when stored, processed apart (db/provider-events.ts).

create table provider_events (
  -- Made of provider and external_id: the same report again finds it taken.
  event_id    uuid primary key,
  provider    text not null check (provider in ('ses', 'resend', 'smtp', 'capture')),
  external_id text not null check (length(external_id) between 1 and 300),
  received_at timestamptz not null default now(),
  -- Text, not jsonb: what is no JSON is kept too, and nobody looks inside but the gateway. Gone once it is processed, since it
  -- holds addresses in the clear; what matters of it is in email_events by then.
  payload     text check (length(payload) <= 1000000),
  state       text not null default 'waiting' check (state in ('waiting', 'processed', 'ignored', 'unmatched', 'unreadable')),
  attempts    smallint not null default 0,
  next_try_at timestamptz not null default now(),
  outbox_id   uuid,
  note        text,
  check (state <> 'waiting' or payload is not null)
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
create index provider_events_waiting on provider_events (next_try_at) where state = 'waiting';
-- Rows lie in the order of their arrival, more or less: enough to find the old ones, and next to nothing to write.
create index provider_events_age on provider_events using brin (received_at) with (pages_per_range = 32, autosummarize = on);

-- A company's figures by the hour. sent is added by each process every few seconds, never by a settlement.
create table company_reputation (
  company_id uuid not null references companies on delete cascade,
  hour       timestamptz not null,
  sent       bigint not null default 0,
  bounced    bigint not null default 0,
  complained bigint not null default 0,
  primary key (company_id, hour)
);
create index company_reputation_hour on company_reputation (hour);

-- reputation_since: what was sent before counts no more (an administrator has resumed the company).
alter table companies
  add column paused_by text,
  add column warned_at timestamptz,
  add column warn_reason text,
  add column reputation_since timestamptz not null default '-infinity';
alter table companies add constraint warned_for_a_reason check ((warned_at is null) = (warn_reason is null));
update companies set paused_by = 'unknown' where paused_at is not null;

-- Who warned, paused or resumed a company, when and why.
create table company_audit_log (
  id           uuid primary key default uuid_v7_now(),
  company_id   uuid not null references companies on delete cascade,
  action       text not null check (action in ('WARNED', 'WARNING_ENDED', 'PAUSED', 'RESUMED')),
  reason       text not null check (reason ~ '\S'),
  performed_by text not null check (length(performed_by) between 1 and 100),
  performed_at timestamptz not null default now(),
  metadata     jsonb not null default '{}'
);
create index company_audit_log_company on company_audit_log (company_id, id);
