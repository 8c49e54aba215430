import type pg from 'pg'
import { inTransaction, type Queryable, runUnprepared } from '../query.ts'

/** An hour of a day (UTC), by the ids of its e-mails. */
export type Slice = { day: string; hour: number }

/** Statements over 20 minutes of e-mails: none holds its snapshot for long, whatever the volume. */
const PIECES = 3
/** More than this of one piece is a lost table, not a list that anybody reads. */
const MAX_FAULTS = 1_000

const begin = (day: string, hour: string) => `((${day} + ${hour} * interval '1 hour') at time zone 'UTC')`

/**
 * Counting takes at most a fiftieth of the time for an hour that is not final, or whose day has a fault: it may be mended. A time that has not come yet was written before the
 * clock was set back.
 */
const IS_DUE = `(s.counted_at is null or s.counted_at > now() or s.counted_at < d.changed_at
  or ((not s.final or exists (select from ledger_faults f where f.day = s.day)) and s.counted_at < now() - greatest(interval '20 seconds', s.took_ms * interval '50 milliseconds')))`
/** Whoever took it longer ago has died. */
const IS_FREE = `(s.taken_at is null or s.taken_at > now() or s.taken_at < now() - interval '2 minutes')`

/** Days whose events are dropped were counted before. */
const IS_COUNTED = 'd.closed_at is null and d.events_dropped_at is null'

/** What was changed is counted at once; for the rest, all processes together use a twentieth of the time. */
const IS_AFFORDABLE = `($2::boolean or s.counted_at < d.changed_at
  or (select coalesce(sum(took_ms), 0) from ledger_slices where counted_at > now() - interval '5 minutes') < 15000)`

/** The next hour to count: first what was changed, then what was never counted, newest first. Nobody else takes it meanwhile. */
export async function takeDueSlice(
  db: Queryable,
  { since, urgent }: { since: string | null; urgent: boolean },
): Promise<Slice | null> {
  const [slice] = await runUnprepared<Slice>(
    db,
    `with due as (
       select d.day, h.hour from email_days d cross join generate_series(0, 23) as h(hour)
       left join ledger_slices s on s.day = d.day and s.hour = h.hour
       where ${IS_COUNTED} and to_regclass('email_outbox_' || to_char(d.day, 'YYYYMMDD')) is not null
         and ${begin('d.day', 'h.hour')} <= now() and ($1::date is null or d.day >= $1) and (s.day is null or (${IS_DUE} and ${IS_FREE})) and ${IS_AFFORDABLE}
       order by (s.counted_at < d.changed_at) desc nulls last, s.counted_at nulls first, d.day desc, h.hour desc limit 1
     )
     insert into ledger_slices as s (day, hour, taken_at) select day, hour, now() from due
     on conflict (day, hour) do update set taken_at = now() where ${IS_FREE}
     returning day::text, hour`,
    [since, urgent],
  )
  return slice ?? null
}

export type Fault = { kind: string; outboxId: string | null; companyId: string | null }
type Counts = { companyId: string; accepted: number; ended: number; waiting: number; unknown: number }
type Piece = { counts: Counts[]; faults: Fault[] }

/** Which event an e-mail must have that stands like this. Bits, because they are cheap to gather over many rows. */
const END_EVENTS: Record<string, [event: string, bit: number]> = {
  SENT: ['SENT', 2],
  DELIVERED: ['DELIVERED', 4],
  BOUNCED: ['BOUNCE', 8],
  COMPLAINED: ['COMPLAINT', 16],
  REJECTED: ['REJECTED', 32],
  FAILED: ['FAILED', 64],
  DLQ: ['DLQ_MOVED', 128],
  EXPIRED: ['EXPIRED', 256],
  CANCELLED: ['CANCELLED', 512],
}
const ends = Object.entries(END_EVENTS)
const BIT_OF_EVENT = `case v.type when 'QUEUED' then 1 ${ends.map(([, [event, bit]]) => `when '${event}' then ${bit}`).join(' ')} else 0 end`
const BIT_OF_STATUS = `case o.status ${ends.map(([status, [, bit]]) => `when '${status}' then ${bit}`).join(' ')} else 1 end`

/** accepted is what the log says, the rest what the rows say: they agree, or something was lost. */
const COUNT_PIECE = `
with logged as (
  select v.outbox_id, bit_or(${BIT_OF_EVENT}) as seen from email_events v
  where v.outbox_id >= uuid_v7_floor($1::timestamptz) and v.outbox_id < uuid_v7_floor($2::timestamptz) group by v.outbox_id
), stored as (
  select o.outbox_id, o.company_id, o.status, ${BIT_OF_STATUS} as needed from email_outbox o
  where o.outbox_id >= uuid_v7_floor($1::timestamptz) and o.outbox_id < uuid_v7_floor($2::timestamptz)
), both_sides as materialized (
  select coalesce(o.outbox_id, v.outbox_id) as outbox_id, o.status, coalesce(v.seen & 1, 0) as accepted,
    coalesce(o.company_id, (select e.company_id from email_events e where e.outbox_id = v.outbox_id limit 1)) as company_id,
    case when o.outbox_id is null then 'ROW_MISSING' when coalesce(v.seen & 1, 0) = 0 then 'EVENT_MISSING'
      when v.seen & o.needed = 0 then 'END_MISSING' end as kind
  from stored o full join logged v on v.outbox_id = o.outbox_id
), counts as (
  select company_id as "companyId", sum(accepted)::int as accepted,
    count(*) filter (where status not in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN'))::int as ended,
    count(*) filter (where status in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED'))::int as waiting,
    count(*) filter (where status = 'UNKNOWN')::int as unknown
  from both_sides group by company_id
), faults as (
  select kind, outbox_id as "outboxId", company_id as "companyId" from both_sides where kind is not null limit ${MAX_FAULTS}
)
select coalesce((select json_agg(c) from counts c), '[]') as counts, coalesce((select json_agg(f) from faults f), '[]') as faults`

/** Answers what is wrong and was not known before. */
export async function countSlice(pool: pg.Pool, slice: Slice): Promise<Fault[]> {
  const startedAt = performance.now()
  const [{ now }] = (await runUnprepared<{ now: string }>(pool, 'select now()::text as now', [])) as [{ now: string }]
  const counts = new Map<string, Counts>()
  const faults: Fault[] = []
  for (let piece = 0; piece < PIECES; piece++) {
    const counted = await countPiece(pool, slice, piece)
    for (const one of counted.counts) counts.set(one.companyId, addUp(one, counts.get(one.companyId)))
    faults.push(...counted.faults)
  }
  const tookMs = Math.ceil(performance.now() - startedAt)
  return inTransaction(pool, tx => keep(tx, slice, { now, tookMs, counts: [...counts.values()], faults }))
}

async function countPiece(db: Queryable, { day, hour }: Slice, piece: number): Promise<Piece> {
  const minutes = 60 / PIECES
  const low = Date.parse(`${day}T00:00:00Z`) + (hour * 60 + piece * minutes) * 60_000
  const bounds = [low, low + minutes * 60_000].map(ms => new Date(ms).toISOString())
  const [counted] = await runUnprepared<Piece>(db, COUNT_PIECE, bounds)
  return counted!
}

const addUp = (one: Counts, sum: Counts | undefined): Counts =>
  sum
    ? {
        companyId: one.companyId,
        accepted: sum.accepted + one.accepted,
        ended: sum.ended + one.ended,
        waiting: sum.waiting + one.waiting,
        unknown: sum.unknown + one.unknown,
      }
    : one

type Counted = { now: string; tookMs: number; counts: Counts[]; faults: Fault[] }

async function keep(tx: Queryable, slice: Slice, { now, tookMs, counts, faults }: Counted): Promise<Fault[]> {
  const { day, hour } = slice
  await runUnprepared(tx, KEEP_COUNTS, [day, hour, JSON.stringify(counts)])
  await runUnprepared(tx, FORGET_MENDED, [day, hour, JSON.stringify(faults)])
  const fresh = await runUnprepared<Fault>(tx, KEEP_FAULTS, [day, JSON.stringify(faults)])
  const open = counts.some(one => one.waiting + one.unknown > 0)
  await runUnprepared(
    tx,
    `update ledger_slices s set taken_at = null, counted_at = $3, took_ms = $4,
       final = not $5 and $3::timestamptz > ${begin('s.day', '(s.hour + 1)')} + interval '2 minutes'
         and coalesce(open_sql_emails_since() > ${begin('s.day', '(s.hour + 1)')}, true)
     where s.day = $1 and s.hour = $2`,
    [day, hour, now, tookMs, open],
  )
  return fresh
}

/** A company that has disappeared from the hour keeps what was accepted: nothing takes that back. */
const KEEP_COUNTS = `
with found as materialized (
  select * from json_to_recordset($3::json) as x("companyId" uuid, accepted bigint, ended bigint, waiting bigint, unknown bigint)
), emptied as (
  update ledger_hours h set ended = 0, waiting = 0, unknown = 0
  where h.day = $1 and h.hour = $2 and h.company_id not in (select "companyId" from found)
)
insert into ledger_hours as h (day, hour, company_id, accepted, ended, waiting, unknown)
select $1, $2, "companyId", accepted, ended, waiting, unknown from found
on conflict (day, hour, company_id) do update set accepted = greatest(h.accepted, excluded.accepted), ended = excluded.ended,
  waiting = excluded.waiting, unknown = excluded.unknown`

const FORGET_MENDED = `
delete from ledger_faults f where f.day = $1 and f.outbox_id >= uuid_v7_floor(${begin('$1::date', '$2')})
  and f.outbox_id < uuid_v7_floor(${begin('$1::date', '($2 + 1)')})
  and not exists (select from json_to_recordset($3::json) as x(kind text, "outboxId" uuid) where x."outboxId" = f.outbox_id and x.kind = f.kind)`

const KEEP_FAULTS = `
insert into ledger_faults as f (kind, day, outbox_id, company_id)
select kind, $1, "outboxId", "companyId" from json_to_recordset($2::json) as x(kind text, "outboxId" uuid, "companyId" uuid)
on conflict (day, kind, outbox_id, company_id) do nothing
returning f.kind, f.outbox_id as "outboxId", f.company_id as "companyId"`
