-- Everything that walks many rows is a job: a replay or purge of dead letters, an import of suppressions, the erasure of a person, asked for
-- over HTTP or by a command. One commit moves rows, position and counts together, so a killed process neither repeats nor loses anything.
-- Open bulk actions and erasures are carried over with their progress, and go on.
create table jobs (
  job_id         uuid primary key,
  kind           text not null check (kind in ('replay-dead-letters', 'purge-dead-letters', 'import-suppressions', 'erase-person')),
  -- What to do: the filter with its upper bound in time, or how many items there are.
  input          jsonb not null,
  -- Of the filter, of the list that is imported to, or of the erasure. Null: all companies.
  company_id     uuid,
  requested_by   text not null check (length(requested_by) between 1 and 100),
  reason         text check (reason ~ '\S'),
  -- Asked for with a reason by POST /admin/bulk-actions: listed there, and audited as one. The others have audit entries of their own.
  is_bulk_action boolean not null,
  state          text not null default 'waiting' check (state in ('waiting', 'running', 'stopped', 'done', 'failed')),
  total          int not null check (total >= 0),
  done           int not null default 0,
  failed         int not null default 0,
  -- What became of them, by outcome.
  counts         jsonb not null default '{}',
  -- The first refused lines of an import.
  problems       jsonb not null default '[]',
  -- Where the next batch begins.
  position       jsonb not null default '{}',
  -- Batches in a row that ended with an error; the last of these errors.
  errors         smallint not null default 0,
  last_error     text,
  created_at     timestamptz not null default now(),
  started_at     timestamptz,
  updated_at     timestamptz not null default now(),
  finished_at    timestamptz,
  check ((state in ('stopped', 'done', 'failed')) = (finished_at is not null)),
  check (reason is not null or not is_bulk_action)
);
create index jobs_open on jobs (created_at) where finished_at is null;
create index jobs_newest on jobs (created_at, job_id);

-- What a job has still to do, unless it walks over a filter, in the order of the keys: ids of dead letters, lines to import by their hash.
create table job_items (
  job_id uuid not null,
  key    text collate "C" not null,
  item   jsonb,
  primary key (job_id, key)
);

insert into jobs (job_id, kind, input, company_id, requested_by, reason, is_bulk_action, state, total, done, failed, counts, problems, position,
  errors, last_error, created_at, started_at, updated_at, finished_at)
select action_id, kind, selection, company_id, requested_by, reason, true, state, total, done, failed, counts, problems, position,
  errors, last_error, created_at, started_at, updated_at, finished_at from bulk_actions;
insert into job_items (job_id, key, item)
select action_id, case when item ? 'outboxId' then item ->> 'outboxId' else concat_ws(' ', item ->> 'emailHash', ordinal) end,
  case when not item ? 'outboxId' then item end
from bulk_action_items on conflict do nothing;
drop table bulk_action_items;
drop table bulk_actions;

insert into jobs (job_id, kind, input, company_id, requested_by, is_bulk_action, state, total, counts, created_at, started_at, updated_at, finished_at)
select erasure_id, 'erase-person', '{}', company_id, requested_by, false, case when state = 'done' then 'done' else 'running' end, 0, counts,
  requested_at, requested_at, coalesce(finished_at, requested_at), finished_at from person_erasures;
-- The job has these now. While the addresses are there, the e-mails are being listed.
alter table person_erasures drop column company_id, drop column requested_by, drop column requested_at, drop column state, drop column counts,
  drop column finished_at, add foreign key (erasure_id) references jobs, add check ((addresses is null) = (recipient_ids is null));
