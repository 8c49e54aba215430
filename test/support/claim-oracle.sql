-- An independent implementation of the fair order, which the claim is compared with.
create function claim_oracle_room(
  p_company uuid, p_rate float8, p_in_flight uuid[], p_allowances int[], p_default_allowance int, p_instant timestamptz)
returns int language sql stable as $$
  select greatest(0, least(coalesce((select b.room from unnest(p_in_flight, p_allowances) as b(id, room) where b.id = p_company), p_default_allowance),
    case when p_rate is not null then floor(p_rate * extract(epoch from p_instant - greatest(
      coalesce((select sendable_at from company_flow where company_id = p_company and sendable_at <= p_instant), '-infinity'),
      p_instant - greatest(1, 1 / p_rate) * interval '1 second')))::int end))
$$;

-- A fair batch: companies in turn from the shared cursor, and again from the first after the last, a turn of each, round after round until the batch is full.
-- The walk visits no more companies than the batch needs, so neither the backlog nor the number of companies matters.
-- The cursor is locked by a statement of its own: the next one sees what the claimer before us did.
-- p_ended: leases whose work is done; they go along, which saves a commit for each.
-- Small statements beside the one that picks: as parts of it, they cost a third of the claim in plan nodes.
create function claim_oracle(
  p_lease uuid, p_kind text, p_holder text, p_lease_seconds int, p_size int, p_per_turn int, p_ended uuid[],
  p_in_flight uuid[], p_allowances int[], p_default_allowance int)
returns table (outbox_id uuid, company_id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  here uuid;
  served int;
  -- What is left of the turn of the company served last.
  owed int;
  limited boolean := cardinality(p_in_flight) > 0;
  instant timestamptz;
  ids uuid[];
  owners uuid[];
  rated boolean;
  place int;
begin
  if cardinality(p_ended) > 0 then
    delete from leases where lease_id = any(p_ended);
  end if;
  -- An idle gateway asks four times a second and writes nothing.
  if p_size < 1 or not exists (select from email_ready) then
    return;
  end if;
  -- Promises nothing to anybody: lost with Postgres, the ready rows are back and the lease is not, without which nothing starts. The
  -- commit of a start waits for the disk, and everything before it is there then, too.
  perform set_config('synchronous_commit', 'off', true);
  select c.company_id, c.run into here, served from fair_cursor c for update;
  instant := clock_timestamp();
  select greatest(0, least(p_per_turn * c.weight - served, p_default_allowance)) into owed from companies c
    where c.company_id = here and c.paused_at is null and c.rate_per_second is null and here <> all(p_in_flight);
  owed := coalesce(owed, 0);

  with recursive in_turn as (
    select here as company_id, 0::smallint as priority, here as first, false as wrapped, 0 as place, 0 as take, 0 as room,
      false as rated, 0 as filled
    union all
    select n.company_id, n.priority, n.outbox_id, n.wrapped, c.place + 1, coalesce(t.take, 1), coalesce(t.room, 0),
      coalesce(t.rated, false), c.filled + coalesce(least(t.take, t.room), 0)
    from in_turn c cross join lateral (
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
        when limited or co.rate_per_second is not null
          then claim_oracle_room(co.company_id, co.rate_per_second, p_in_flight, p_allowances, p_default_allowance, instant)
        else p_default_allowance end as room
      from companies co where co.company_id = n.company_id limit 1) t on true
    where c.filled < p_size
  ), members as materialized (
    -- The company of the cursor comes last, when all companies had their turn; what it is owed comes first in any case.
    select c.company_id, c.priority, c.first, c.place, c.take, case when c.company_id = here then owed else 0 end as owed, c.rated,
      least(c.room, ceil(p_size::float8 / greatest(1, max(c.filled) over ()))::int * c.take
        + case when c.company_id = here then owed else 0 end) as most
    from in_turn c where c.place > 0
    union all
    select here, 0::smallint, '00000000-0000-0000-0000-000000000000', 0, 1, owed, false, owed
    where owed > 0 and not exists (select from in_turn where company_id = here and place > 0)
  ), picked as materialized (
    -- From where the walk found it: what was taken before leaves dead entries, and they are stepped over once only.
    select own.spot, case when own.nth <= m.owed then -1 else (own.nth - m.owed - 1) / m.take end as turn, m.place, own.nth, m.rated
    from members m cross join lateral (
      select e.ctid as spot, row_number() over () as nth from (
        select e.ctid from email_ready e where e.company_id = m.company_id and (e.priority, e.outbox_id) >= (m.priority, m.first)
        order by e.priority, e.outbox_id limit m.most) e) own
    order by turn, place, nth limit p_size
  ), taken as (
    delete from email_ready r using picked p where r.ctid = p.spot
    returning r.outbox_id, r.company_id, p.turn, p.place, p.nth, p.rated
  ), ordered as (
    select * from taken order by turn, place, nth
  )
  select array_agg(outbox_id), array_agg(company_id), bool_or(rated) into ids, owners, rated from ordered;

  if ids is null then
    return;
  end if;
  -- Not now(): this transaction may be older than the e-mails it waited for at the cursor.
  insert into leases (lease_id, kind, holder, outbox_ids, taken_at, expires_at)
  values (p_lease, p_kind, p_holder, ids, clock_timestamp(), now() + p_lease_seconds * interval '1 second');
  place := cardinality(owners);
  while place > 1 and owners[place - 1] = owners[cardinality(owners)] loop
    place := place - 1;
  end loop;
  update fair_cursor set company_id = owners[cardinality(owners)], run = least(1000000, cardinality(owners) - place + 1
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
  return query select i.id, i.owner from unnest(ids, owners) as i(id, owner);
end $$;
