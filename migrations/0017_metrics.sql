-- What /metrics shows and the event log would have to be read for.

-- Since the company's first e-mail. Written by roll_up_statistics().
create table company_totals (
  company_id uuid primary key,
  -- Attempts that were settled: sent, failed, to be repeated, unknown or expired.
  processed bigint not null default 0,
  dead_letters bigint not null default 0
);

-- When each task of housekeeping last ended well, in whichever process.
create table housekeeping_runs (
  task text primary key,
  every_seconds double precision not null,
  finished_at timestamptz not null default now()
);

-- When a company was last told by a webhook that it has many dead letters.
create table dead_letter_notices (
  company_id uuid primary key,
  told_at timestamptz not null default now()
);
