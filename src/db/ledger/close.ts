import { type Queryable, runUnprepared } from '../query.ts'

const TIME_TO_MEND = `interval '7 days'`

/**
 * Closes the days that are over and counted, and of which every e-mail has ended: their sums are kept and not counted again. A sum
 * that was kept before is never lowered. A day with a fault is closed when it is acknowledged, or there was time to mend it: otherwise
 * retention could never drop it.
 */
export async function closeDays(tx: Queryable): Promise<void> {
  const closable = await runUnprepared<{ day: string }>(
    tx,
    `select d.day::text from email_days d
     where d.closed_at is null and d.events_dropped_at is null and d.day < (now() at time zone 'UTC')::date
       and (select count(*) from ledger_slices s where s.day = d.day and s.final and s.counted_at >= d.changed_at) = 24
       and not exists (select from ledger_faults f where f.day = d.day and f.acknowledged_at is null and f.found_at > now() - ${TIME_TO_MEND})
     order by d.day limit 10 for update of d skip locked`,
    [],
  )
  for (const { day } of closable) {
    await runUnprepared(tx, KEEP_SUMS, [day])
    await runUnprepared(tx, 'delete from ledger_hours where day = $1', [day])
    await runUnprepared(tx, 'delete from ledger_slices where day = $1', [day])
    await runUnprepared(tx, MARK_CLOSED, [day])
  }
}

const KEEP_SUMS = `
insert into ledger_days as k (day, company_id, accepted, ended)
select day, company_id, sum(accepted), sum(ended) from ledger_hours where day = $1 group by day, company_id
on conflict (day, company_id) do update set accepted = greatest(k.accepted, excluded.accepted), ended = excluded.ended`

const MARK_CLOSED = `
update email_days d set closed_at = now(), outbox_written = coalesce((
  select pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid) from pg_class c
  where c.oid = to_regclass('email_outbox_' || to_char(d.day, 'YYYYMMDD'))), 0)
where d.day = $1`

/** More than was known before is logged again, and nobody has acknowledged it. */
const NEWS_WHEN_MORE = ['logged_at', 'acknowledged_at', 'acknowledged_by', 'acknowledged_reason']
  .map(column => `${column} = case when excluded.emails <= f.emails then f.${column} end`)
  .join(', ')

/**
 * E-mails that are in no sum any more, although they were counted as accepted, and whose ids are not known: their events were
 * deleted with them. Of days that are counted as they are now.
 */
export async function noteVanished(tx: Queryable, days: string[]): Promise<void> {
  if (days.length === 0) return
  await runUnprepared(
    tx,
    `with named as (
       select day, company_id, count(*) as emails from ledger_faults
       where day = any($1::date[]) and kind = 'ROW_MISSING' group by day, company_id
     ), vanished as materialized (
       select s.day, s.company_id, s.accepted - s.ended - s.waiting - s.unknown - coalesce(n.emails, 0) as emails
       from ledger_sums s left join named n on n.day = s.day and n.company_id = s.company_id where s.day = any($1::date[])
     ), mended as (
       delete from ledger_faults f where f.kind = 'VANISHED' and f.day = any($1::date[])
         and not exists (select from vanished v where v.day = f.day and v.company_id = f.company_id and v.emails > 0)
     )
     insert into ledger_faults as f (kind, day, company_id, emails) select 'VANISHED', day, company_id, emails from vanished where emails > 0
     on conflict (day, kind, outbox_id, company_id) do update set emails = excluded.emails, ${NEWS_WHEN_MORE}
     where f.emails <> excluded.emails`,
    [days],
  )
}
