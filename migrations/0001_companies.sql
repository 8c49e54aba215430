-- Companies (tenants), their keys, the people who may administer the gateway, and who did what.

create table companies (
  company_id       uuid primary key,
  name             text not null unique check (length(name) between 1 and 100),
  from_domains     text[] not null default '{}',
  -- Used when an e-mail names no sender; null: EMAIL_FROM.
  default_from     text,
  -- URL schemes of the company's own apps (myapp://…), which its e-mails may link to beside the web, mail and phones.
  link_schemes     text[] not null default '{}' check (cardinality(link_schemes) <= 20),
  weight           smallint not null default 1 check (weight between 1 and 100),
  rate_per_second  double precision constraint rate_can_be_counted check (rate_per_second between 0.01 and 1000000),
  retry_policy     text check (retry_policy in ('steps', 'exponential', 'patient', 'persistent')),
  -- Of templates, when a request names none.
  locale           text not null default 'pt-BR' check (locale ~ '^[a-z]{2,3}(-[A-Z]{2})?$'),
  paused_at        timestamptz,
  paused_by        text,
  pause_reason     text,
  warned_at        timestamptz,
  warn_reason      text,
  -- Bounces and complaints of mail sent before this count no more: an administrator has resumed the company.
  reputation_since timestamptz not null default '-infinity',
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  constraint paused_for_a_reason check ((paused_at is null) = (pause_reason is null)),
  constraint warned_for_a_reason check ((warned_at is null) = (warn_reason is null))
);

create table api_keys (
  key_id       text primary key check (key_id ~ '^[0-9a-z]{16}$'),
  company_id   uuid not null references companies,
  mode         text not null check (mode in ('live', 'test')),
  secret_hash  bytea not null check (length(secret_hash) = 32),
  scopes       text[] not null check (cardinality(scopes) > 0 and scopes <@ array['send', 'read', 'manage']),
  name         text,
  created_at   timestamptz not null default now(),
  revoked_at   timestamptz,
  last_used_at timestamptz
);
create index api_keys_company on api_keys (company_id);

create table administrators (
  name          text primary key check (length(name) between 1 and 64),
  password_hash text not null,
  created_at    timestamptz not null default now()
);

-- Request limits: one row for each company that has one; all API processes draw from it.
create table rate_buckets (
  company_id  uuid primary key references companies on delete cascade,
  tokens      double precision not null,
  refilled_at timestamptz not null
);

-- The people a company writes to. identity is the first of external id, document hash and address that the caller gave: the
-- upsert's only key.
create table recipients (
  recipient_id    uuid primary key,
  company_id      uuid not null references companies,
  identity        text not null,
  external_id     text,
  cpf_cnpj_hash   text check (cpf_cnpj_hash ~ '^[0-9a-f]{64}$'),
  cpf_cnpj_cipher bytea,
  razao_social    text,
  nome            text,
  email           text,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  deleted_at      timestamptz,
  unique (company_id, identity)
);
create index recipients_document on recipients (cpf_cnpj_hash) where cpf_cnpj_hash is not null;
create index recipients_external on recipients (external_id) where external_id is not null;
create index recipients_email on recipients (email) where email is not null;

-- What a company's mail came to, by the hour, in recipients: the base of its reputation. Each process adds up what it sent and
-- writes it every few seconds, so that settling an e-mail waits for no shared row.
create table company_reputation (
  company_id uuid not null references companies on delete cascade,
  hour       timestamptz not null,
  sent       bigint not null default 0,
  bounced    bigint not null default 0,
  complained bigint not null default 0,
  primary key (company_id, hour)
);
create index company_reputation_hour on company_reputation (hour);

-- What became of a company's live e-mails, by the hour. Housekeeping counts the events of the log (roll_up_statistics), a minute
-- late, so that no settlement waits for a shared row and no crash loses a count. requests and suppressed (e-mails asked for, and those
-- that were refused because of the suppression list) leave no event: each API process adds what it counted every second.
create table company_statistics (
  company_id uuid not null,
  hour       timestamptz not null,
  requests   bigint not null default 0,
  suppressed bigint not null default 0,
  accepted   bigint not null default 0,
  sent       bigint not null default 0,
  delivered  bigint not null default 0,
  bounced    bigint not null default 0,
  complained bigint not null default 0,
  rejected   bigint not null default 0,
  failed     bigint not null default 0,
  expired    bigint not null default 0,
  -- What the e-mails came to that were accepted in this hour, each counted once and as it stands now. recovered and not_recovered:
  -- of those whose first attempt failed. delivery_seconds: from the due time of the delivered ones, added up.
  finally_delivered bigint not null default 0,
  finally_failed    bigint not null default 0,
  recovered         bigint not null default 0,
  not_recovered     bigint not null default 0,
  delivery_seconds  double precision not null default 0,
  primary key (company_id, hour)
);
create index company_statistics_hour on company_statistics (hour);

-- Up to when the event log has been counted.
create table statistics_cursor (
  only_row      boolean primary key default true check (only_row),
  counted_until timestamptz not null default now()
);
insert into statistics_cursor default values;

-- Who did what to which subject, and why. `before` and `after` hold what changed.
create table audit_log (
  id           bigint generated always as identity primary key,
  performed_at timestamptz not null default now(),
  performed_by text not null check (length(performed_by) between 1 and 100),
  action       text not null,
  subject_type text not null,
  subject_id   text not null,
  company_id   uuid,
  before       jsonb,
  after        jsonb,
  reason       text check (reason ~ '\S')
);
create index audit_log_subject on audit_log (subject_type, subject_id, id);
create index audit_log_company on audit_log (company_id, id) where company_id is not null;
