-- What providers report: stored as it came, answered when stored, processed apart.

create table provider_events (
  -- Made of provider and external_id: the same report again finds it taken.
  event_id    uuid primary key,
  provider    text not null check (provider in ('ses', 'resend', 'smtp', 'capture')),
  external_id text not null check (length(external_id) between 1 and 300),
  received_at timestamptz not null default now(),
  -- Text, because what is no JSON is kept too. Null once processed: it holds addresses in the clear, and what matters is in
  -- email_events by then.
  payload     text check (length(payload) <= 1000000),
  state       text not null default 'waiting' check (state in ('waiting', 'processed', 'ignored', 'unmatched', 'unreadable')),
  attempts    smallint not null default 0,
  next_try_at timestamptz not null default now(),
  outbox_id   uuid,
  note        text,
  check (state <> 'waiting' or payload is not null)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index provider_events_waiting on provider_events (next_try_at) where state = 'waiting';
-- Rows lie roughly in the order of their arrival: a block range index finds the old ones and costs next to nothing to write.
create index provider_events_age on provider_events using brin (received_at) with (pages_per_range = 32, autosummarize = on);
