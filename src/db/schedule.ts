import { type Queryable, run } from './pool.ts'

/**
 * Scheduled and retrying mail whose time has come joins the ready. Answers whether anything is ready: an idle gateway
 * that asks this four times a second writes nothing.
 */
export async function readyDueEmails(db: Queryable, limit = 1000): Promise<boolean> {
  const [row] = await run<{ ready: boolean }>(
    db,
    'ready-due-emails',
    `with due as (
       delete from email_scheduled where (due_at, outbox_id) in (
         select due_at, outbox_id from email_scheduled where due_at <= now() order by due_at limit $1 for update skip locked)
       returning company_id, priority, outbox_id
     ), put as (
       insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from due
       on conflict do nothing
     )
     select exists (select from due) or exists (select from email_ready) as ready`,
    [limit],
  )
  return row!.ready
}

export type ChangeOutcome = 'done' | 'not-found' | 'too-late'

/** Cancels what no worker has started on. The claim and this meet on the e-mail's row: one of them wins. */
export async function cancelEmail(
  db: Queryable,
  outboxId: string,
  companyId: string | null,
  by: string,
): Promise<ChangeOutcome> {
  const rows = await run<{ cancelled: boolean }>(
    db,
    'cancel-email',
    `with cancelled as (
       update email_outbox set status = 'CANCELLED', next_attempt_at = null
       where outbox_id = $1 and ($2::uuid is null or company_id = $2) and status in ('PENDING', 'RETRY_SCHEDULED')
       returning outbox_id, company_id, priority
     ), unready as (
       delete from email_ready r using cancelled c
       where r.company_id = c.company_id and r.priority = c.priority and r.outbox_id = c.outbox_id
     ), put_recipients as (
       update email_recipients r set status = 'CANCELLED' from cancelled c where r.outbox_id = c.outbox_id and r.outbox_id = $1
     ), put_event as (
       insert into email_events (outbox_id, event_id, type, metadata)
       select outbox_id, uuid_v7_now(), 'CANCELLED', jsonb_build_object('cancelledBy', $3::text) from cancelled
     )
     select exists (select from cancelled) as cancelled from email_outbox o
     where o.outbox_id = $1 and ($2::uuid is null or o.company_id = $2)`,
    [outboxId, companyId, by],
  )
  if (rows.length === 0) return 'not-found'
  return rows[0]!.cancelled ? 'done' : 'too-late'
}

/** Moves what has not started to another time. A leftover row in the old place is dropped by the claim. */
export async function rescheduleEmail(
  db: Queryable,
  outboxId: string,
  companyId: string,
  scheduledAt: string,
): Promise<ChangeOutcome> {
  const rows = await run<{ moved: boolean }>(
    db,
    'reschedule-email',
    `with moved as (
       update email_outbox set scheduled_at = $3, next_attempt_at = $3, expires_at = greatest($3, now()) + interval '24 hours'
       where outbox_id = $1 and company_id = $2 and status = 'PENDING' and attempts = 0
       returning outbox_id, company_id, priority
     ), unready as (
       delete from email_ready r using moved m
       where $3 > now() and r.company_id = m.company_id and r.priority = m.priority and r.outbox_id = m.outbox_id
     ), put_ready as (
       insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from moved
       where $3 <= now() on conflict do nothing
     ), put_scheduled as (
       insert into email_scheduled (due_at, outbox_id, company_id, priority) select $3, outbox_id, company_id, priority from moved
       where $3 > now() on conflict do nothing
     )
     select exists (select from moved) as moved from email_outbox o where o.outbox_id = $1 and o.company_id = $2`,
    [outboxId, companyId, scheduledAt],
  )
  if (rows.length === 0) return 'not-found'
  return rows[0]!.moved ? 'done' : 'too-late'
}
