-- The fair claim again, picking what it picked, for less.
--
-- A table's check is read and compiled anew by every statement that writes to it; a domain's is not. (fair_cursor keeps its own: locked
-- beside leases, it could meet a claim of the version before that locks them the other way round.)
create domain lease_kind as text check (value in ('work', 'dispatch'));
alter table leases drop constraint leases_kind_check, alter column kind type lease_kind;

-- Companies in a circle from the shared cursor, a turn of each, round after round until the batch is full. The walk visits no more
-- companies than the batch needs, so neither the backlog nor the number of companies matters.
-- p_ended: leases whose work is done; they go along, which saves a commit for each.
-- p_busy, p_left: how many more of these companies may be taken; p_most of any other.
-- One array comes back: the first half are e-mails, the second their companies.
create or replace function claim_fair_turns(
  p_lease uuid, p_kind text, p_holder text, p_lease_seconds int, p_size int, p_per_turn int, p_ended uuid[],
  p_busy uuid[], p_left int[], p_most int)
returns uuid[] language plpgsql as $$
#variable_conflict use_column
declare
  limited boolean := cardinality(p_busy) > 0;
  instant timestamptz;
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

  with recursive circle as (
    -- The company of the cursor, for what is left of its turn. It comes last, too, when the circle is walked to its end, and then
    -- for what is behind that.
    select f.company_id as here, coalesce(o.owed, 0) as owed, f.company_id, 0::smallint as priority,
      '00000000-0000-0000-0000-000000000000'::uuid as first, false as wrapped, 0 as place, o.owed as take, o.owed as room,
      0 as ahead, false as rated, 0 as filled
    from fair_cursor f left join lateral (
      select greatest(0, least(p_per_turn * co.weight - f.run, p_most)) as owed from companies co
      where co.company_id = f.company_id and co.paused_at is null and co.rate_per_second is null and co.company_id <> all(p_busy)
      limit 1) o on true
    union all
    select c.here, c.owed, n.company_id, n.priority, n.outbox_id, n.wrapped, c.place + 1, t.take, t.room,
      case when n.company_id = c.here then c.owed else 0 end, t.rated, c.filled + coalesce(least(t.take, t.room), 0)
    from circle c cross join lateral (
      (select r.company_id, r.priority, r.outbox_id, false as wrapped from email_ready r
       where not c.wrapped and r.company_id > c.company_id order by r.company_id, r.priority, r.outbox_id limit 1)
      union all
      (select r.company_id, r.priority, r.outbox_id, true from email_ready r
       where r.company_id > case when c.wrapped then c.company_id else '00000000-0000-0000-0000-000000000000' end
         and r.company_id <= c.here order by r.company_id, r.priority, r.outbox_id limit 1)
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
    -- From where the walk found it: what was taken before leaves dead entries, and they are stepped over once only. With the company
    -- inside the comparison, Postgres began at the company's first entry again.
    select own.spot, own.outbox_id, c.company_id, c.rated
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
  select array_agg(spot), array_agg(outbox_id), array_agg(company_id), bool_or(rated) into spots, ids, owners, rated from picked;
  if ids is null then
    return '{}';
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
  update fair_cursor set company_id = owners[last], run = least(1000000, last - place + 1
    + case when place = 1 and owners[1] = company_id then run else 0 end);
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
