-- Actions on many dead letters or suppressions at once, asked for in the admin UI and carried out by workers in batches. Progress is
-- committed with each batch, so a killed worker neither repeats nor loses one.

create table bulk_actions (
  action_id    uuid primary key,
  kind         text not null check (kind in ('replay-dead-letters', 'purge-dead-letters', 'import-suppressions')),
  -- The filter with its upper bound in time, or what the items are. For people to read, and for the walk over dead letters.
  selection    jsonb not null,
  -- Of the filter, or of the list that is imported to. Null: all companies.
  company_id   uuid,
  requested_by text not null check (length(requested_by) between 1 and 100),
  reason       text not null check (reason ~ '\S'),
  state        text not null default 'waiting' check (state in ('waiting', 'running', 'stopped', 'done', 'failed')),
  total        int not null check (total >= 0),
  done         int not null default 0,
  failed       int not null default 0,
  -- What became of them, by outcome.
  counts       jsonb not null default '{}',
  -- The first refused lines of an import.
  problems     jsonb not null default '[]',
  -- Where the next batch begins.
  position     jsonb not null default '{}',
  -- Batches in a row that ended with an error; the last of these errors.
  errors       smallint not null default 0,
  last_error   text,
  created_at   timestamptz not null default now(),
  started_at   timestamptz,
  updated_at   timestamptz not null default now(),
  finished_at  timestamptz,
  check ((state in ('stopped', 'done', 'failed')) = (finished_at is not null))
);
create index bulk_actions_open on bulk_actions (created_at) where finished_at is null;
create index bulk_actions_newest on bulk_actions (created_at, action_id);

-- What an action has still to do, unless it walks over a filter: chosen e-mails, those that somebody held, lines to import.
create table bulk_action_items (
  action_id uuid not null references bulk_actions on delete cascade,
  ordinal   int not null,
  item      jsonb not null,
  primary key (action_id, ordinal)
);

-- Dead letters are grouped from the index alone, and found by their code.
create index dead_letters_group on dead_letters (last_failure_code, company_id, moved_at);
create index dead_letters_provider_code on dead_letters (provider_code) where provider_code is not null;

-- Entries that were removed or have expired, newest first.
create index suppression_audit_log_ended on suppression_audit_log (action, id) where action <> 'ADDED';
