-- What the sending line works from: who is ready, who waits for a time, who is being worked on, who died.

-- Narrow, and only mail that may be sent now: its size is the backlog's, never the outbox's.
create table email_ready (
  company_id uuid not null,
  priority   smallint not null,
  outbox_id  uuid not null,
  primary key (company_id, priority, outbox_id)
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);

-- Scheduled and retrying mail, until it is due.
create table email_scheduled (
  due_at     timestamptz not null,
  outbox_id  uuid not null,
  company_id uuid not null,
  priority   smallint not null,
  primary key (due_at, outbox_id)
);

-- One lease per claimed batch, not per e-mail.
create table leases (
  lease_id   uuid primary key,
  holder     text not null,
  outbox_ids uuid[] not null,
  taken_at   timestamptz not null default now(),
  expires_at timestamptz not null
);

create table dead_letters (
  outbox_id           uuid primary key,
  company_id          uuid not null,
  failed_attempts     smallint not null check (failed_attempts >= 1),
  last_failure_reason text not null check (last_failure_reason ~ '\S'),
  last_failure_code   text,
  last_failure_at     timestamptz not null,
  retry_history       jsonb not null,
  original_data       jsonb,
  enqueued_at         timestamptz not null,
  moved_at            timestamptz not null default now()
);

-- The local inbox of the capture provider: nothing leaves the machine.
create table capture_inbox (
  message_id  text primary key,
  attempt_id  uuid not null unique,
  outbox_id   uuid not null,
  company_id  uuid not null,
  captured_at timestamptz not null default now(),
  message     jsonb not null
);
create index capture_inbox_newest on capture_inbox (captured_at desc);

-- Where the fair round stands: the company served last.
create table fair_cursor (
  only_row   boolean primary key default true check (only_row),
  company_id uuid not null
);
insert into fair_cursor (company_id) values ('00000000-0000-0000-0000-000000000000');

-- A fair batch, leased, with RECEIVED written: companies in a circle from the shared cursor, a few of each per turn.
-- The cursor is locked by a statement of its own: the next one sees what the claimer before us did. (In one statement,
-- a claimer that had waited read its old snapshot and came back empty, and Postgres 18 crashed on the recheck.)
-- The e-mail's row is locked before its doorbell is taken away, in the order in which cancelling locks them. The doorbell
-- is only a hint: status and due time are checked on the e-mail, so a stale one is harmless.
create function claim_fair_batch(p_lease uuid, p_size int, p_per_turn int, p_holder text, p_lease_seconds int)
returns table (outbox_id uuid, company_id uuid, attempts smallint, exhausted boolean, resumed_attempt_id uuid, expired boolean)
language plpgsql as $$
#variable_conflict use_column
begin
  perform from fair_cursor for update;
  return query
  with recursive here as materialized (
    select company_id from fair_cursor
  ), above as (
    (select company_id from email_ready where company_id > (select company_id from here) order by company_id limit 1)
    union all
    select (select r.company_id from email_ready r where r.company_id > above.company_id order by r.company_id limit 1)
    from above where above.company_id is not null
  ), below as (
    (select company_id from email_ready order by company_id limit 1)
    union all
    select (select r.company_id from email_ready r where r.company_id > below.company_id order by r.company_id limit 1)
    from below where below.company_id is not null and below.company_id < (select company_id from here)
  ), circle as (
    select c.company_id, c.weight, row_number() over (order by c.company_id <= here.company_id, c.company_id) as place
    from (select company_id from above union select company_id from below) ready
    join companies c using (company_id) cross join here
    where c.paused_at is null
  ), picked as materialized (
    select * from (
      select r.*, circle.place, (row_number() over (partition by r.company_id order by r.priority, r.outbox_id) - 1)
        / (p_per_turn * circle.weight) as turn
      from (select * from circle order by place limit p_size) circle cross join lateral (
        select company_id, priority, outbox_id from email_ready own where own.company_id = circle.company_id
        order by own.priority, own.outbox_id limit p_size) r
    ) turns order by turn, place, priority, outbox_id limit p_size
  ), locked as materialized (
    -- The lock answers with the row as it is now; the scan of the update below would judge it as it was.
    select o.outbox_id, o.attempts, picked.company_id, picked.priority, picked.turn, picked.place,
      o.status in ('PENDING', 'RETRY_SCHEDULED') and (o.next_attempt_at is null or o.next_attempt_at <= now()) as due
    from picked join email_outbox o on o.outbox_id = picked.outbox_id
    for update of o skip locked
  ), taken as (
    delete from email_ready r using locked l
    where r.company_id = l.company_id and r.priority = l.priority and r.outbox_id = l.outbox_id
  ), received as (
    -- An attempt whose worker died after SENT_ATTEMPT goes on; it is not another one.
    update email_outbox o set status = 'PROCESSING', lease_id = p_lease, next_attempt_at = null,
      attempts = case when o.started_at is null then least(o.attempts + 1, o.max_attempts) else o.attempts end
    from locked l
    where o.outbox_id = l.outbox_id and l.due
    returning o.outbox_id, o.company_id, o.attempts, l.attempts >= o.max_attempts and o.started_at is null as exhausted,
      case when o.started_at is not null then o.attempt_id end as resumed_attempt_id, o.expires_at <= now() as expired,
      o.request_id, l.turn, l.place, l.priority
  ), put_events as (
    insert into email_events (outbox_id, event_id, type, created_at, metadata)
    select outbox_id, uuid_v7_now(), 'RECEIVED', clock_timestamp(), jsonb_build_object('attempt', attempts, 'requestId', request_id)
    from received
  ), put_lease as (
    insert into leases (lease_id, holder, outbox_ids, expires_at)
    select p_lease, p_holder, array_agg(outbox_id), now() + p_lease_seconds * interval '1 second' from received having count(*) > 0
  ), moved as (
    update fair_cursor set company_id = (select company_id from received order by turn desc, place desc limit 1)
    where exists (select from received)
  )
  select outbox_id, company_id, attempts, exhausted, resumed_attempt_id, expired
  from received order by turn, place, priority, outbox_id;
end $$;
