-- The providers' state, the running processes, and what they count.

create table providers (
  name            text primary key,
  state           text not null default 'closed' check (state in ('closed', 'open')),
  opened_at       timestamptz,
  reason_code     text,
  reason          text,
  probes          int not null default 0,
  probe_at        timestamptz,
  rate_per_second double precision,
  rate_learnt_at  timestamptz,
  -- Up to when the send rate is used up.
  free_at         timestamptz not null default '-infinity',
  -- A provider that throttles is slowed down for all workers: from this rate to that one at this time, growing back since.
  slow_from       double precision,
  slow_to         double precision,
  slowed_at       timestamptz,
  check ((state = 'open') = (opened_at is not null and reason_code is not null and probe_at is not null)),
  check ((slowed_at is null) = (slow_from is null) and (slowed_at is null) = (slow_to is null)),
  check (slow_to > 0 and slow_from >= slow_to)
);

create table workers (
  worker_id   uuid primary key,
  host        text not null,
  pid         int not null,
  lane        text not null check (lane in ('direct', 'bullmq')),
  concurrency int not null,
  started_at  timestamptz not null default now(),
  seen_at     timestamptz not null default now()
);

-- The one process that keeps the BullMQ queue filled.
create table feeder (
  only_row   boolean primary key default true check (only_row),
  holder     uuid,
  expires_at timestamptz not null default '-infinity'
);
insert into feeder default values;

create table counters (
  name  text not null,
  label text not null,
  value bigint not null default 0,
  primary key (name, label)
);

-- One row for each running process, renewed every few seconds. settings holds no secret.
create table gateway_processes (
  process_id uuid primary key,
  host       text not null,
  pid        integer not null,
  role       text not null check (role in ('all', 'api', 'worker')),
  version    text not null,
  providers  text[] not null,
  settings   jsonb not null,
  -- Why it takes no mail; null: it does.
  waiting    text,
  started_at timestamptz not null default now(),
  seen_at    timestamptz not null default now()
);

-- The providers of the processes that take mail. They change only when held_until is over, which every such process renews.
-- Null: no process has taken mail yet.
create table gateway_database (
  one_row    boolean primary key default true check (one_row),
  providers  text[] check (cardinality(providers) > 0),
  held_until timestamptz
);
insert into gateway_database default values;

-- Keyed hashes of the secrets in use: they tell another secret from the right one, and nothing else.
create table secret_fingerprints (
  setting     text not null check (setting in ('HASH_PEPPER', 'ENCRYPTION_KEY')),
  fingerprint text not null check (fingerprint ~ '^[0-9a-f]{64}$'),
  recorded_at timestamptz not null default now(),
  primary key (setting, fingerprint)
);
-- Of two first starts with different peppers at the same moment, one is recorded and the other is refused.
create unique index secret_fingerprints_one_pepper on secret_fingerprints (setting) where setting = 'HASH_PEPPER';
