-- How often a company has made the gateway ask a provider about its sender domains in the minute that began at `since`.
create table domain_calls (
  company_id uuid primary key references companies on delete cascade,
  calls      integer not null default 1,
  since      timestamptz not null default now()
);

-- When housekeeping last looked whether a domain that is not verified yet is. Null: not yet.
alter table domains add column checked_at timestamptz;
