import { fragment, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { IS_READY, IS_SCHEDULED, WAITING_AND_DUE } from './sql.ts'

export type Orphan = { outboxId: string; status: string }

/**
 * Orphaned e-mails, of any age: at work under a lease that is gone, due and neither ready nor leased, unknown and nobody waits for
 * evidence. The gateway makes none; one that a mistake, or somebody with psql, has made would wait for ever. They get a lease
 * that has expired, or a time to be resolved at, so that what dead workers leave behind is done with them as well.
 *
 * Searches every day that is due for it. Mail may be scheduled weeks ahead, and that of a paused company waits for longer, so no
 * day is too old; but an old day of which everything has ended is read once a day only.
 */
export async function recoverOrphans(db: Queryable, graceSeconds: number): Promise<Orphan[]> {
  const orphans: Orphan[] = []
  for (let day = await takeDueDay(db); day; day = await takeDueDay(db)) {
    let unfinished = 0
    // An hour at a time: no statement holds its snapshot for long.
    for (let hour = 0; hour < 24; hour++) {
      const [found] = await run<{ unfinished: number; orphans: Orphan[] }>(db, 'recover-orphans', RECOVER_ORPHANS, [
        graceSeconds,
        day,
        hour,
      ])
      unfinished += found!.unfinished
      orphans.push(...found!.orphans)
    }
    await sql(db, 'orphan-check-done')`
      update orphan_checks set unfinished = ${unfinished} where day = ${day}`
  }
  return orphans
}

/** A day whose check is due; from now on no other process takes it. */
async function takeDueDay(db: Queryable): Promise<string | null> {
  const [row] = await sql<{ day: string }>(db, 'take-day-to-check')`
    with days as (
       select to_date(right(c.relname, 8), 'YYYYMMDD') as day
       from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'email_outbox'::regclass
     ), due as (
       select d.day from days d left join orphan_checks c on c.day = d.day
       where c.day is null or ${isDue('c')}
       order by c.checked_at nulls first, d.day desc limit 1
     )
     insert into orphan_checks as c (day) select day from due
     on conflict (day) do update set checked_at = now(), unfinished = null where ${isDue('c')}
     returning day::text`
  return row?.day ?? null
}

/** A time that has not come yet was written before the clock was set back. */
const isDue = (check: string) => fragment`(${check}.checked_at > now() or ${check}.checked_at < now() - case
  when ${check}.unfinished = 0 and ${check}.day < (now() at time zone 'UTC')::date - 1 then interval '1 day' else interval '1 hour' end)`

const ofHour = (table: string) =>
  `${table}.outbox_id >= uuid_v7_floor(($2::date + $3 * interval '1 hour') at time zone 'UTC')
    and ${table}.outbox_id < uuid_v7_floor(($2::date + ($3 + 1) * interval '1 hour') at time zone 'UTC')`

/** Without an attempt and its provider there is nothing that could be asked: such a row is left to whoever made it. */
const RECOVER_ORPHANS = `
with unfinished as materialized (
  select u.outbox_id from email_outbox u
  where ${ofHour('u')} and u.status in ('PENDING', 'RETRY_SCHEDULED', 'PROCESSING', 'UNKNOWN')
), orphan as materialized (
  select o.outbox_id, o.status, o.lease_id, o.attempt_id, o.provider
  from unfinished u join email_outbox o on o.outbox_id = u.outbox_id
  where ${ofHour('o')}
    and case o.status
      when 'PROCESSING' then o.attempt_id is not null and o.provider is not null
        and not exists (select from leases l where l.lease_id = o.lease_id)
      when 'UNKNOWN' then o.attempt_id is not null and o.provider is not null
        and not exists (select from unknown_sends u where u.outbox_id = o.outbox_id)
      else ${WAITING_AND_DUE}
        and not ${IS_READY} and not ${IS_SCHEDULED}
        and not exists (select from leases l where l.outbox_ids @> array[o.outbox_id])
    end
  for update of o skip locked
), put_leases as (
  insert into leases (lease_id, kind, holder, outbox_ids, expires_at)
  select lease_id, 'work', 'orphan-recovery', array_agg(outbox_id), now() from orphan where status = 'PROCESSING' group by lease_id
  union all
  -- As if dispatched and not taken, on either lane: no attempt is counted.
  select uuid_v7_now(), 'dispatch', 'orphan-recovery', array_agg(outbox_id), now() from orphan
  where status not in ('PROCESSING', 'UNKNOWN') having count(*) > 0
  on conflict do nothing
), put_unknown as (
  insert into unknown_sends (outbox_id, attempt_id, provider, reason, resolve_at)
  select outbox_id, attempt_id, provider, 'WORKER_LOST', now() + $1 * interval '1 second' from orphan where status = 'UNKNOWN'
  on conflict do nothing
), put_counters as (
  insert into counters as c (name, label, value)
  select 'orphaned_emails', status, count(*) from orphan group by status order by status
  on conflict (name, label) do update set value = c.value + excluded.value
)
select (select count(*) from unfinished)::int as unfinished,
  coalesce((select json_agg(json_build_object('outboxId', outbox_id, 'status', status)) from orphan), '[]') as orphans`
