import { type Queryable, sql } from '../platform/postgres/query.ts'
import { DUE_SINCE } from './claim.ts'

export type Health = {
  version: number
  /** Milliseconds since 1970, by the database's clock. */
  nowMs: number
  /** The last day from today on that has the partitions of every table. */
  partitionsUntil: string | null
  /** Ready e-mails, and those of them that paused companies hold back. */
  waiting: number
  held: number
  /** Since it became due. Not of a paused company, whose mail waits for an administrator. */
  oldestWaitingSeconds: number | null
  unknown: number
  deadLetters: number
  workers: { host: string; pid: number; lane: string; concurrency: number }[]
  expiredLeases: number
}

/** Counts up to 100 000, so that the query stays cheap with a large backlog. */
export async function readHealth(db: Queryable): Promise<Health> {
  const [row] = await sql<Health>(db, 'read-health')`
    select current_setting('server_version_num')::int as version, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
       (select to_char(min(day) - interval '1 day', 'YYYYMMDD')
        from generate_series(date_trunc('day', now() at time zone 'UTC'), now() at time zone 'UTC' + interval '30 days', interval '1 day') day
        cross join unnest(array['email_outbox', 'email_recipients', 'email_content', 'email_attachments', 'email_events']) parent
        where not exists (select from pg_inherits where inhparent = parent::regclass
          and inhrelid = to_regclass(parent || '_' || to_char(day, 'YYYYMMDD')))) as "partitionsUntil",
       (select count(*) from (select from email_ready limit 100000) r)::int as waiting,
       (select count(*) from (select from companies c join email_ready r using (company_id) where c.paused_at is not null limit 100000) r)::int as held,
       (select extract(epoch from now() - min(${DUE_SINCE}))::float8 from (
          select outbox_id from email_ready where company_id not in (select company_id from companies where paused_at is not null) limit 100000) r
        join email_outbox o using (outbox_id)) as "oldestWaitingSeconds",
       (select count(*) from unknown_sends)::int as unknown, (select count(*) from dead_letters)::int as "deadLetters",
       coalesce((select json_agg(json_build_object('host', host, 'pid', pid, 'lane', lane, 'concurrency', concurrency) order by started_at)
         from workers where seen_at > now() - interval '15 seconds'), '[]') as workers,
       (select count(*) from leases where expires_at < now() - interval '30 seconds')::int as "expiredLeases"`
  return row!
}

export type LockWait = { seconds: number; blockerPid: number; blockerRole: string }

/** The session of the gateway that waits longest for a lock, and who holds it; null: none waits. */
export async function findLongestLockWait(db: Queryable): Promise<LockWait | null> {
  const [row] = await sql<LockWait>(db, 'find-longest-lock-wait')`
    select extract(epoch from clock_timestamp() - w.state_change)::float8 as seconds, b.pid as "blockerPid", b.usename as "blockerRole"
     from pg_stat_activity w join pg_stat_activity b on b.pid = any(pg_blocking_pids(w.pid))
     where w.datname = current_database() and w.wait_event_type = 'Lock'
     -- The one that itself waits for nobody is the cause.
     order by b.wait_event_type is not distinct from 'Lock', w.state_change limit 1`
  return row ?? null
}

export type IdleTransaction = { pid: number; application: string; role: string; seconds: number }

/** The session that has been idle in its transaction for longest: it does nothing, and keeps its snapshot and its locks. */
export async function findIdleTransaction(db: Queryable): Promise<IdleTransaction | null> {
  const [row] = await sql<IdleTransaction>(db, 'find-idle-transaction')`
    select pid, application_name as application, usename as role,
       extract(epoch from clock_timestamp() - state_change)::float8 as seconds
     from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'
     order by state_change limit 1`
  return row ?? null
}

/** Fails when the database does not answer. */
export async function ping(db: Queryable): Promise<void> {
  await sql(db, 'ping')`select 1`
}

/** The settings that are in effect on a connection; a pooler may have ignored ours. */
export async function readSession(db: Queryable): Promise<{ jit: string; limitSeconds: number }> {
  const [row] = await sql<{ jit: string; limitSeconds: number }>(db, 'read-session')`
    select current_setting('jit') as jit,
       extract(epoch from current_setting('statement_timeout')::interval)::float8 as "limitSeconds"`
  return row!
}
