-- The ledger: accepted = ended + waiting + unknown, per company and day. And what retention has dropped, which is no loss.

-- One row for each day that has or had partitions.
create table email_days (
  day                date primary key,
  -- What Postgres counted as deleted rows, and the files of the tables, when they were looked at last.
  outbox_deleted     bigint not null default 0,
  events_deleted     bigint not null default 0,
  outbox_written     bigint not null default 0,
  files              text,
  -- When a difference was noticed: what was counted before is counted again.
  changed_at         timestamptz not null default '-infinity',
  -- Every e-mail of the day has ended, and the day is counted.
  closed_at          timestamptz,
  -- Nobody tries to drop the same twice at a time.
  drop_started_at    timestamptz,
  content_dropped_at timestamptz,
  events_dropped_at  timestamptz,
  emails_dropped_at  timestamptz
);

-- An hour of e-mails, by their ids: when it was counted.
create table ledger_slices (
  day        date not null,
  hour       smallint not null check (hour between 0 and 23),
  -- Somebody counts it.
  taken_at   timestamptz,
  counted_at timestamptz,
  took_ms    integer,
  -- Nothing of it is open, and nothing can be added: it is counted again only if something was deleted.
  final      boolean not null default false,
  primary key (day, hour)
);

create table ledger_hours (
  day        date not null,
  hour       smallint not null,
  company_id uuid not null,
  accepted   bigint not null,
  ended      bigint not null,
  waiting    bigint not null,
  unknown    bigint not null,
  primary key (day, hour, company_id)
);

-- The sums of closed days, kept after their e-mails are dropped.
create table ledger_days (
  day        date not null,
  company_id uuid not null,
  accepted   bigint not null,
  ended      bigint not null,
  primary key (day, company_id)
);
create index ledger_days_company on ledger_days (company_id, day);

-- What does not agree. emails: how many, where their ids are not known.
create table ledger_faults (
  kind       text not null check (kind in ('ROW_MISSING', 'EVENT_MISSING', 'END_MISSING', 'VANISHED', 'DAY_MISSING')),
  day        date not null,
  outbox_id  uuid,
  company_id uuid,
  emails     bigint not null default 1 check (emails > 0),
  found_at   timestamptz not null default now(),
  -- When the gateway wrote it to its log, whoever found it.
  logged_at  timestamptz,
  -- Somebody knows of it and has said why it stays: it is listed, and not counted in ledger_imbalance.
  acknowledged_at     timestamptz,
  acknowledged_by     text,
  acknowledged_reason text,
  check (num_nulls(acknowledged_at, acknowledged_by, acknowledged_reason) in (0, 3)),
  unique nulls not distinct (day, kind, outbox_id, company_id)
);

-- What is known of each company and day. The sums of a closed day are valid until all of it is counted again.
create view ledger_sums as
with recounted as (
  select d.day from email_days d where d.closed_at is null and (not exists (select from ledger_days k where k.day = d.day)
    or (select count(*) from ledger_slices s where s.day = d.day and s.counted_at >= d.changed_at) = 24)
)
select k.day, k.company_id, k.accepted, k.ended, 0::bigint as waiting, 0::bigint as unknown, true as closed
from ledger_days k where not exists (select from recounted r where r.day = k.day)
union all
-- Nothing takes back that an e-mail was accepted.
select h.day, h.company_id, greatest(sum(h.accepted), max(k.accepted))::bigint, sum(h.ended)::bigint, sum(h.waiting)::bigint,
  sum(h.unknown)::bigint, false
from ledger_hours h join recounted r on r.day = h.day left join ledger_days k on k.day = h.day and k.company_id = h.company_id
group by h.day, h.company_id;
