import { type Queryable, runUnprepared } from '../query.ts'

/** An hour of a day (UTC), by the ids of its e-mails. */
export type Slice = { day: string; hour: number }

/** When that hour begins. */
export const begin = (day: string, hour: string) => `((${day} + ${hour} * interval '1 hour') at time zone 'UTC')`

/** Nothing can be added to that hour any more. */
export const isOver = (day: string, hour: string, now: string) =>
  `(${now} > ${begin(day, `(${hour} + 1)`)} + interval '2 minutes'
    and coalesce(open_sql_emails_since() > ${begin(day, `(${hour} + 1)`)}, true))`

/** Somebody waits, and this hour may have changed since it was counted. */
const IS_WAITED_FOR = `(s.counted_at < $2::timestamptz and not s.final)`
/** E-mails still come into it: first, if there is not time for all. */
const GROWS = `(${IS_WAITED_FOR} and ${begin('d.day', '(h.hour + 1)')} > $2::timestamptz - interval '2 minutes')`

/**
 * Counting takes at most a fiftieth of the time for an hour that is not final, or whose day has a fault: it may be mended. A time that
 * has not come yet was written before the clock was set back.
 */
const IS_DUE = `(s.counted_at is null or s.counted_at > now() or s.counted_at < d.changed_at or ${IS_WAITED_FOR}
  or ((not s.final or exists (select from ledger_faults f where f.day = s.day and f.acknowledged_at is null))
    and s.counted_at < now() - greatest(interval '20 seconds', s.took_ms * interval '50 milliseconds')))`
/** Whoever took it longer ago has died. */
const IS_FREE = `(s.taken_at is null or s.taken_at > now() or s.taken_at < now() - interval '2 minutes')`

/** Days whose events are dropped were counted before. */
const IS_COUNTED = 'd.closed_at is null and d.events_dropped_at is null'

/** What was changed is counted at once; for the rest, all processes together use a twentieth of the time. */
const IS_AFFORDABLE = `($2::timestamptz is not null or s.counted_at < d.changed_at
  or (select coalesce(sum(took_ms), 0) from ledger_slices where counted_at > now() - interval '5 minutes') < 15000)`

/** `askedAt`: when somebody asked who waits for it. */
export type Due = { since: string | null; askedAt: string | null }

/**
 * The next hour to count: first what somebody waits for, then what was changed, then what was never counted, newest first. Nobody
 * else takes it meanwhile.
 */
export async function takeDueSlice(db: Queryable, { since, askedAt }: Due): Promise<Slice | null> {
  const [slice] = await runUnprepared<Slice>(
    db,
    `with due as (
       select d.day, h.hour from email_days d cross join generate_series(0, 23) as h(hour)
       left join ledger_slices s on s.day = d.day and s.hour = h.hour
       where ${IS_COUNTED} and to_regclass('email_outbox_' || to_char(d.day, 'YYYYMMDD')) is not null
         and ${begin('d.day', 'h.hour')} <= now() and ($1::date is null or d.day >= $1) and (s.day is null or (${IS_DUE} and ${IS_FREE})) and ${IS_AFFORDABLE}
       order by ${GROWS} desc nulls last, ${IS_WAITED_FOR} desc nulls last, (s.counted_at < d.changed_at) desc nulls last, s.counted_at nulls first, d.day desc, h.hour desc limit 1
     )
     insert into ledger_slices as s (day, hour, taken_at) select day, hour, now() from due
     on conflict (day, hour) do update set taken_at = now() where ${IS_FREE}
     returning day::text, hour`,
    [since, askedAt],
  )
  return slice ?? null
}

/** By the clock of the database, in full precision. */
export async function readNow(db: Queryable): Promise<string> {
  const [row] = await runUnprepared<{ now: string }>(db, 'select now()::text as now', [])
  return row!.now
}
