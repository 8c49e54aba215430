-- Companies (tenants), their keys and the people who may administer the gateway.

create table companies (
  company_id      uuid primary key,
  name            text not null unique check (length(name) between 1 and 100),
  from_domains    text[] not null default '{}',
  weight          smallint not null default 1 check (weight between 1 and 100),
  rate_per_second double precision check (rate_per_second > 0),
  retry_policy    text check (retry_policy in ('steps', 'exponential', 'patient')),
  paused_at       timestamptz,
  pause_reason    text,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  check ((paused_at is null) = (pause_reason is null))
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

-- One row per company that has a limit; all API processes draw from it.
create table rate_buckets (
  company_id  uuid primary key references companies on delete cascade,
  tokens      double precision not null,
  refilled_at timestamptz not null
);

-- The people a company writes to. identity is the first of external id, document hash, address that the
-- caller gave: one arbiter for the upsert.
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

-- Global when company_id is null. email_hash is 'sha256:<hex>' of the normalised address, as the API shows it.
create table suppression_list (
  id         uuid primary key default gen_random_uuid(),
  company_id uuid references companies,
  email_hash text not null check (email_hash ~ '^sha256:[0-9a-f]{64}$'),
  reason     text not null check (reason in ('HARD_BOUNCE', 'COMPLAINT', 'MANUAL')),
  added_at   timestamptz not null default now(),
  expires_at timestamptz,
  updated_at timestamptz not null default now(),
  metadata   jsonb not null default '{}',
  unique nulls not distinct (email_hash, company_id)
);

create table idempotency_keys (
  company_id  uuid not null,
  key         text not null check (length(key) between 1 and 256),
  fingerprint bytea not null,
  answer      jsonb not null,
  expires_at  timestamptz not null,
  primary key (company_id, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
