-- How many more e-mails of a company may be taken now.
-- p_in_flight: companies that have mail in flight; p_allowances: how many more of each may be taken; p_default_allowance: of any other.
create or replace function claim_allowance(
  p_company companies, p_in_flight uuid[], p_allowances int[], p_default_allowance int, p_instant timestamptz)
returns int language sql stable as $$
  select case when p_company.paused_at is not null then 0 else least(
    coalesce(p_allowances[array_position(p_in_flight, p_company.company_id)], p_default_allowance),
    -- With a rate, what has come together since the last e-mail, one second's worth at most (and always at least one e-mail's).
    case when p_company.rate_per_second is not null then greatest(0, floor(p_company.rate_per_second * extract(epoch from p_instant - greatest(
      coalesce((select f.sendable_at from company_flow f where f.company_id = p_company.company_id and f.sendable_at <= p_instant), '-infinity'),
      p_instant - greatest(1, 1 / p_company.rate_per_second) * interval '1 second'))))::int end) end
$$;

-- Takes e-mails of companies with a rate off their allowance.
create or replace function spend_company_rates(p_owners uuid[], p_instant timestamptz) returns void language sql as $$
  insert into company_flow (company_id, sendable_at)
  select c.company_id, greatest(coalesce(f.sendable_at, '-infinity'), p_instant - greatest(1, 1 / c.rate_per_second) * interval '1 second')
    + t.count / c.rate_per_second * interval '1 second'
  from (select o.id, count(*) from unnest(p_owners) as o(id) group by o.id) t
  join companies c on c.company_id = t.id and c.rate_per_second is not null
  left join company_flow f on f.company_id = c.company_id and f.sendable_at <= p_instant
  on conflict (company_id) do update set sendable_at = excluded.sendable_at
$$;

-- Takes e-mails of one company and priority, in ascending order, out of the ready ones. Returns those that were there. They are found by
-- their keys and between the first and the last of them: as a join with the picked e-mails, this was planned while email_ready was empty
-- and vacuumed, when reading all of it looks cheapest, and then read the whole backlog for every batch.
create or replace function take_ready_emails(p_company uuid, p_priority smallint, p_ids uuid[]) returns uuid[] language plpgsql as $$
declare
  taken uuid[];
begin
  with gone as (
    delete from email_ready r where r.company_id = p_company and r.priority = p_priority
      and r.outbox_id between p_ids[1] and p_ids[cardinality(p_ids)] and r.outbox_id = any(p_ids)
    returning r.outbox_id)
  select array_agg(gone.outbox_id) into taken from gone;
  return taken;
end $$;

-- The next e-mails in the fair order, under a new lease. Companies are served in rotation; the cursor holds who was served last. Each
-- gets a turn of p_per_turn × its weight, round after round until the batch is full. Inside a company, priority and then age decide.
-- The scan visits no more companies than the batch needs, so neither the backlog nor the number of companies matters.
-- p_ended: leases whose work is done. They end here, which saves a commit for each.
create or replace function claim_fair_batch(
  p_lease uuid, p_kind text, p_holder text, p_lease_seconds int, p_size int, p_per_turn int, p_ended uuid[],
  p_in_flight uuid[], p_allowances int[], p_default_allowance int)
returns table (outbox_id uuid, company_id uuid) language plpgsql
-- Rows are found by their keys, whatever the planner believes about tables that fill and empty all the time.
set enable_hashjoin = off set enable_mergejoin = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  instant timestamptz;
  last_company uuid;   -- the company that was served last
  run_length int;      -- how many of its e-mails in a row
  turn_remaining int;  -- how many more are left of its turn
  ids uuid[];
  owners uuid[];
  rated boolean;
  run_start int;       -- where the last company's run in this batch begins
begin
  delete from leases where lease_id = any(p_ended);
  if p_size < 1 then
    return;
  end if;
  -- One claimer at a time. The commit does not wait for the disk, because it promises nothing: lost with Postgres, the ready rows are
  -- back and the lease is not, without which nothing starts; and the commit of a start flushes everything before it.
  lock table claim_lock in exclusive mode;
  perform set_config('synchronous_commit', 'off', true);
  instant := clock_timestamp();
  select f.company_id, f.run, coalesce((
      select greatest(0, least(p_per_turn * c.weight - f.run, p_default_allowance)) from companies c where c.company_id = f.company_id
        and c.paused_at is null and c.rate_per_second is null and c.company_id <> all(p_in_flight)), 0)
    into last_company, run_length, turn_remaining from fair_cursor f;

  with recursive rotation as (
    -- First what remains of the turn of the company that was served last, then every company that has mail, and that company again at the end.
    select last_company as company_id, false as wrapped, 0 as position, turn_remaining as turn_size, turn_remaining as allowance, 0 as already_picked,
      false as rated, 0 as allocated
    union all
    select n.company_id, n.wrapped, c.position + 1, t.turn_size, t.allowance, case when n.company_id = last_company then turn_remaining else 0 end,
      t.rated, c.allocated + coalesce(least(t.turn_size, t.allowance), 0)
    from rotation c cross join lateral (
      (select r.company_id, false as wrapped from email_ready r
       where not c.wrapped and r.company_id > c.company_id order by r.company_id limit 1)
      union all
      (select r.company_id, true from email_ready r
       where r.company_id > case when c.wrapped then c.company_id else '00000000-0000-0000-0000-000000000000' end
         and r.company_id <= last_company order by r.company_id limit 1)
      limit 1) n
    -- The mail of a company that was deleted is stepped over: it must not end the scan.
    left join lateral (
      select p_per_turn * co.weight as turn_size, co.rate_per_second is not null as rated,
        claim_allowance(co, p_in_flight, p_allowances, p_default_allowance, instant) as allowance
      from companies co where co.company_id = n.company_id) t on true
    where c.allocated < p_size
  ), picked as materialized (
    select own.priority, own.outbox_id, c.company_id, c.rated, c.position, own.nth, (own.nth - 1) / c.turn_size as turn
    from rotation c cross join lateral (
      select e.priority, e.outbox_id, row_number() over (order by e.priority, e.outbox_id) as nth from (
        select e.priority, e.outbox_id from email_ready e where e.company_id = c.company_id order by e.priority, e.outbox_id
        limit least(c.allowance - c.already_picked, (select ceil(p_size::float8 / greatest(1, max(allocated)))::int from rotation) * c.turn_size)
        offset c.already_picked) e) own
    where c.allowance > c.already_picked
    order by turn, c.position, own.nth limit p_size
  ), runs as (
    select p.company_id, p.priority, p.position, p.rated, array_agg(p.outbox_id order by p.nth) as ids, array_agg(p.turn order by p.nth) as turns
    from picked p group by p.company_id, p.priority, p.position, p.rated
  ), taken as materialized (
    select *, take_ready_emails(company_id, priority, runs.ids) as found from runs
  )
  select array_agg(e.outbox_id order by e.turn, t.position, t.priority, e.outbox_id),
      array_agg(t.company_id order by e.turn, t.position, t.priority, e.outbox_id), bool_or(t.rated)
    into ids, owners, rated
  from taken t cross join lateral unnest(t.ids, t.turns) as e(outbox_id, turn)
  where cardinality(t.found) = cardinality(t.ids) or e.outbox_id = any(t.found);
  if ids is null then
    return;
  end if;

  -- taken_at is not now(): this transaction may be older than the e-mails it waited for at the lock.
  insert into leases (lease_id, kind, holder, outbox_ids, taken_at, expires_at)
  values (p_lease, p_kind, p_holder, ids, clock_timestamp(), now() + p_lease_seconds * interval '1 second');
  run_start := cardinality(owners);
  while run_start > 1 and owners[run_start - 1] = owners[cardinality(owners)] loop
    run_start := run_start - 1;
  end loop;
  update fair_cursor set company_id = owners[cardinality(owners)], run = least(1000000,
    cardinality(owners) - run_start + 1 + case when run_start = 1 and owners[1] = last_company then run_length else 0 end);
  if rated then
    perform spend_company_rates(owners, instant);
  end if;
  return query select * from unnest(ids, owners);
end $$;

-- Returns when the claims that have begun are over.
create or replace function wait_for_claims() returns void language plpgsql as $$
begin
  lock table claim_lock in exclusive mode;
end $$;

revoke execute on function claim_allowance, spend_company_rates, take_ready_emails, claim_fair_batch, wait_for_claims from public;
