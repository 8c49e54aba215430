import { type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'

/** A statement counts the e-mails of 20 minutes: none holds its snapshot for long, whatever the volume. */
const PIECE_MS = 20 * 60_000
const DAY_MS = 24 * 3_600_000
/** More of a company and day is a lost table, not a list that anybody reads. */
const MAX_NAMED = 100

/** Where an e-mail is, by its row in email_outbox (`o`). Null: nowhere. */
const PLACE = `case when o.status in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED') then 'waiting'
  when o.status = 'UNKNOWN' then 'unknown' when o.status is not null then 'ended' end`

type CountOptions = {
  /** A day that is begun is finished after that time, too. */
  maxMs: number
  /** Only days from this one on. */
  since?: string | null
  /** Somebody waits for it and wants to see what was accepted a moment ago: every day with open e-mails, and not a moment longer. */
  urgent?: boolean
  isStopping?: () => boolean
}

/** Counts the days that may have changed since they were counted last. Any process may call it. */
export async function countLedger(db: Queryable, options: CountOptions): Promise<void> {
  const { maxMs, since = null, urgent = false, isStopping = () => false } = options
  const endsAtMs = performance.now() + maxMs
  const isLate = () => performance.now() >= endsAtMs
  const mayGoOn = () => !isStopping() && !(urgent && isLate())
  const [started] = await runUnprepared<{ now: string }>(db, REGISTER_DAYS, [])
  const askedAt = urgent ? started!.now : null
  do {
    const [due] = await runUnprepared<DueDay>(db, TAKE_DUE_DAY, [since, askedAt])
    if (!due) return
    await countDay(db, due, mayGoOn)
  } while (!isLate() && mayGoOn())
}

const REGISTER_DAYS = `
with registered as (
  insert into email_days (day)
  -- Null for the names of other tables, which Postgres may look at before the join.
  select day from pg_inherits i join pg_class c on c.oid = i.inhrelid
  cross join lateral (select to_date(substring(c.relname from '^email_outbox_([0-9]{8})$'), 'YYYYMMDD') as day) d
  where i.inhparent = 'email_outbox'::regclass and day <= (now() at time zone 'UTC')::date
  on conflict do nothing
)
select now()::text as now`

type DueDay = {
  day: string
  now: string
  settledBefore: string
  settledUntil: string
  deletions: string
  writes: string
}

/**
 * The next day to count; nobody else takes it meanwhile. Postgres itself knows which tables were written, and reports it ten seconds
 * after the commit at the latest, so a day that rests is not read. The gateway deletes neither e-mails nor events one by one: a deleted
 * row, or another file (a table that was emptied or rewritten), is somebody else's doing and is looked into at once. After a crash
 * Postgres counts from 0 again, and every day is counted again. A time that has not come yet was written before the clock was set back.
 *
 * A day that is written is counted again after 20 seconds, or 10 minutes if it is over; and after 50 times as long as that took.
 */
const TAKE_DUE_DAY = `
with days as materialized (
  select d.day, d.counted_at, d.deletions, d.writes, d.took_ms, (d.day + 1)::timestamp at time zone 'UTC' as ends_at,
    concat(coalesce(o.relfilenode, 0), ' ', coalesce(v.relfilenode, 0), ' ', coalesce(pg_stat_get_tuples_deleted(o.oid), 0), ' ',
      coalesce(pg_stat_get_tuples_deleted(v.oid), 0)) as deletions_now,
    coalesce(pg_stat_get_tuples_inserted(o.oid) + pg_stat_get_tuples_updated(o.oid), 0) as writes_now
  from email_days d
  left join pg_class o on o.oid = to_regclass('email_outbox_' || to_char(d.day, 'YYYYMMDD'))
  left join pg_class v on v.oid = to_regclass('email_events_' || to_char(d.day, 'YYYYMMDD'))
  where d.events_dropped_at is null and d.day <= (now() at time zone 'UTC')::date and ($1::date is null or d.day >= $1)
    and (d.counting_since is null or d.counting_since > now()
      or d.counting_since < now() - interval '2 minutes' - 3 * d.took_ms * interval '1 millisecond')
), due as (
  select * from days
  where counted_at is null or counted_at > now() or deletions is distinct from deletions_now
    -- Once when it is over, however quiet its end was.
    or (counted_at < ends_at and ends_at < now() - interval '2 minutes')
    or (writes <> writes_now and counted_at < now() - greatest(took_ms * interval '50 milliseconds',
      case when ends_at > now() then interval '20 seconds' else interval '10 minutes' end))
    or (counted_at < $2::timestamptz and (writes <> writes_now or ends_at > now()
      or exists (select from ledger l where l.day = days.day and l.waiting + l.unknown > 0)))
  order by (deletions is distinct from deletions_now) desc, day desc limit 1
)
update email_days d set counting_since = now() from due where d.day = due.day
  and (d.counting_since is null or d.counting_since > now() or d.counting_since < now() - interval '2 minutes')
returning d.day::text, now()::text, coalesce(d.settled_until, '-infinity')::text as "settledBefore",
  least(due.ends_at, now() - interval '1 minute')::text as "settledUntil", due.deletions_now as deletions, due.writes_now::text as writes`

const COUNTS = ['accepted', 'before', 'settled', 'ended', 'waiting', 'unknown'] as const
/** `before`: of `accepted`, those that were settled at the last count. `settled`: those that are settled now. */
type Counts = { companyId: string; missing: string[] } & Record<(typeof COUNTS)[number], number>

async function countDay(db: Queryable, due: DueDay, mayGoOn: () => boolean): Promise<void> {
  const startedMs = performance.now()
  const sums = new Map<string, Counts>()
  const beginMs = Date.parse(`${due.day}T00:00:00Z`)
  // An hour longer, for clocks that differ: the ids of e-mails are made by the processes.
  const endMs = Math.min(beginMs + DAY_MS, Date.parse(due.now) + 3_600_000)
  for (let fromMs = beginMs; fromMs < endMs; fromMs += PIECE_MS) {
    if (!mayGoOn()) return giveUp(db, due.day)
    const bounds = [fromMs, fromMs + PIECE_MS].map(ms => new Date(ms).toISOString())
    const values = [...bounds, due.settledBefore, due.settledUntil]
    for (const counts of await runUnprepared<Counts>(db, COUNT_PIECE, values)) addTo(sums, counts)
  }
  const tookMs = Math.ceil(performance.now() - startedMs)
  const { day, now, settledUntil, deletions, writes } = due
  await runUnprepared(db, KEEP, [day, now, settledUntil, tookMs, deletions, writes, JSON.stringify([...sums.values()])])
}

async function giveUp(db: Queryable, day: string): Promise<void> {
  await sql(db)`update email_days set counting_since = null where day = ${day}`
}

function addTo(sums: Map<string, Counts>, counts: Counts): void {
  const sum = sums.get(counts.companyId)
  if (!sum) {
    sums.set(counts.companyId, counts)
    return
  }
  for (const count of COUNTS) sum[count] += counts[count]
  sum.missing = [...sum.missing, ...counts.missing].slice(0, MAX_NAMED)
}

const inBounds = (id: string) => `${id} >= uuid_v7_floor($1::timestamptz) and ${id} < uuid_v7_floor($2::timestamptz)`

/** Accepted is what the event log or the rows know of; where it is, the rows say. */
const COUNT_PIECE = `
with logged as (
  select v.outbox_id, v.company_id from email_events v where ${inBounds('v.outbox_id')} and v.type = 'QUEUED'
), stored as (
  select o.outbox_id, o.company_id, ${PLACE} as place from email_outbox o where ${inBounds('o.outbox_id')}
), known as (
  select outbox_id, coalesce(s.company_id, l.company_id) as company_id, s.place from stored s full join logged l using (outbox_id)
)
select company_id, count(*)::int as accepted,
  count(*) filter (where outbox_id < uuid_v7_floor($3::timestamptz))::int as before,
  count(*) filter (where outbox_id < uuid_v7_floor($4::timestamptz))::int as settled,
  count(*) filter (where place = 'ended')::int as ended,
  count(*) filter (where place = 'waiting')::int as waiting,
  count(*) filter (where place = 'unknown')::int as unknown,
  coalesce((array_agg(outbox_id order by outbox_id) filter (where place is null))[1:${MAX_NAMED}], '{}') as missing
from known group by company_id`

/**
 * Nothing takes back that an e-mail was accepted: of what was settled at the last count, fewer than then are a loss, and what has come
 * since is added to it. A count that began before the last one, or whose day was dropped meanwhile, is not kept.
 */
const KEEP = `
with kept as (
  update email_days set counting_since = null, counted_at = $2, settled_until = $3, took_ms = $4, deletions = $5, writes = $6
  where day = $1 and events_dropped_at is null and (counted_at is null or counted_at <= $2 or counted_at > now()) returning day
), found as (
  select * from json_to_recordset($7::json) as f("companyId" uuid, accepted bigint, before bigint, settled bigint, ended bigint,
    waiting bigint, unknown bigint, missing uuid[])
), counted as (
  select coalesce(f."companyId", l.company_id) as company_id, coalesce(f.accepted, 0) as accepted, coalesce(f.settled, 0) as settled,
    coalesce(f.ended, 0) as ended, coalesce(f.waiting, 0) as waiting, coalesce(f.unknown, 0) as unknown,
    coalesce(f.missing, '{}') as missing, greatest(coalesce(l.settled, 0) - coalesce(f.before, 0), 0) as gone
  from found f full join (select company_id, settled from ledger where day = $1) l on l.company_id = f."companyId"
)
insert into ledger as l (day, company_id, accepted, settled, ended, waiting, unknown, missing, imbalanced_since)
select day, company_id, accepted + gone, settled + gone, ended, waiting, unknown, missing,
  case when accepted + gone > ended + waiting + unknown then now() end
from counted cross join kept
on conflict (day, company_id) do update set accepted = excluded.accepted, settled = excluded.settled, ended = excluded.ended,
  waiting = excluded.waiting, unknown = excluded.unknown, missing = excluded.missing,
  imbalanced_since = case when excluded.imbalance > 0 then coalesce(l.imbalanced_since, now()) end,
  logged = least(l.logged, excluded.imbalance), acknowledged = least(l.acknowledged, excluded.imbalance)
where (l.accepted, l.settled, l.ended, l.waiting, l.unknown, l.missing)
  is distinct from (excluded.accepted, excluded.settled, excluded.ended, excluded.waiting, excluded.unknown, excluded.missing)`
