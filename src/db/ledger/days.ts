import { type Queryable, runUnprepared } from '../query.ts'

/** A closed day that was written to again (a replay, a late event) is counted again this long after it was closed. */
const RECOUNT_AFTER = `interval '6 hours'`

/** Days of the tables, with what Postgres itself counts about them. It costs a look into the catalogue and reads no e-mail. */
const DAYS = `
select to_date(right(c.relname, 8), 'YYYYMMDD') as day, pg_stat_get_tuples_deleted(c.oid) as outbox_deleted,
  coalesce(pg_stat_get_tuples_deleted(v.oid), 0) as events_deleted,
  pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid) as outbox_written,
  c.relfilenode || ' ' || coalesce(v.relfilenode, 0) as files
from pg_inherits i join pg_class c on c.oid = i.inhrelid
left join pg_class v on v.oid = to_regclass('email_events_' || right(c.relname, 8))
where i.inhparent = 'email_outbox'::regclass`

/**
 * The gateway deletes neither e-mails nor events one by one, so a deleted row is somebody else's doing; Postgres has counted it ten
 * seconds after the commit at the latest. Another file means that the table was emptied or rewritten. After a crash the counts
 * begin again at 0, and every day is counted again.
 *
 * Answers the days with newly deleted e-mails.
 */
export async function noticeChangedDays(db: Queryable): Promise<string[]> {
  const rows = await runUnprepared<{ day: string }>(
    db,
    `with days as materialized (${DAYS}), known as (
       select d.*, k.day is null as is_new, coalesce(k.outbox_deleted, 0) as known_deleted,
         k.day is not null and (d.outbox_deleted, d.events_deleted, d.files)
           is distinct from (k.outbox_deleted, k.events_deleted, k.files) as touched,
         coalesce(k.closed_at < now() - ${RECOUNT_AFTER} and d.outbox_written <> k.outbox_written, false) as written
       from days d left join email_days k on k.day = d.day
       where d.day <= (now() at time zone 'UTC')::date
     ), noticed as (
       insert into email_days as k (day, outbox_deleted, events_deleted, outbox_written, files)
       select day, outbox_deleted, events_deleted, outbox_written, files from known
       where is_new or touched or written order by day
       on conflict (day) do update set outbox_deleted = excluded.outbox_deleted, events_deleted = excluded.events_deleted,
         outbox_written = excluded.outbox_written, files = excluded.files,
         changed_at = case when k.events_dropped_at is null then now() else k.changed_at end,
         closed_at = case when k.events_dropped_at is not null then k.closed_at end
       returning day
     )
     select n.day::text from noticed n join known k using (day) where k.outbox_deleted > k.known_deleted order by n.day`,
    [],
  )
  return rows.map(row => row.day)
}

/** Days whose e-mails are gone although retention has not dropped them. */
export async function noticeMissingDays(db: Queryable): Promise<void> {
  await runUnprepared(
    db,
    `with gone as (
       select k.day from email_days k where k.emails_dropped_at is null
         and to_regclass('email_outbox_' || to_char(k.day, 'YYYYMMDD')) is null
     ), mended as (
       delete from ledger_faults f where f.kind = 'DAY_MISSING' and f.day not in (select day from gone)
     )
     insert into ledger_faults (kind, day, emails)
     select 'DAY_MISSING', g.day, greatest(1, (select sum(accepted) from ledger_sums s where s.day = g.day)) from gone g
     on conflict do nothing`,
    [],
  )
}
