-- The fair claim again, picking what it picked, for less: finding the next company that has mail, company after company, is half of a
-- claim. While nearly all companies have some, it is cheaper to go through the list of companies, whether they have mail or not.

-- How many e-mails one round of the circle brought last, where the batch was full. Zero: walk. Below zero: the list was no help,
-- so walk as many times before it is tried again.
alter table fair_cursor add column round_size int not null default 0;

-- How many of a company may be taken now. One expression, so Postgres puts it where it is called.
create function claim_allows(
  p_company uuid, p_paused timestamptz, p_rate float8, p_busy uuid[], p_left int[], p_most int, p_instant timestamptz)
returns int language sql stable as $$
  select case when p_paused is not null then 0
    when p_rate is not null then claim_room(p_company, p_rate, p_busy, p_left, p_most, p_instant)
    else coalesce(p_left[array_position(p_busy, p_company)], p_most) end
$$;

-- The circle, by the list of companies: that of the cursor comes first, for what is left of its turn, and last, for what is behind that.
create function claim_list(
  p_here uuid, p_owed int, p_listed int, p_per_turn int, p_busy uuid[], p_left int[], p_most int, p_instant timestamptz)
returns table (company_id uuid, place bigint, take int, room int, ahead int, rated boolean) language sql stable as $$
  select p_here, 0::bigint, p_owed, p_owed, 0, false
  union all
  select co.company_id, row_number() over (), p_per_turn * co.weight,
    claim_allows(co.company_id, co.paused_at, co.rate_per_second, p_busy, p_left, p_most, p_instant),
    case when co.company_id = p_here then p_owed else 0 end, co.rate_per_second is not null
  from (
    (select company_id, weight, paused_at, rate_per_second from companies where company_id > p_here order by company_id limit p_listed)
    union all
    (select company_id, weight, paused_at, rate_per_second from companies where company_id <= p_here order by company_id limit p_listed)
    limit p_listed) co
$$;

-- Companies in a circle from the shared cursor, a turn of each, round after round until the batch is full.
-- p_ended: leases whose work is done; they go along, which saves a commit for each.
-- p_busy, p_left: how many more of these companies may be taken; p_most of any other.
-- One array comes back: the first half are e-mails, the second their companies.
create or replace function claim_fair_turns(
  p_lease uuid, p_kind text, p_holder text, p_lease_seconds int, p_size int, p_per_turn int, p_ended uuid[],
  p_busy uuid[], p_left int[], p_most int)
returns uuid[] language plpgsql as $$
#variable_conflict use_column
declare
  instant timestamptz;
  here uuid;
  served int;
  -- What is left of the turn of the company served last.
  owed int;
  expected int;
  listed int;
  walking boolean := true;
  rounds int;
  spots tid[];
  ids uuid[];
  owners uuid[];
  rated boolean;
  taken int;
  last int;
  place int;
begin
  if cardinality(p_ended) > 0 then
    delete from leases where lease_id = any(p_ended);
  end if;
  -- One claimer at a time, locked before the statement that picks begins: it sees what the claimer before us did. Not a lock on the
  -- cursor's row: an idle gateway asks four times a second and writes nothing.
  -- The commit does not wait for the disk, because it promises nothing to anybody: lost with Postgres, the doorbells are back and
  -- the lease is not, without which nothing starts. The commit of a start waits, and everything before it is there then, too.
  -- No company is looked up twice, so remembering them is wasted.
  -- None of these is ever null; as a condition, they are called without a statement around them.
  if p_size < 1 or pg_advisory_xact_lock(hashtext('claim_fair_turns')) is null
    or set_config('synchronous_commit', 'off', true) is null or set_config('enable_memoize', 'off', true) is null then
    return '{}';
  end if;
  instant := clock_timestamp();
  -- The company looked up by itself: of a join, the planner made a walk over all companies up to this one.
  select f.company_id, f.run, f.round_size, coalesce((
      select greatest(0, least(p_per_turn * co.weight - f.run, p_most)) from companies co where co.company_id = f.company_id
        and co.paused_at is null and co.rate_per_second is null and co.company_id <> all(p_busy)), 0)
    into here, served, expected, owed from fair_cursor f;

  if expected >= p_size then
    -- One round fills the batch, so they come in the order of the list.
    listed := 2 * p_size / p_per_turn + 1;
    select array_agg(spot), array_agg(outbox_id), array_agg(company_id), bool_or(rated), 1, count(*) < p_size
    into spots, ids, owners, rated, rounds, walking
    from (
      select own.spot, own.outbox_id, c.company_id, c.rated
      from claim_list(here, owed, listed, p_per_turn, p_busy, p_left, p_most, instant) c cross join lateral (
        select e.ctid as spot, e.outbox_id from email_ready e where e.company_id = c.company_id order by e.priority, e.outbox_id
        limit least(c.room - c.ahead, c.take) offset c.ahead) own
      where c.room > c.ahead
      limit p_size) picked;
  elsif expected > 0 then
    -- Several rounds, of all companies, if at least half of them have mail.
    listed := 2 * expected / p_per_turn + 1;
    rounds := ceil(p_size::float8 / expected);
    with circle as materialized (
      select * from claim_list(here, owed, listed, p_per_turn, p_busy, p_left, p_most, instant)
    ), picked as (
      select own.spot, own.outbox_id, c.company_id, c.rated, (own.nth - 1) / c.take as turn
      from circle c cross join lateral (
        select e.ctid as spot, e.outbox_id, row_number() over () as nth from (
          select e.ctid, e.outbox_id from email_ready e where e.company_id = c.company_id order by e.priority, e.outbox_id
          limit least(c.room - c.ahead, rounds * c.take, p_size) offset c.ahead) e) own
      where c.room > c.ahead
      order by ((own.nth - 1) / c.take << 40) + (c.place << 20) + own.nth
      limit p_size
    )
    -- Full, and nobody outside of the list was due before: that is what the walk would have brought.
    select array_agg(spot), array_agg(outbox_id), array_agg(company_id), bool_or(rated), max(turn) + 1,
      count(*) < p_size or max(turn) > 0 and (select max(place) from circle) = listed
    into spots, ids, owners, rated, rounds, walking from picked;
  end if;

  if walking then
    -- The walk visits no more companies than the batch needs, so neither the backlog nor the number of companies matters.
    with recursive circle as (
      select here as company_id, 0::smallint as priority, '00000000-0000-0000-0000-000000000000'::uuid as first, false as wrapped,
        0 as place, owed as take, owed as room, 0 as ahead, false as rated, 0 as filled
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
        select p_per_turn * co.weight as take, co.rate_per_second is not null as rated,
          claim_allows(co.company_id, co.paused_at, co.rate_per_second, p_busy, p_left, p_most, instant) as room
        from companies co where co.company_id = n.company_id limit 1) t on true
      where c.filled < p_size
    ), picked as (
      -- From where the walk found it: what was taken before leaves dead entries, and they are stepped over once only. With the company
      -- inside the comparison, Postgres began at the company's first entry again.
      select own.spot, own.outbox_id, c.company_id, c.rated, (own.nth - 1) / c.take as turn
      from circle c cross join lateral (
        select e.ctid as spot, e.outbox_id, row_number() over () as nth from (
          select e.ctid, e.outbox_id from email_ready e
          where e.company_id = c.company_id and (e.priority, e.outbox_id) >= (c.priority, c.first)
          order by e.priority, e.outbox_id
          limit least(c.room - c.ahead, (select ceil(p_size::float8 / greatest(1, max(filled)))::int from circle) * c.take)
          offset c.ahead) e) own
      where c.room > c.ahead
      -- By turn, place and nth, as one number: sorted by three, the claim costs 3 % more. What is owed comes before the first turn.
      order by ((own.nth - 1) / c.take << 40) + (c.place::bigint << 20) + own.nth
      limit p_size
    )
    select array_agg(spot), array_agg(outbox_id), array_agg(company_id), bool_or(rated), max(turn) + 1
    into spots, ids, owners, rated, rounds from picked;
    if ids is null then
      return '{}';
    end if;
  end if;

  delete from email_ready where ctid = any(spots);
  get diagnostics taken = row_count;
  if taken < cardinality(ids) then
    -- Rung again since we looked (RING_AGAIN in db/pool.ts), a doorbell is at another place, and stays in line.
    -- An e-mail's priority is between 1 and 10.
    select array_agg(p.id order by p.nth), array_agg(p.owner order by p.nth) into ids, owners
    from unnest(ids, owners) with ordinality as p(id, owner, nth)
    where (select true from email_ready r where r.company_id = p.owner and r.priority = any('{1,2,3,4,5,6,7,8,9,10}'::smallint[])
      and r.outbox_id = p.id limit 1) is null;
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
  update fair_cursor set company_id = owners[last],
    run = least(1000000, last - place + 1 + case when place = 1 and owners[1] = here then served else 0 end),
    round_size = case when walking and expected > 0 then -16 when expected < 0 then expected + 1
      when last = p_size then last / rounds else 0 end;
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
