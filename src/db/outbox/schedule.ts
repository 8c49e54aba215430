import { type Queryable, run } from '../query.ts'
import { LOCK_EXISTING_READY_ROW } from './sql.ts'

/**
 * Scheduled and retrying mail whose time has come becomes ready. Answers how many; with none, nothing is written.
 * From here on it is due by its row and not by the clock: were the clock set back (or Postgres moved to a machine that is a
 * moment behind), a claim would take its ready row away, find it not due, and nobody would come back to it.
 */
export async function readyDueEmails(db: Queryable, limit: number): Promise<number> {
  const [row] = await run<{ count: number }>(
    db,
    'ready-due-emails',
    `with locked as materialized (
       -- Locked in the order of their times until there are enough: those that others keep locked do not count.
       select d.due_at, d.outbox_id from (select due_at, outbox_id from email_scheduled where due_at <= now() order by due_at) d
       cross join lateral (select from email_outbox o where o.outbox_id = d.outbox_id for update skip locked) o limit $1
     ), without_email as materialized (
       select d.due_at, d.outbox_id from (select due_at, outbox_id from email_scheduled where due_at <= now() order by due_at limit $1) d
       where not exists (select from email_outbox o where o.outbox_id = d.outbox_id)
     ), moved as (
       delete from email_scheduled s using (select * from without_email union all select * from locked limit $1) due
       where s.due_at = due.due_at and s.outbox_id = due.outbox_id
       returning s.company_id, s.priority, s.outbox_id, s.due_at
     ), cleared as (
       update email_outbox o set next_attempt_at = null from moved
       where o.outbox_id = moved.outbox_id and o.next_attempt_at = moved.due_at and o.status in ('PENDING', 'RETRY_SCHEDULED')
     ), put as (
       -- Once each: an e-mail that was started otherwise and is to be tried again is here twice, and would stop all of them.
       insert into email_ready (company_id, priority, outbox_id) select distinct company_id, priority, outbox_id from moved
       ${LOCK_EXISTING_READY_ROW}
     )
     select count(*)::int as count from moved`,
    [limit],
  )
  return row!.count
}

export type ChangeOutcome = 'done' | 'not-found' | 'too-late'

/** Cancels what no worker has started on; migrations/functions/sql_changes.sql says how. companyId null: of any company. */
export async function cancelEmail(
  db: Queryable,
  outboxId: string,
  companyId: string | null,
  by: string,
): Promise<ChangeOutcome> {
  const [row] = await run<{ cancelled: boolean | null }>(
    db,
    'cancel-email',
    'select cancel_waiting_email($1, $2, $3, true) as cancelled',
    [outboxId, companyId === null ? null : [companyId], by],
  )
  return outcomeOf(row!.cancelled)
}

/** Moves an e-mail that has not started to another time: its scheduled or ready row moves with it. */
export async function rescheduleEmail(
  db: Queryable,
  outboxId: string,
  companyId: string,
  scheduledAt: string,
): Promise<ChangeOutcome> {
  const rows = await run<{ moved: boolean }>(
    db,
    'reschedule-email',
    `with open as materialized (
       select outbox_id, company_id, priority, next_attempt_at, status = 'PENDING' and attempts = 0 as waiting
       from email_outbox where outbox_id = $1 and company_id = $2 for update
     ), moved as (
       update email_outbox o set scheduled_at = $3, next_attempt_at = case when $3 > now() then $3 end, expires_at = greatest($3, now()) + interval '24 hours'
       from open where open.waiting and o.outbox_id = $1
     ), unready as (
       delete from email_ready r using open
       where open.waiting and $3 > now() and r.company_id = open.company_id and r.priority = open.priority and r.outbox_id = $1
     ), unscheduled as (
       delete from email_scheduled s using open
       where open.waiting and s.due_at = open.next_attempt_at and s.outbox_id = $1 and s.due_at <> $3
     ), put_ready as (
       insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from open
       where waiting and $3 <= now() ${LOCK_EXISTING_READY_ROW}
     ), put_scheduled as (
       insert into email_scheduled (due_at, outbox_id, company_id, priority) select $3, outbox_id, company_id, priority from open
       where waiting and $3 > now() on conflict do nothing
     )
     select waiting as moved from open`,
    [outboxId, companyId, scheduledAt],
  )
  return outcomeOf(rows[0]?.moved)
}

function outcomeOf(done: boolean | null | undefined): ChangeOutcome {
  if (done === undefined || done === null) return 'not-found'
  return done ? 'done' : 'too-late'
}
