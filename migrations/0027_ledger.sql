-- The ledger is one table: accepted = ended + waiting + unknown, by company and day. Before, hours, days and findings were four.

create table ledger (
  day        date not null,
  company_id uuid not null,
  accepted   bigint not null,
  ended      bigint not null,
  waiting    bigint not null,
  unknown    bigint not null,
  -- E-mails that were accepted and are in no place. 0 is right.
  imbalance  bigint not null generated always as (accepted - ended - waiting - unknown) stored,
  -- Of the accepted, those that were a minute old when they were counted (email_days.settled_until): fewer of them later is a loss.
  settled    bigint not null,
  -- The first of those in no place, as far as the event log names them.
  missing    uuid[] not null default '{}',
  imbalanced_since    timestamptz,
  -- How many of them the gateway has written to its log.
  logged              bigint not null default 0,
  -- How many of them somebody knows of, and why they stay: no longer counted in the metric ledger_imbalance.
  acknowledged        bigint not null default 0,
  acknowledged_at     timestamptz,
  acknowledged_by     text,
  acknowledged_reason text,
  primary key (day, company_id)
);
create index ledger_imbalanced on ledger (day) where imbalance > 0;

insert into ledger (day, company_id, accepted, ended, waiting, unknown, settled, imbalanced_since, acknowledged, acknowledged_at,
  acknowledged_by, acknowledged_reason)
select s.day, s.company_id, s.accepted, s.ended, s.waiting, s.unknown,
  case when s.day < (now() at time zone 'UTC')::date then s.accepted else 0 end,
  case when s.accepted > s.ended + s.waiting + s.unknown then now() end, coalesce(f.emails, 0), f.at, f.by, f.reason
from ledger_sums s cross join lateral (
  select sum(case kind when 'DAY_MISSING' then s.accepted else emails end) as emails, max(acknowledged_at) as at,
    max(acknowledged_by) as by, max(acknowledged_reason) as reason
  from ledger_faults
  where day = s.day and coalesce(company_id, s.company_id) = s.company_id and acknowledged_at is not null
    and kind in ('ROW_MISSING', 'VANISHED', 'DAY_MISSING')
) f;

alter table email_days
  -- Whoever counts the day at the moment began then.
  add column counting_since timestamptz,
  add column counted_at     timestamptz,
  add column settled_until  timestamptz,
  add column took_ms        integer not null default 0,
  -- What Postgres knew of the tables of the day before they were counted: their files with the number of deleted rows, and how often
  -- rows of email_outbox were written.
  add column deletions      text,
  add column writes         bigint;

-- A closed day is not counted again, unless something was wrong with it: then its missing e-mails are named.
update email_days d set settled_until = (day + 1)::timestamp at time zone 'UTC',
  counted_at = case when not exists (select from ledger_faults f where f.day = d.day) then closed_at end,
  deletions = files || ' ' || outbox_deleted || ' ' || events_deleted, writes = outbox_written
where day < (now() at time zone 'UTC')::date;

drop view ledger_sums;
drop table ledger_slices, ledger_hours, ledger_days, ledger_faults;

alter table email_days drop column outbox_deleted, drop column events_deleted, drop column outbox_written, drop column files,
  drop column changed_at, drop column closed_at;
