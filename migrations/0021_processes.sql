-- Who runs on this database and with which settings, which providers its mail is for, and which secrets it was written with.

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

-- One row. providers are those of the processes that take mail; they change only when held_until is over, which every such
-- process renews. Null: no process has taken mail yet.
create table gateway_database (
  one_row    boolean primary key default true check (one_row),
  providers  text[] check (cardinality(providers) > 0),
  held_until timestamptz
);

-- A database of an older version: whatever it has sent through.
insert into gateway_database (providers)
select array_agg(name order by name) filter (where name <> 'capture') from providers;

-- Keyed hashes of the secrets in use: they tell another secret from the right one, and nothing else.
create table secret_fingerprints (
  setting     text not null check (setting in ('HASH_PEPPER', 'ENCRYPTION_KEY')),
  fingerprint text not null check (fingerprint ~ '^[0-9a-f]{64}$'),
  recorded_at timestamptz not null default now(),
  primary key (setting, fingerprint)
);
