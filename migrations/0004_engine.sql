-- The sending engine. Claiming takes an e-mail's doorbell (email_ready) and puts its id on a lease; the e-mail's own row is
-- written when its attempt starts and when it settles. PROCESSING therefore means: SENT_ATTEMPT is committed.

-- work: a process has these e-mails in hand. dispatch: they were put on the queue, and nobody has taken them yet.
alter table leases add column kind text not null default 'work' check (kind in ('work', 'dispatch'));
-- Rows live for milliseconds; the scan for the expired ones must not wade through the dead.
alter table leases set (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
alter table email_scheduled set (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- What was being worked on by the version before this one goes back into the line; a message that may have left goes on
-- under the same attempt id.
with open as (
  update email_outbox set status = 'PENDING', lease_id = null where status = 'PROCESSING'
  returning company_id, priority, outbox_id
)
insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from open on conflict do nothing;
delete from leases;

-- How many of that company were handed out in a row: its turn goes on in the next batch, and ends there.
alter table fair_cursor add column run int not null default 0;

-- Companies with a rate: until when their past sending has used it up.
create table company_flow (
  company_id  uuid primary key references companies on delete cascade,
  sendable_at timestamptz not null
);

-- Whether the provider took it is not known. resolve_at: when to stop waiting for evidence.
create table unknown_sends (
  outbox_id  uuid primary key,
  attempt_id uuid not null,
  provider   text not null,
  reason     text not null,
  since      timestamptz not null default now(),
  resolve_at timestamptz not null
);
create index unknown_sends_due on unknown_sends (resolve_at);

-- One row per provider, shared by all workers: whether it may be used, and how fast.
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
  -- The moment up to which the rate is given away.
  free_at         timestamptz not null default '-infinity',
  check ((state = 'open') = (opened_at is not null and reason_code is not null and probe_at is not null))
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

-- Who fills the queue's window.
create table feeder (
  only_row   boolean primary key default true check (only_row),
  holder     uuid,
  expires_at timestamptz not null default '-infinity'
);
insert into feeder default values;

-- Rare things that must not be lost with a process, counted in the transaction that did them.
create table counters (
  name  text not null,
  label text not null,
  value bigint not null default 0,
  primary key (name, label)
);

drop function claim_fair_batch(uuid, int, int, text, int);

-- A fair batch: companies in a circle from the shared cursor, a turn of each, round after round until the batch is full.
-- The walk visits no more companies than the batch needs, so neither the backlog nor the number of companies matters.
-- The cursor is locked by a statement of its own: the next one sees what the claimer before us did.
-- p_ended: leases whose work is done; they go along, which saves a commit for each.
-- p_busy, p_left: how many more of these companies may be in hand; p_most of any other.
create function claim_fair_batch(
  p_lease uuid, p_kind text, p_holder text, p_lease_seconds int, p_size int, p_per_turn int, p_ended uuid[],
  p_busy uuid[], p_left int[], p_most int)
returns table (outbox_id uuid, company_id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  here uuid;
  served int;
  instant timestamptz;
begin
  if cardinality(p_ended) > 0 then
    delete from leases where lease_id = any(p_ended);
  end if;
  -- An idle gateway asks four times a second and writes nothing.
  if p_size < 1 or not exists (select from email_ready) then
    return;
  end if;
  select c.company_id, c.run into here, served from fair_cursor c for update;
  instant := clock_timestamp();
  return query
  with recursive circle as (
    select here as company_id, false as wrapped, 0 as place, 0 as take, 0 as room, null::float8 as rate, 0 as filled
    union all
    select n.company_id, n.wrapped, c.place + 1, t.take, t.room, t.rate, c.filled + least(t.take, t.room)
    from circle c cross join lateral (
      (select r.company_id, false as wrapped from email_ready r
       where not c.wrapped and r.company_id > c.company_id order by r.company_id limit 1)
      union all
      (select r.company_id, true from email_ready r
       where r.company_id > case when c.wrapped then c.company_id else '00000000-0000-0000-0000-000000000000' end
         and r.company_id <= here order by r.company_id limit 1)
      limit 1) n
    cross join lateral (
      select p_per_turn * co.weight as take, co.rate_per_second as rate, case when co.paused_at is not null then 0 else greatest(0, least(
          coalesce((select b.room from unnest(p_busy, p_left) as b(id, room) where b.id = n.company_id), p_most),
          case when co.rate_per_second is null then p_size else (select floor(co.rate_per_second * extract(epoch from instant - greatest(
              coalesce((select f.sendable_at from company_flow f where f.company_id = n.company_id), '-infinity'),
              instant - greatest(1, 1 / co.rate_per_second) * interval '1 second'))))::int end)) end as room
      from companies co where co.company_id = n.company_id) t
    where c.filled < p_size
  ), owed as materialized (
    -- What is left of the turn of the company served last. It is the last of the circle, if that was walked to its end.
    select greatest(0, least(p_per_turn * co.weight - served, coalesce(c.room, p_most))) as count, c.company_id is not null as in_circle
    from companies co left join circle c on c.company_id = co.company_id and c.place > 0
    where co.company_id = here and co.paused_at is null and co.rate_per_second is null
      and not exists (select from unnest(p_busy) as b(id) where b.id = here)
  ), rounds as materialized (
    select ceil(p_size::float8 / greatest(1, max(filled)))::int as count from circle
  ), members as (
    select c.company_id, c.place, c.take, coalesce(o.count, 0) as owed, least(c.room, coalesce(o.count, 0) + rounds.count * c.take) as most
    from circle c cross join rounds left join owed o on c.company_id = here where c.place > 0
    union all
    select here, 0, 1, count, count from owed where not in_circle
  ), picked as materialized (
    select r.place, row_number() over (order by case when r.nth <= m.owed then -1 else (r.nth - m.owed - 1) / m.take end, m.place, r.nth) as position
    from members m cross join lateral (
      select own.ctid as place, row_number() over () as nth from (
        select e.ctid from email_ready e where e.company_id = m.company_id order by e.priority, e.outbox_id limit m.most) own) r
    order by position limit p_size
  ), taken as materialized (
    delete from email_ready r using picked p where r.ctid = p.place
    returning r.outbox_id, r.company_id, p.position
  ), put_lease as (
    -- Not now(): this transaction may be older than the e-mails it waited for at the cursor.
    insert into leases (lease_id, kind, holder, outbox_ids, taken_at, expires_at)
    select p_lease, p_kind, p_holder, array_agg(outbox_id order by position), clock_timestamp(), now() + p_lease_seconds * interval '1 second'
    from taken having count(*) > 0
  ), moved as (
    update fair_cursor set company_id = l.company_id, run = least(1000000, l.run) from (
      select company_id, (select count(*) from taken t where t.position > coalesce(
          (select max(o.position) from taken o where o.company_id <> last.company_id), 0))
        + case when last.company_id = here and not exists (select from taken o where o.company_id <> here) then served else 0 end as run
      from taken last order by position desc limit 1) l
  ), put_flow as (
    insert into company_flow (company_id, sendable_at)
    select c.company_id, greatest(coalesce(f.sendable_at, '-infinity'), instant - greatest(1, 1 / c.rate) * interval '1 second')
      + (select count(*) from taken t where t.company_id = c.company_id) / c.rate * interval '1 second'
    from circle c left join company_flow f on f.company_id = c.company_id
    where c.rate is not null and c.place > 0 and c.company_id in (select company_id from taken)
    on conflict (company_id) do update set sendable_at = excluded.sendable_at
  )
  select outbox_id, company_id from taken order by position;
end $$;

-- The search key of email_recipients, for the look-up right before the send: no hash is computed there.
alter table suppression_list add column hash_key bigint
  generated always as (('x' || substr(email_hash, 8, 16))::bit(64)::bigint) stored;
create index suppression_list_key on suppression_list (hash_key);
