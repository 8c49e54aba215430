import { type Queryable, run } from './pool.ts'

export type ProviderRow = {
  name: string
  state: 'closed' | 'open'
  openedAt: Date | null
  reasonCode: string | null
  reason: string | null
  probes: number
  /** Milliseconds until the next probe may leave; 0 or less: now. */
  probeInMs: number | null
  ratePerSecond: number | null
  /** It throttled: the rate it had, the one it was lowered to, and when. */
  slowFrom: number | null
  slowTo: number | null
  slowedAgoMs: number | null
  /** How far ahead its rate is given away. */
  freeInMs: number
}

const COLUMNS = `name, state, opened_at as "openedAt", reason_code as "reasonCode", reason, probes,
  (extract(epoch from probe_at - now()) * 1000)::float8 as "probeInMs", rate_per_second as "ratePerSecond",
  slow_from as "slowFrom", slow_to as "slowTo", (extract(epoch from now() - slowed_at) * 1000)::float8 as "slowedAgoMs",
  -- Further ahead than anybody reserves: a clock that was set back, as in reserveSending.
  case when free_at > now() + interval '10 minutes' then 0
    else (extract(epoch from greatest(free_at, now()) - now()) * 1000)::float8 end as "freeInMs"`

export async function knowProviders(db: Queryable, names: string[]): Promise<void> {
  await run(db, 'know-providers', `insert into providers (name) select unnest($1::text[]) on conflict do nothing`, [
    names,
  ])
}

export async function listProviders(db: Queryable, names: string[] | null): Promise<ProviderRow[]> {
  return run<ProviderRow>(
    db,
    'list-providers',
    `select ${COLUMNS} from providers where $1::text[] is null or name = any($1) order by name`,
    [names],
  )
}

/**
 * Mail waits from here on, and a probe leaves after the delay. When it is open already, only the probe that failed moves
 * the next one: many workers report the same trouble at once. Answers whether this call opened it.
 */
export async function openProvider(
  db: Queryable,
  trouble: { name: string; code: string; reason: string; probeDelayMs: number; failedProbe: boolean },
): Promise<boolean> {
  const [row] = await run<{ opened: boolean }>(
    db,
    'open-provider',
    `with known as materialized (select state from providers where name = $1 for update)
     update providers p set state = 'open', opened_at = coalesce(p.opened_at, now()), reason_code = $2, reason = $3,
       probes = case when $5 then p.probes + 1 else p.probes end,
       probe_at = case when $5 or p.probe_at is null then now() + $4 * interval '1 millisecond' else p.probe_at end
     from known where p.name = $1 returning known.state = 'closed' as opened`,
    [trouble.name, trouble.code, trouble.reason, trouble.probeDelayMs, trouble.failedProbe],
  )
  return row?.opened ?? false
}

/** It works again. Answers whether this call closed it. */
export async function closeProvider(db: Queryable, name: string): Promise<boolean> {
  const rows = await run(
    db,
    'close-provider',
    `update providers set state = 'closed', opened_at = null, reason_code = null, reason = null, probes = 0, probe_at = null
     where name = $1 and state = 'open' returning name`,
    [name],
  )
  return rows.length > 0
}

/** One worker wins the probe; the next may leave after `seconds`, if this one is never heard of again. */
export async function takeProbe(db: Queryable, name: string, seconds: number): Promise<boolean> {
  const rows = await run(
    db,
    'take-probe',
    `update providers set probe_at = now() + $2 * interval '1 second'
     where name = $1 and state = 'open' and probe_at <= now() returning name`,
    [name, seconds],
  )
  return rows.length > 0
}

export async function learnRate(db: Queryable, name: string, ratePerSecond: number | null): Promise<void> {
  await run(db, 'learn-rate', `update providers set rate_per_second = $2, rate_learnt_at = now() where name = $1`, [
    name,
    ratePerSecond,
  ])
}

export type SlowDown = {
  name: string
  from: number
  to: number
  /** No message leaves for so long. */
  pauseMs: number
  /** A slowdown within so long was caused by the same throttling. */
  sameWithinMs: number
}

/**
 * The provider throttles: its rate is lower from now on, for all workers. Places that were given away at the old rate are void,
 * those who wait for one ask again. Many calls are throttled at once and lower it once; each of them may ask for a longer pause.
 */
export async function slowSending(
  db: Queryable,
  { name, from, to, pauseMs, sameWithinMs }: SlowDown,
): Promise<boolean> {
  const [row] = await run<{ slowed: boolean }>(
    db,
    'slow-sending',
    `with known as materialized (
       select name, slowed_at is null or slowed_at > now() or slowed_at < now() - $5 * interval '1 millisecond' as slowed
       from providers where name = $1 for update
     )
     update providers p set
       slow_from = case when known.slowed then $2 else p.slow_from end,
       slow_to = case when known.slowed then $3 else p.slow_to end,
       slowed_at = case when known.slowed then now() else p.slowed_at end,
       free_at = greatest(case when known.slowed then now() else p.free_at end, now() + $4 * interval '1 millisecond')
     from known where p.name = known.name returning known.slowed`,
    [name, from, to, pauseMs, sameWithinMs],
  )
  return row?.slowed ?? false
}

/**
 * Reserves places on the provider's timeline, which all workers share, and answers how long to wait for the first. Nothing is
 * reserved, and `reserved` is false, when that is further ahead than maxAheadMs: who waited in hand for it would keep a lease for nothing.
 * What was not used a moment ago may be caught up; what was not used before that is lost, so nothing ever bursts. Places
 * further ahead than anybody reserves mean that the clock was set back: they would stop all sending for as long as that.
 */
export async function reserveSending(
  db: Queryable,
  name: string,
  recipients: number,
  ratePerSecond: number,
  maxAheadMs: number,
): Promise<{ waitMs: number; reserved: boolean }> {
  const [row] = await run<{ wait: number; reserved: boolean }>(
    db,
    'reserve-sending',
    `with known as materialized (
       select name, case when free_at > clock_timestamp() + interval '10 minutes' then clock_timestamp()
         else greatest(free_at, clock_timestamp() - interval '100 milliseconds') end as free
       from providers where name = $1 for update
     ), moved as (
       update providers p set free_at = known.free + $2 / $3::float8 * interval '1 second' from known
       where p.name = known.name and known.free <= clock_timestamp() + $4 * interval '1 millisecond'
       returning p.name
     )
     select (extract(epoch from known.free - clock_timestamp()) * 1000)::float8 as wait, exists (select from moved) as reserved
     from known`,
    [name, recipients, ratePerSecond, maxAheadMs],
  )
  return { waitMs: Math.max(0, row?.wait ?? 0), reserved: row?.reserved ?? true }
}
