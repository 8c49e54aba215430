import { type Queryable, runUnprepared } from '../query.ts'
import { begin, isOver } from './slices.ts'

const inHour = (table: string) =>
  `${table}.outbox_id >= uuid_v7_floor(${begin('n.day', 'n.hour')}) and ${table}.outbox_id < uuid_v7_floor(${begin('n.day', '(n.hour + 1)')})`

/** Hours that were never counted and hold nothing are counted in one statement: a new gateway has hardly others. */
export async function keepEmptyHours(db: Queryable, since: string | null): Promise<void> {
  await runUnprepared(
    db,
    `with days as materialized (
       select day from email_days where closed_at is null and events_dropped_at is null and ($1::date is null or day >= $1)
         and to_regclass('email_outbox_' || to_char(day, 'YYYYMMDD')) is not null order by day desc limit 10
     ), never_counted as materialized (
       select d.day, h.hour from days d cross join generate_series(0, 23) as h(hour)
       where ${begin('d.day', 'h.hour')} <= now() and not exists (select from ledger_slices s where s.day = d.day and s.hour = h.hour)
     ), looked_into as materialized (
       select n.day, n.hour, not exists (select from email_events v where ${inHour('v')})
         and not exists (select from email_outbox o where ${inHour('o')}) as empty from never_counted n
     )
     insert into ledger_slices (day, hour, counted_at, took_ms, final)
     select day, hour, now(), 0, ${isOver('day', 'hour', 'now()')} from looked_into where empty
     on conflict do nothing`,
    [since],
  )
}
