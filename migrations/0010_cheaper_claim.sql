-- The fair claim, picking what claim_fair_batch of 0004 picked, for less: rows are taken by their places alone, the order is kept
-- from the pick, and one array comes back instead of a hundred rows. The first half are e-mails, the second their companies.
--
-- Companies in a circle from the shared cursor, a turn of each, round after round until the batch is full. The walk visits no more
-- companies than the batch needs, so neither the backlog nor the number of companies matters.
-- p_ended: leases whose work is done; they go along, which saves a commit for each.
-- p_busy, p_left: how many more of these companies may be taken; p_most of any other.
create function claim_fair_turns(
  p_lease uuid, p_kind text, p_holder text, p_lease_seconds int, p_size int, p_per_turn int, p_ended uuid[],
  p_busy uuid[], p_left int[], p_most int)
returns uuid[] language plpgsql as $$
#variable_conflict use_column
declare
  here uuid;
  served int;
  -- What is left of the turn of the company served last.
  owed int;
  limited boolean := cardinality(p_busy) > 0;
  instant timestamptz;
  spots tid[];
  ids uuid[];
  owners uuid[];
  priorities smallint[];
  rated boolean;
  taken int;
  last int;
  place int;
begin
  if cardinality(p_ended) > 0 then
    delete from leases where lease_id = any(p_ended);
  end if;
  if p_size < 1 then
    return '{}';
  end if;
  -- One claimer at a time, locked by a statement of its own: the next one sees what the claimer before us did. Not a lock on the
  -- cursor's row: an idle gateway asks four times a second and writes nothing.
  -- The commit does not wait for the disk, because it promises nothing to anybody: lost with Postgres, the doorbells are back and
  -- the lease is not, without which nothing starts. The commit of a start waits, and everything before it is there then, too.
  -- No company is looked up twice, so remembering them is wasted.
  perform pg_advisory_xact_lock(hashtext('claim_fair_turns')), set_config('synchronous_commit', 'off', true),
    set_config('enable_memoize', 'off', true);
  instant := clock_timestamp();
  -- Looked up by itself: of a join, the planner made a walk over all companies up to this one.
  select c.company_id, c.run, coalesce((
      select greatest(0, least(p_per_turn * co.weight - c.run, p_most)) from companies co where co.company_id = c.company_id
        and co.paused_at is null and co.rate_per_second is null and co.company_id <> all(p_busy)), 0)
    into here, served, owed from fair_cursor c;

  with recursive circle as (
    -- The company of the cursor, for what it is owed. It comes last, too, when the circle is walked to its end.
    select here as company_id, 0::smallint as priority, '00000000-0000-0000-0000-000000000000'::uuid as first, false as wrapped,
      0 as place, 1 as take, owed as room, owed as ahead, false as rated, 0 as filled
    union all
    select n.company_id, n.priority, n.outbox_id, n.wrapped, c.place + 1, t.take, t.room,
      case when n.company_id = here then owed else 0 end, t.rated, c.filled + coalesce(least(t.take, t.room), 0)
    from circle c cross join lateral (
      (select r.company_id, r.priority, r.outbox_id, false as wrapped from email_ready r
       where not c.wrapped and r.company_id > c.company_id order by r.company_id, r.priority, r.outbox_id limit 1)
      union all
      (select r.company_id, r.priority, r.outbox_id, true from email_ready r
       where r.company_id > case when c.wrapped then c.company_id else '00000000-0000-0000-0000-000000000000' end
         and r.company_id <= here order by r.company_id, r.priority, r.outbox_id limit 1)
      limit 1) n
    -- A company that was deleted is stepped over: ending the walk at its mail, it would stop everybody behind it.
    left join lateral (
      select p_per_turn * co.weight as take, co.rate_per_second is not null as rated, case
        when co.paused_at is not null then 0
        when co.rate_per_second is not null then claim_room(co.company_id, co.rate_per_second, p_busy, p_left, p_most, instant)
        when limited then coalesce(p_left[array_position(p_busy, co.company_id)], p_most)
        else p_most end as room
      from companies co where co.company_id = n.company_id limit 1) t on true
    where c.filled < p_size
  ), picked as (
    -- From where the walk found it: what was taken before leaves dead entries, and they are stepped over once only.
    select own.spot, own.outbox_id, own.priority, c.company_id, c.rated
    from circle c cross join lateral (
      select e.ctid as spot, e.outbox_id, e.priority, row_number() over () as nth from (
        select e.ctid, e.outbox_id, e.priority from email_ready e
        where e.company_id = c.company_id and (e.company_id, e.priority, e.outbox_id) >= (c.company_id, c.priority, c.first)
        order by e.priority, e.outbox_id
        limit least(c.room, (select ceil(p_size::float8 / greatest(1, max(filled)))::int from circle) * c.take + c.ahead)) e) own
    where c.room > 0 and (c.place > 0 or not exists (select from circle where place > 0 and company_id = here))
    -- By turn, place and nth, as one number: sorted by three, the claim costs 3 % more.
    order by (case when own.nth <= c.ahead then -1 else (own.nth - c.ahead - 1) / c.take end << 40) + (c.place::bigint << 20) + own.nth
    limit p_size
  )
  select array_agg(spot), array_agg(outbox_id), array_agg(company_id), array_agg(priority), bool_or(rated)
    into spots, ids, owners, priorities, rated from picked;
  if ids is null then
    return '{}';
  end if;

  delete from email_ready where ctid = any(spots);
  get diagnostics taken = row_count;
  if taken < cardinality(ids) then
    -- Rung again since we looked (RING_AGAIN in db/pool.ts), a doorbell is at another place, and stays in line.
    select array_agg(p.id order by p.nth), array_agg(p.owner order by p.nth) into ids, owners
    from unnest(ids, owners, priorities) with ordinality as p(id, owner, priority, nth)
    where (select true from email_ready r
      where r.company_id = p.owner and r.priority = p.priority and r.outbox_id = p.id) is null;
    if ids is null then
      return '{}';
    end if;
  end if;

  last := cardinality(owners);
  place := last;
  while place > 1 and owners[place - 1] = owners[last] loop
    place := place - 1;
  end loop;
  with leased as (
    -- Not now(): this transaction may be older than the e-mails it waited for at the lock.
    insert into leases (lease_id, kind, holder, outbox_ids, taken_at, expires_at)
    values (p_lease, p_kind, p_holder, ids, clock_timestamp(), now() + p_lease_seconds * interval '1 second')
  )
  update fair_cursor set company_id = owners[last], run = least(1000000, last - place + 1
    + case when place = 1 and owners[1] = here then served else 0 end);
  if rated then
    insert into company_flow (company_id, sendable_at)
    select c.company_id, greatest(coalesce(f.sendable_at, '-infinity'), instant - greatest(1, 1 / c.rate_per_second) * interval '1 second')
      + t.count / c.rate_per_second * interval '1 second'
    from (select o.id, count(*) from unnest(owners) as o(id) group by o.id) t
    join companies c on c.company_id = t.id and c.rate_per_second is not null
    left join company_flow f on f.company_id = c.company_id and f.sendable_at <= instant
    on conflict (company_id) do update set sendable_at = excluded.sendable_at;
  end if;
  return ids || owners;
end $$;

-- For processes of the version before, which call it by this name: under the same lock, or two of them would pick the same.
create or replace function claim_fair_batch(
  p_lease uuid, p_kind text, p_holder text, p_lease_seconds int, p_size int, p_per_turn int, p_ended uuid[],
  p_busy uuid[], p_left int[], p_most int)
returns table (outbox_id uuid, company_id uuid) language plpgsql as $$
declare
  claimed uuid[] := claim_fair_turns(
    p_lease, p_kind, p_holder, p_lease_seconds, p_size, p_per_turn, p_ended, p_busy, p_left, p_most);
  half int := cardinality(claimed) / 2;
begin
  return query select * from unnest(claimed[:half], claimed[half + 1:]);
end $$;
