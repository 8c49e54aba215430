-- The suppression list, its history and its figures. An address is a hash in all of them: 'sha256:<hex>' of the trimmed
-- lower-case address, as the API shows it. Its form is checked with length() because {64} costs Postgres 10 µs a row.

-- For every company when company_id is null.
create table suppression_list (
  id         uuid primary key default gen_random_uuid(),
  company_id uuid references companies,
  email_hash text not null check (length(email_hash) = 71 and email_hash ~ '^sha256:[0-9a-f]+$'),
  -- The search key of email_recipients.address_key.
  hash_key   bigint generated always as (('x' || substr(email_hash, 8, 16))::bit(64)::bigint) stored,
  reason     text not null check (reason in ('HARD_BOUNCE', 'COMPLAINT', 'MANUAL')),
  added_at   timestamptz not null default now(),
  expires_at timestamptz,
  updated_at timestamptz not null default now(),
  metadata   jsonb not null default '{}',
  unique nulls not distinct (email_hash, company_id)
);
create index suppression_list_key on suppression_list (hash_key);
create index suppression_list_added on suppression_list (added_at, id);
create index suppression_list_end on suppression_list ((coalesce(expires_at, 'infinity'::timestamptz)), id);
create index suppression_list_company on suppression_list (company_id, added_at, id) where company_id is not null;
create index suppression_list_reason on suppression_list (reason, expires_at);

-- Ordered by id, also within one transaction.
create table suppression_audit_log (
  id           bigint generated always as identity primary key,
  company_id   uuid,
  email_hash   text not null check (length(email_hash) = 71 and email_hash ~ '^sha256:[0-9a-f]+$'),
  action       text not null check (action in ('ADDED', 'REMOVED', 'EXPIRED')),
  reason       text not null check (reason in ('HARD_BOUNCE', 'COMPLAINT', 'MANUAL')),
  performed_by text not null check (length(performed_by) between 1 and 100),
  performed_at timestamptz not null default now(),
  metadata     jsonb not null default '{}'
);
create index suppression_audit_log_email_hash on suppression_audit_log (email_hash, id);
create index suppression_audit_log_performed_at on suppression_audit_log (performed_at);

-- Written by the statement that changes the list, so that growth and totals are read from a few rows.
-- raised: an entry that was there got this graver reason.
create table suppression_daily (
  day     date not null,
  reason  text not null,
  added   bigint not null default 0,
  raised  bigint not null default 0,
  removed bigint not null default 0,
  expired bigint not null default 0,
  primary key (day, reason)
);

-- E-mails asked for, and those of them that the list stopped, since the beginning (company_statistics has them by the hour).
create table send_requests_total (
  company_id uuid primary key,
  requests   bigint not null,
  suppressed bigint not null
);
