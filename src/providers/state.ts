import { fragment, type Queryable, run, sql } from '../platform/postgres/query.ts'

export type ProviderRow = {
  name: string
  state: 'closed' | 'open'
  openedAt: Date | null
  reasonCode: string | null
  reason: string | null
  probes: number
  /** Until the next probe may be sent; 0 or less: now. */
  probeInMs: number | null
  ratePerSecond: number | null
  /** The last throttling: the rate before, the rate it was lowered to, and when. */
  slowFrom: number | null
  slowTo: number | null
  slowedAgoMs: number | null
  /** Until the first moment that is not reserved by reserveSending. */
  freeInMs: number
}

const COLUMNS = fragment`name, state, opened_at, reason_code, reason, probes,
  (extract(epoch from probe_at - now()) * 1000)::float8 as "probeInMs", rate_per_second,
  slow_from, slow_to, (extract(epoch from now() - slowed_at) * 1000)::float8 as "slowedAgoMs",
  -- Further ahead than anything reserves: the clock was set back, as in reserveSending.
  case when free_at > now() + interval '10 minutes' then 0
    else (extract(epoch from greatest(free_at, now()) - now()) * 1000)::float8 end as "freeInMs"`

export async function registerProviders(db: Queryable, names: string[]): Promise<void> {
  await sql(db, 'register-providers')`
    insert into providers (name) select unnest(${names}::text[]) on conflict do nothing`
}

export async function listProviders(db: Queryable, names: string[] | null): Promise<ProviderRow[]> {
  return sql<ProviderRow>(db, 'list-providers')`
    select ${COLUMNS} from providers where ${names}::text[] is null or name = any(${names}::text[]) order by name`
}

/**
 * Opens the circuit breaker: mail waits, and a probe may be sent after the delay. If it is already open, only a failed probe moves
 * the next probe, because many workers report the same failure at once. Returns whether this call opened it.
 */
export async function openBreaker(
  db: Queryable,
  failure: { name: string; code: string; reason: string; probeDelayMs: number; failedProbe: boolean },
): Promise<boolean> {
  const [row] = await run<{ opened: boolean }>(
    db,
    'open-breaker',
    `with known as materialized (select state from providers where name = $1 for update)
     update providers p set state = 'open', opened_at = coalesce(p.opened_at, now()), reason_code = $2, reason = $3,
       probes = case when $5 then p.probes + 1 else p.probes end,
       probe_at = case when $5 or p.probe_at is null then now() + $4 * interval '1 millisecond' else p.probe_at end
     from known where p.name = $1 returning known.state = 'closed' as opened`,
    [failure.name, failure.code, failure.reason, failure.probeDelayMs, failure.failedProbe],
  )
  return row?.opened ?? false
}

/** Returns whether this call closed it. */
export async function closeBreaker(db: Queryable, name: string): Promise<boolean> {
  const rows = await sql(db, 'close-breaker')`
    update providers set state = 'closed', opened_at = null, reason_code = null, reason = null, probes = 0, probe_at = null
     where name = ${name} and state = 'open' returning name`
  return rows.length > 0
}

/** True for one worker only. If that one dies, another may probe after `seconds`. */
export async function takeProbe(db: Queryable, name: string, seconds: number): Promise<boolean> {
  const rows = await sql(db, 'take-probe')`
    update providers set probe_at = now() + ${seconds} * interval '1 second'
     where name = ${name} and state = 'open' and probe_at <= now() returning name`
  return rows.length > 0
}

/** The worker that took the probe has not sent it. */
export async function returnProbe(db: Queryable, name: string): Promise<void> {
  await sql(db, 'return-probe')`
    update providers set probe_at = now() where name = ${name} and state = 'open'`
}

export async function saveProviderRate(db: Queryable, name: string, ratePerSecond: number | null): Promise<void> {
  await sql(db, 'save-provider-rate')`
    update providers set rate_per_second = ${ratePerSecond}, rate_learnt_at = now() where name = ${name}`
}

export type SlowDown = {
  name: string
  from: number
  to: number
  /** No message is sent for this long. */
  pauseMs: number
  /** An earlier slowdown within this time was caused by the same throttling. */
  sameWithinMs: number
}

/**
 * The provider throttles: lowers its rate for all workers. Reservations made at the old rate are void, and workers that wait for
 * one reserve again. Many calls are throttled at once: they lower the rate once, but each may prolong the pause.
 */
export async function slowSending(
  db: Queryable,
  { name, from, to, pauseMs, sameWithinMs }: SlowDown,
): Promise<boolean> {
  const [row] = await sql<{ slowed: boolean }>(db, 'slow-sending')`
    with known as materialized (
       -- Not now(): one that waited for the row may have begun before the slowdown that it waited for.
       select name, slowed_at is null or slowed_at > clock_timestamp()
         or slowed_at < clock_timestamp() - ${sameWithinMs} * interval '1 millisecond' as slowed
       from providers where name = ${name} for update
     )
     update providers p set
       slow_from = case when known.slowed then ${from} else p.slow_from end,
       slow_to = case when known.slowed then ${to} else p.slow_to end,
       slowed_at = case when known.slowed then now() else p.slowed_at end,
       free_at = greatest(case when known.slowed then now() else p.free_at end, now() + ${pauseMs} * interval '1 millisecond')
     from known where p.name = known.name returning known.slowed`
  return row?.slowed ?? false
}

/**
 * Reserves sending time for these recipients on the provider's timeline (`free_at`), which all workers share, and returns how long
 * to wait for it. If that is longer than maxAheadMs, nothing is reserved: an e-mail that waited so long would only keep its lease.
 * Up to 100 ms of unused time may be caught up and older unused time is lost, so there are no bursts. A `free_at` more than ten
 * minutes ahead means that the clock was set back, and is ignored; otherwise all sending would stop for that time.
 */
export async function reserveSending(
  db: Queryable,
  name: string,
  recipients: number,
  ratePerSecond: number,
  maxAheadMs: number,
): Promise<{ waitMs: number; reserved: boolean }> {
  const [row] = await sql<{ wait: number; reserved: boolean }>(db, 'reserve-sending')`
    with known as materialized (
       select name, case when free_at > clock_timestamp() + interval '10 minutes' then clock_timestamp()
         else greatest(free_at, clock_timestamp() - interval '100 milliseconds') end as free
       from providers where name = ${name} for update
     ), moved as (
       update providers p set free_at = known.free + ${recipients} / ${ratePerSecond}::float8 * interval '1 second' from known
       where p.name = known.name and known.free <= clock_timestamp() + ${maxAheadMs} * interval '1 millisecond'
       returning p.name
     )
     select (extract(epoch from known.free - clock_timestamp()) * 1000)::float8 as wait, exists (select from moved) as reserved
     from known`
  return { waitMs: Math.max(0, row?.wait ?? 0), reserved: row?.reserved ?? true }
}
