import { type Queryable, run, WAITING_AND_DUE } from './pool.ts'

export type Stray = { outboxId: string; status: string }

/** So many hours of e-mails are looked through, an hour at a time: none of the statements holds its snapshot for long. */
const HOURS = 48

/**
 * E-mails of the last days that are in nobody's hands: at work under a lease that is gone, due and neither in line nor leased, in
 * doubt and nobody waits for evidence. The line makes none; one that a mistake, or somebody with psql, has made would wait for
 * ever. They get a lease that is over, or a day of judgement, so that what dead workers leave behind is done with them as well.
 * Reads every e-mail of those days: for once an hour.
 */
export async function takeUpStrays(db: Queryable, graceSeconds: number, hours = HOURS): Promise<Stray[]> {
  const strays: Stray[] = []
  for (let hour = 0; hour < hours; hour++)
    strays.push(...(await run<Stray>(db, 'take-up-strays', TAKE_UP, [graceSeconds, hour])))
  return strays
}

/** Without an attempt and its provider there is nothing that could be asked: such a row is left to whoever made it. */
const TAKE_UP = `
with stray as materialized (
  select o.outbox_id, o.status, o.lease_id, o.attempt_id, o.provider
  from email_outbox o
  where o.outbox_id >= uuid_v7_floor(now() - ($2 + 1) * interval '1 hour') and o.outbox_id < uuid_v7_floor(now() - $2 * interval '1 hour')
    and case o.status
      when 'PROCESSING' then o.attempt_id is not null and o.provider is not null
        and not exists (select from leases l where l.lease_id = o.lease_id)
      when 'UNKNOWN' then o.attempt_id is not null and o.provider is not null
        and not exists (select from unknown_sends u where u.outbox_id = o.outbox_id)
      else ${WAITING_AND_DUE}
        and not exists (select from email_ready r
          where r.company_id = o.company_id and r.priority = o.priority and r.outbox_id = o.outbox_id)
        and not exists (select from email_scheduled s where s.due_at = o.next_attempt_at and s.outbox_id = o.outbox_id)
        and not exists (select from leases l where l.outbox_ids @> array[o.outbox_id])
    end
  for update of o skip locked
), put_leases as (
  insert into leases (lease_id, kind, holder, outbox_ids, expires_at)
  select lease_id, 'work', 'nobody', array_agg(outbox_id), now() from stray where status = 'PROCESSING' group by lease_id
  union all
  select uuid_v7_now(), 'dispatch', 'nobody', array_agg(outbox_id), now() from stray
  where status not in ('PROCESSING', 'UNKNOWN') having count(*) > 0
  -- Another process looks as well.
  on conflict do nothing
), put_unknown as (
  insert into unknown_sends (outbox_id, attempt_id, provider, reason, resolve_at)
  select outbox_id, attempt_id, provider, 'WORKER_LOST', now() + $1 * interval '1 second' from stray where status = 'UNKNOWN'
  on conflict do nothing
), put_counters as (
  insert into counters as c (name, label, value)
  select 'stray_emails', status, count(*) from stray group by status order by status
  on conflict (name, label) do update set value = c.value + excluded.value
)
select outbox_id as "outboxId", status from stray`
