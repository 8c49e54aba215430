import { setTimeout as sleep } from 'node:timers/promises'
import { type Queryable, run, sql } from '../platform/postgres/query.ts'
import { LOCK_EXISTING_READY_ROW } from './sql.ts'

/**
 * Scheduled and retrying mail whose time has come becomes ready. Answers how many; with none, nothing is written.
 * From here on it is due by its row and not by the clock: were the clock set back (or Postgres moved to a machine that is a
 * moment behind), a claim would take its ready row away, find it not due, and nobody would come back to it.
 */
export async function readyDueEmails(db: Queryable, limit: number): Promise<number> {
  const [row] = await sql<{ count: number }>(db, 'ready-due-emails')`
    with locked as materialized (
       -- Locked in the order of their times until there are enough: those that others keep locked do not count.
       select d.due_at, d.outbox_id from (select due_at, outbox_id from email_scheduled where due_at <= now() order by due_at) d
       cross join lateral (select from email_outbox o where o.outbox_id = d.outbox_id for update skip locked) o limit ${limit}
     ), without_email as materialized (
       select d.due_at, d.outbox_id from (select due_at, outbox_id from email_scheduled where due_at <= now() order by due_at limit ${limit}) d
       where not exists (select from email_outbox o where o.outbox_id = d.outbox_id)
     ), moved as (
       delete from email_scheduled s using (select * from without_email union all select * from locked limit ${limit}) due
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
     select count(*)::int as count from moved`
  return row!.count
}

/** locked: somebody else is changing it, for longer than a worker would. */
export type ChangeOutcome = 'done' | 'not-found' | 'too-late' | 'locked'

const TRIES = 10
const TRY_AGAIN_MS = 50

/**
 * A company may keep its e-mails locked in a transaction of its own. Nobody waits for that in Postgres: requests that do would hold all
 * connections, and those of other companies would find none.
 */
async function unlessLocked(change: () => Promise<ChangeOutcome>): Promise<ChangeOutcome> {
  for (let tries = 1; ; tries++) {
    const outcome = await change()
    if (outcome !== 'locked' || tries === TRIES) return outcome
    await sleep(TRY_AGAIN_MS)
  }
}

/** Cancels what no worker has started on; migrations/functions/sql_changes.sql says how. companyId null: of any company. */
export async function cancelEmail(
  db: Queryable,
  outboxId: string,
  companyId: string | null,
  by: string,
): Promise<ChangeOutcome> {
  return unlessLocked(async () => {
    const [row] = await run<{ found: boolean; cancelled: boolean | null }>(
      db,
      'cancel-email',
      `with unlocked as materialized (
         select outbox_id from email_outbox where outbox_id = $1 and ($2::uuid[] is null or company_id = any($2)) for update skip locked
       )
       select exists (select from email_outbox where outbox_id = $1 and ($2::uuid[] is null or company_id = any($2))) as found,
         (select cancel_waiting_email(outbox_id, $2, $3, true) from unlocked) as cancelled`,
      [outboxId, companyId === null ? null : [companyId], by],
    )
    return outcomeOf(row!.found, row!.cancelled)
  })
}

/** Moves an e-mail that has not started to another time: its scheduled or ready row moves with it. */
export async function rescheduleEmail(
  db: Queryable,
  outboxId: string,
  companyId: string,
  scheduledAt: string,
): Promise<ChangeOutcome> {
  return unlessLocked(async () => {
    const [row] = await run<{ found: boolean; moved: boolean | null }>(db, 'reschedule-email', RESCHEDULE, [
      outboxId,
      companyId,
      scheduledAt,
    ])
    return outcomeOf(row!.found, row!.moved)
  })
}

const RESCHEDULE = `
with open as materialized (
  select outbox_id, company_id, priority, next_attempt_at, status = 'PENDING' and attempts = 0 as waiting
  from email_outbox where outbox_id = $1 and company_id = $2 for update skip locked
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
select exists (select from email_outbox where outbox_id = $1 and company_id = $2) as found, (select waiting from open) as moved`

/** `done` is null when the e-mail was not there, or locked. */
function outcomeOf(found: boolean, done: boolean | null): ChangeOutcome {
  if (done === null) return found ? 'locked' : 'not-found'
  return done ? 'done' : 'too-late'
}
