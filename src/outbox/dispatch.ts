import { iso, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { ofBatch } from './batch-arrays.ts'
import type { SlimJobData } from './job.ts'
import { EMAIL_TO_SEND, type EmailToSend, WITH_CONTENT } from './load.ts'
import { IS_READY, IS_SCHEDULED, LOCK_EXISTING_READY_ROW, WAITING_AND_DUE } from './sql.ts'

/**
 * Answers whether this process fills the queue's window for the next seconds. One does; another takes over when it is gone. A
 * time further ahead than anybody is elected for was written before the clock was set back.
 */
export async function electFeeder(db: Queryable, holder: string, seconds: number): Promise<boolean> {
  const rows = await sql(db, 'elect-feeder')`
    update feeder set holder = ${holder}, expires_at = now() + ${seconds} * interval '1 second'
     where holder = ${holder} or expires_at < now() or expires_at > now() + 2 * ${seconds} * interval '1 second' returning holder`
  return rows.length > 0
}

export async function resignFeeder(db: Queryable, holder: string): Promise<void> {
  await sql(db, 'resign-feeder')`
    update feeder set holder = null, expires_at = '-infinity' where holder = ${holder}`
}

/** Reads the job data of these e-mails, in the same order. */
export async function loadJobs(
  db: Queryable,
  emails: { outboxId: string; companyId: string }[],
): Promise<SlimJobData[]> {
  const sorted = emails.map(one => one.outboxId).sort()
  const rows = await run<{ outboxId: string; requestId: string; attempt: number; enqueuedAt: string }>(
    db,
    'load-jobs',
    `select o.outbox_id, o.request_id, least(o.attempts + 1, o.max_attempts) as attempt,
       ${iso('now()')} as "enqueuedAt"
     from email_outbox o where ${ofBatch('o')}`,
    [sorted, sorted[0], sorted.at(-1)],
  )
  const found = new Map(rows.map(row => [row.outboxId, row]))
  return emails.flatMap(({ outboxId, companyId }) => {
    const row = found.get(outboxId)
    return row ? [{ ...row, companyId, htmlRef: outboxId }] : []
  })
}

/** How long dispatched e-mails stay dispatched when no feeder looks after them. */
export const DISPATCH_SECONDS = 30

/**
 * E-mails whose job was lost (wiped, removed, never added) before a worker leased them return to ready. A dispatch lease with
 * nothing open ends. `queued`: the jobs that are there now. Young dispatch leases are left alone, since their jobs may be on their
 * way. Answers which e-mails returned.
 */
export async function returnWithoutJob(db: Queryable, queued: string[], ageSeconds: number): Promise<string[]> {
  const rows = await sql<{ outboxId: string }>(db, 'return-without-job')`
    with old as materialized (
       select lease_id, outbox_ids, taken_at from leases
       where kind = 'dispatch' and taken_at < now() - ${ageSeconds} * interval '1 second' for update skip locked
     ), waiting as materialized (
       select old.lease_id, o.outbox_id, o.company_id, o.priority, o.outbox_id = any(${queued}) as queued
       from old cross join unnest(old.outbox_ids) as i(id) join email_outbox o on o.outbox_id = i.id
       where ${WAITING_AND_DUE}
         -- A worker has leased it since, or it was dispatched again. An older lease may still list an e-mail that its worker has
         -- returned to ready.
         and not exists (select from leases w where w.outbox_ids @> array[i.id]
           and (w.taken_at > old.taken_at or (w.kind = 'work' and w.taken_at = old.taken_at)))
         -- It was delivered, and is to be tried again (a throttled one within a second): as a retry that is not ready yet, or ready.
         and not ${IS_SCHEDULED} and not ${IS_READY}
     ), put_ready as (
       insert into email_ready (company_id, priority, outbox_id)
       select distinct company_id, priority, outbox_id from waiting where not queued ${LOCK_EXISTING_READY_ROW}
     ), kept as (
       update leases l set outbox_ids = still.ids, expires_at = now() + ${DISPATCH_SECONDS} * interval '1 second'
       from (select lease_id, array_agg(outbox_id) as ids from waiting where queued group by lease_id) still
       where l.lease_id = still.lease_id
     ), ended as (
       delete from leases l using old where l.lease_id = old.lease_id
         and not exists (select from waiting w where w.lease_id = old.lease_id and w.queued)
     )
     select distinct outbox_id from waiting where not queued`
  return rows.map(row => row.outboxId)
}

export async function findCompanies(db: Queryable, outboxIds: string[]): Promise<Map<string, string>> {
  const rows = await sql<{ outboxId: string; companyId: string }>(db, 'find-companies')`
    select outbox_id, company_id from email_outbox where outbox_id = any(${outboxIds})`
  return new Map(rows.map(row => [row.outboxId, row.companyId]))
}

/**
 * Leases e-mails whose jobs a worker has received: those that wait, are due and are not in `email_ready`. null: not to be sent by this
 * process; absent: there is no such e-mail. `endedLeases` are deleted. Like a claim, it does not wait for the disk: without the lease
 * nothing starts, and the commit of a start flushes what came before it.
 */
export async function leaseDispatched(
  db: Queryable,
  lease: { leaseId: string; holder: string; leaseSeconds: number; outboxIds: string[]; endedLeases: string[] },
): Promise<Map<string, EmailToSend | null>> {
  const { leaseId, holder, leaseSeconds, outboxIds, endedLeases } = lease
  const sorted = outboxIds.toSorted()
  const rows = await run<EmailToSend & { leased: boolean }>(db, 'lease-dispatched', LEASE, [
    sorted,
    sorted[0],
    sorted.at(-1),
    leaseId,
    holder,
    leaseSeconds,
    endedLeases,
  ])
  return new Map(rows.map(({ leased, ...email }) => [email.outboxId, leased ? email : null]))
}

const LEASE = `
with found as materialized (
  select o.*, ${WAITING_AND_DUE} and not ${IS_READY} as leased
  from email_outbox o
  where ${ofBatch('o')} and (select set_config('synchronous_commit', 'off', true)) = 'off'
), put_lease as (
  insert into leases (lease_id, kind, holder, outbox_ids, expires_at)
  select $4, 'work', $5, array_agg(outbox_id), now() + $6 * interval '1 second' from found where leased having count(*) > 0
), gone as (
  delete from leases where lease_id = any($7)
)
select o.leased, ${EMAIL_TO_SEND} from found o ${WITH_CONTENT}`
