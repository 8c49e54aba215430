import { type Queryable, runUnprepared } from '../query.ts'
import type { Counts, Fault, Times } from './count-slice.ts'
import { begin, isOver, type Slice } from './slices.ts'

type Counted = Times & { tookMs: number; counts: Counts[]; faults: Fault[] }

/** Replaces what was known of the hour. */
export async function keepSlice(db: Queryable, { day, hour }: Slice, counted: Counted): Promise<void> {
  const { now, settledUntil, tookMs, counts, faults } = counted
  const open = counts.some(one => one.waiting + one.unknown > 0)
  const values = [day, hour, JSON.stringify(counts), JSON.stringify(faults), now, tookMs, open, settledUntil]
  await runUnprepared(db, KEEP, values)
}

/**
 * Nothing takes back that an e-mail was accepted: of what was settled at the last count, fewer than then are a loss, and what has come
 * since is added to it. A company that has disappeared from the hour keeps what was settled.
 */
const KEEP = `
with found as materialized (
  select * from json_to_recordset($3::json) as x("companyId" uuid, accepted bigint, before bigint, settled bigint,
    ended bigint, waiting bigint, unknown bigint)
), wrong as materialized (
  select * from json_to_recordset($4::json) as x(kind text, "outboxId" uuid, "companyId" uuid)
), emptied as (
  update ledger_hours h set accepted = settled, ended = 0, waiting = 0, unknown = 0
  where h.day = $1 and h.hour = $2 and not exists (select from found where found."companyId" = h.company_id)
), put_counts as (
  insert into ledger_hours (day, hour, company_id, accepted, settled, ended, waiting, unknown)
  select $1, $2, f."companyId", f.accepted + g.gone, f.settled + g.gone, f.ended, f.waiting, f.unknown
  from found f left join ledger_hours h on h.day = $1 and h.hour = $2 and h.company_id = f."companyId"
  cross join lateral (select greatest(coalesce(h.settled, 0) - f.before, 0) as gone) g
  on conflict (day, hour, company_id) do update set accepted = excluded.accepted, settled = excluded.settled, ended = excluded.ended,
    waiting = excluded.waiting, unknown = excluded.unknown
), mended as (
  delete from ledger_faults f where f.day = $1 and f.outbox_id >= uuid_v7_floor(${begin('$1::date', '$2::int')})
    and f.outbox_id < uuid_v7_floor(${begin('$1::date', '($2::int + 1)')})
    and not exists (select from wrong where wrong."outboxId" = f.outbox_id and wrong.kind = f.kind)
), counted as (
  update ledger_slices s set taken_at = null, counted_at = $5, settled_until = $8, took_ms = $6,
    final = not $7 and ${isOver('s.day', 's.hour', '$5::timestamptz')}
  where s.day = $1 and s.hour = $2
)
insert into ledger_faults (kind, day, outbox_id, company_id) select kind, $1, "outboxId", "companyId" from wrong
on conflict (day, kind, outbox_id, company_id) do nothing`
