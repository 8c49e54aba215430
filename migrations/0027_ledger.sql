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

with sums as (
  select s.day, s.company_id, s.accepted, d.emails_dropped_at, exists (
      select from ledger_faults f where f.day = s.day and f.kind = 'DAY_MISSING') as gone,
    s.ended, s.waiting, s.unknown
  from ledger_sums s join email_days d on d.day = s.day
), carried as (
  select day, company_id, accepted, case when gone then 0 else ended end as ended, case when gone then 0 else waiting end as waiting,
    case when gone then 0 else unknown end as unknown, emails_dropped_at
  from sums
), known as (
  select c.day, c.company_id, c.accepted - c.ended - c.waiting - c.unknown as imbalance, f.acknowledged_at, f.acknowledged_by,
    f.acknowledged_reason, f.emails, f.first_found_at, f.missing
  from carried c cross join lateral (
    select min(found_at) as first_found_at, max(acknowledged_at) as acknowledged_at, max(acknowledged_by) as acknowledged_by,
      max(acknowledged_reason) as acknowledged_reason,
      coalesce(sum(case when kind = 'DAY_MISSING' then c.accepted else emails end) filter (where acknowledged_at is not null), 0) as emails,
      coalesce((array_agg(outbox_id order by outbox_id) filter (where kind = 'ROW_MISSING'))[1:100], '{}') as missing
    from ledger_faults
    where day = c.day and (company_id = c.company_id or company_id is null) and kind in ('ROW_MISSING', 'VANISHED', 'DAY_MISSING')
  ) f
)
insert into ledger (day, company_id, accepted, ended, waiting, unknown, settled, missing, imbalanced_since, logged, acknowledged,
  acknowledged_at, acknowledged_by, acknowledged_reason)
select c.day, c.company_id, c.accepted, c.ended, c.waiting, c.unknown,
  case when c.day < (now() at time zone 'UTC')::date then c.accepted else 0 end, k.missing,
  case when k.imbalance > 0 then coalesce(k.first_found_at, now()) end, k.imbalance,
  case when c.emails_dropped_at is not null then k.imbalance else least(k.emails, k.imbalance) end,
  case when k.imbalance > 0 then coalesce(k.acknowledged_at, c.emails_dropped_at) end,
  case when k.imbalance > 0 then coalesce(k.acknowledged_by, case when c.emails_dropped_at is not null then 'retention' end) end,
  case when k.imbalance > 0 then coalesce(k.acknowledged_reason, case when c.emails_dropped_at is not null then 'The day was dropped' end) end
from carried c join known k on k.day = c.day and k.company_id = c.company_id;

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

-- A closed day is not counted again.
update email_days set settled_until = (day + 1)::timestamp at time zone 'UTC', counted_at = closed_at,
  deletions = files || ' ' || outbox_deleted || ' ' || events_deleted, writes = outbox_written
where day < (now() at time zone 'UTC')::date;

drop view ledger_sums;
drop table ledger_slices, ledger_hours, ledger_days, ledger_faults;

alter table email_days drop column outbox_deleted, drop column events_deleted, drop column outbox_written, drop column files,
  drop column changed_at, drop column closed_at;
