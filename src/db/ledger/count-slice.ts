import { type Queryable, runUnprepared } from '../query.ts'
import { keepSlice } from './keep-slice.ts'
import type { Slice } from './slices.ts'

/** Statements over 20 minutes of e-mails: none holds its snapshot for long, whatever the volume. */
const PIECES = 3
/** More than this of one piece is a lost table, not a list that anybody reads. */
const MAX_FAULTS = 1_000

const inBounds = (table: string) =>
  `${table}.outbox_id >= uuid_v7_floor($1::timestamptz) and ${table}.outbox_id < uuid_v7_floor($2::timestamptz)`

export type Fault = { kind: string; outboxId: string | null; companyId: string | null }
/** `before`: of `accepted`, those that were settled at the last count. `settled`: those that are settled now. */
export type Counts = {
  companyId: string
  accepted: number
  before: number
  settled: number
  ended: number
  waiting: number
  unknown: number
}
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

/** accepted is what the log or the rows know of, the rest what the rows say: they agree, or something was lost. */
const COUNT_PIECE = `
with logged as (
  select v.outbox_id, bit_or(${BIT_OF_EVENT}) as seen from email_events v
  where ${inBounds('v')} group by v.outbox_id
), stored as (
  select o.outbox_id, o.company_id, o.status, ${BIT_OF_STATUS} as needed from email_outbox o
  where ${inBounds('o')}
), both_sides as materialized (
  select coalesce(o.outbox_id, v.outbox_id) as outbox_id, o.status,
    coalesce(o.company_id, (select e.company_id from email_events e where e.outbox_id = v.outbox_id limit 1)) as company_id,
    case when o.outbox_id is null then 'ROW_MISSING' when coalesce(v.seen & 1, 0) = 0 then 'EVENT_MISSING'
      when v.seen & o.needed = 0 then 'END_MISSING' end as kind
  from stored o full join logged v on v.outbox_id = o.outbox_id
), counts as (
  select company_id as "companyId", count(*)::int as accepted,
    count(*) filter (where outbox_id < uuid_v7_floor($3::timestamptz))::int as before,
    count(*) filter (where outbox_id < uuid_v7_floor($4::timestamptz))::int as settled,
    count(*) filter (where status not in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN'))::int as ended,
    count(*) filter (where status in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED'))::int as waiting,
    count(*) filter (where status = 'UNKNOWN')::int as unknown
  from both_sides group by company_id
), faults as (
  select kind, outbox_id as "outboxId", company_id as "companyId" from both_sides where kind is not null order by outbox_id limit ${MAX_FAULTS}
)
select coalesce((select json_agg(c) from counts c), '[]') as counts, coalesce((select json_agg(f) from faults f), '[]') as faults`

export async function countSlice(db: Queryable, slice: Slice): Promise<void> {
  const startedAt = performance.now()
  const { empty, ...times } = await lookInto(db, slice)
  const counts = new Map<string, Counts>()
  const faults: Fault[] = []
  for (let piece = 0; piece < PIECES && !empty; piece++) {
    const counted = await countPiece(db, slice, piece, times)
    for (const one of counted.counts) counts.set(one.companyId, addUp(one, counts.get(one.companyId)))
    faults.push(...counted.faults)
  }
  const tookMs = Math.ceil(performance.now() - startedAt)
  await keepSlice(db, slice, { ...times, tookMs, counts: [...counts.values()], faults })
}

/** By the clock of the database. */
export type Times = {
  now: string
  /** Until when it was settled at the last count: its beginning, if it was never counted. */
  settledBefore: string
  /** What is older has been committed by now, so that fewer of it than before are a loss. */
  settledUntil: string
}

/** The times by which it is counted, and whether there is anything to count. */
async function lookInto(db: Queryable, slice: Slice): Promise<Times & { empty: boolean }> {
  const [row] = await runUnprepared<Times & { empty: boolean }>(
    db,
    `select now()::text as now, coalesce((select settled_until from ledger_slices where day = $3 and hour = $4), $1)::text as "settledBefore",
       greatest($1, least($2, now() - interval '1 minute'))::text as "settledUntil",
       not exists (select from email_events v where ${inBounds('v')})
       and not exists (select from email_outbox o where ${inBounds('o')}) as empty`,
    [...boundsOf(slice, 0, 60), slice.day, slice.hour],
  )
  return row!
}

function boundsOf({ day, hour }: Slice, minute: number, minutes: number): string[] {
  const low = Date.parse(`${day}T00:00:00Z`) + (hour * 60 + minute) * 60_000
  return [low, low + minutes * 60_000].map(ms => new Date(ms).toISOString())
}

async function countPiece(db: Queryable, slice: Slice, piece: number, times: Times): Promise<Piece> {
  const minutes = 60 / PIECES
  const bounds = boundsOf(slice, piece * minutes, minutes)
  const [counted] = await runUnprepared<Piece>(db, COUNT_PIECE, [...bounds, times.settledBefore, times.settledUntil])
  return counted!
}

const addUp = (one: Counts, sum: Counts | undefined): Counts =>
  sum
    ? {
        companyId: one.companyId,
        accepted: sum.accepted + one.accepted,
        before: sum.before + one.before,
        settled: sum.settled + one.settled,
        ended: sum.ended + one.ended,
        waiting: sum.waiting + one.waiting,
        unknown: sum.unknown + one.unknown,
      }
    : one
