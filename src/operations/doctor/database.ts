import { counted } from '../../console/words.ts'
import { hasDiskSpace } from '../../platform/postgres/disk-space.ts'
import { findDiskProblem, freeBytes, NEEDED_BYTES } from '../../platform/postgres/embedded/index.ts'
import { MAX_CONNECTIONS_OF_PROCESS } from '../../platform/postgres/pool.ts'
import { type Queryable, sql } from '../../platform/postgres/query.ts'
import { failed, ok, type Verdict, warning } from './verdict.ts'
import type { Health } from './work.ts'

const OLDEST_POSTGRES = 150_000
const CLOCK_TOLERANCE_MS = 5_000
/** A table with fewer dead rows is quickly vacuumed. */
const DEAD_ROWS = 1_000_000
/** The server forces a vacuum at 200 million, and stops writing at 2 000 million. */
const OLD_TRANSACTIONS = 500_000_000
const LONG_TRANSACTION_SECONDS = 3_600
const CONNECTIONS_SHARE = 0.9
/** For commands, backups and what the server keeps for administrators. */
const CONNECTIONS_OF_OTHERS = 10
const LOW_DISK_MEGABYTES = 1_024
const LONG_WAIT_SECONDS = 5
const LONG_IDLE_SECONDS = 300
const MEGABYTE = 1024 * 1024

const READ_ONLY = {
  standby:
    'is a standby, which refuses changes: nothing is accepted or sent; set DATABASE_URL to the primary server, or promote this one',
  setting:
    'is read-only: nothing is accepted or sent; default_transaction_read_only is on for the server, the database or the role, or its host has run out of disk',
}

export function checkDatabase({ version }: Health, server: ServerFacts, where: string): Verdict {
  const { schemaVersion, databaseBytes, readOnly } = server
  if (readOnly) return failed(`${where} ${READ_ONLY[readOnly]}`)
  const major = Math.floor(version / 10_000)
  if (version < OLDEST_POSTGRES) return failed(`${where} is Postgres ${major}; the gateway needs 15 or newer`)
  const size = `${Math.ceil(databaseBytes / MEGABYTE)} MB`
  return ok(`${where}, version ${major}, migrated to ${schemaVersion}, ${size}`)
}

/** `altered`: functions that somebody has changed in the database. */
export function checkFunctions(altered: string[]): Verdict[] {
  if (altered.length === 0) return []
  return [
    warning(
      `not as this version has them: ${altered.join(', ')}; somebody changed them by hand; put them back with: email-gateway migrate`,
    ),
  ]
}

/** A warning only: to look at a gateway that runs as its owner, a role that may read is enough. */
export function checkRole({ role, owner, ownsTables, notWritable }: RoleFacts): Verdict {
  const mend = `; commands that change something, and the gateway itself, need the role ${owner} in DATABASE_URL`
  const [first, ...others] = notWritable
  if (first !== undefined) {
    const more = others.length > 0 ? ` and ${counted(others.length, 'other table')}` : ''
    return warning(`${role} may not write ${first}${more}${mend}`)
  }
  if (!ownsTables)
    return warning(`${role} does not own the tables, so it can neither migrate nor make and drop partitions${mend}`)
  return ok(`${role} owns the tables`)
}

/** Settings that would lose accepted e-mails in a crash. */
export function checkDurability(facts: ServerFacts): Verdict {
  const off = [
    ...(facts.fsync ? [] : ['fsync']),
    ...(facts.fullPageWrites ? [] : ['full_page_writes']),
    ...(facts.synchronousCommit === 'off' ? ['synchronous_commit'] : []),
  ]
  if (off.length === 0) return ok('fsync, full_page_writes and synchronous_commit are on')
  const mend = off.map(setting => `alter system set ${setting} = on`).join('; ')
  return failed(
    `${off.join(', ')} ${off.length === 1 ? 'is' : 'are'} off: a crash of the server loses e-mails that were accepted; ${mend}; select pg_reload_conf()`,
  )
}

/** Connections that have run out, or will when every process opens all that it may. */
export function checkConnections({ connections, maxConnections }: ServerFacts, processes: number): Verdict[] {
  const possible = processes * MAX_CONNECTIONS_OF_PROCESS
  const needed = Math.max(connections, possible + CONNECTIONS_OF_OTHERS)
  const mend = `; raise it with: alter system set max_connections = ${Math.ceil((needed * 1.5) / 100) * 100}, and restart the server`
  if (connections >= maxConnections * CONNECTIONS_SHARE)
    return [warning(`${connections} of max_connections ${maxConnections} are in use${mend}`)]
  if (possible + CONNECTIONS_OF_OTHERS <= maxConnections) return []
  const who = counted(processes, 'process', 'processes')
  return [
    warning(`${who} may open ${possible} connections under load, and max_connections is ${maxConnections}${mend}`),
  ]
}

export function checkAutovacuum(facts: ServerFacts): Verdict {
  const { autovacuum, transactionAge, oldestTransactionSeconds, oldestTransactionPid, worstTable } = facts
  if (!autovacuum)
    return failed('is off: tables grow and claims slow down; alter system set autovacuum = on; select pg_reload_conf()')
  if (transactionAge > OLD_TRANSACTIONS)
    return failed(
      `the oldest transaction that is not frozen is ${Math.floor(transactionAge / 1e6)} million transactions old; the server stops at 2000 million; run: vacuumdb --all --freeze`,
    )
  if ((oldestTransactionSeconds ?? 0) > LONG_TRANSACTION_SECONDS)
    return warning(
      `a transaction has been open for ${Math.round(oldestTransactionSeconds! / 60)} minutes, and nothing newer can be vacuumed; end it with: select pg_terminate_backend(${oldestTransactionPid})`,
    )
  if (worstTable && worstTable.dead > DEAD_ROWS && worstTable.dead > worstTable.live) {
    const { name, dead, vacuumedSecondsAgo: ago } = worstTable
    const vacuumed = ago === null ? 'never vacuumed' : `vacuumed ${counted(Math.round(ago / 60), 'minute')} ago`
    return warning(`${name} has ${dead} dead rows, ${vacuumed}; run: vacuum (analyze) ${name}`)
  }
  return ok('is on and keeps up')
}

/** Whether the session settings arrive: with JIT on, as by default, Postgres would compile every statement. */
export function checkSessions(sessions: SessionFacts[]): Verdict {
  const limits = sessions.map(({ limitSeconds }) => limitSeconds)
  const jit = sessions.map(session => session.jit)
  if (jit.every(value => value === 'off') && limits.every(seconds => seconds > 0))
    return ok(`JIT off; statements end after ${limits[1]} s, reads after ${limits[0]} s`)
  return failed(
    `JIT is ${jit.join(', ')} and statements end after ${limits.join(', ')} s, although the gateway sets both: a connection pooler between it and Postgres resets them; connect directly`,
  )
}

export function checkClock(databaseMs: number, ownMs: number): Verdict {
  const offMs = Math.round(ownMs - databaseMs)
  if (Math.abs(offMs) <= CLOCK_TOLERANCE_MS) return ok(`${offMs} ms from the database's`)
  return warning(
    `${Math.round(offMs / 1000)} s from the database's; the gateway uses the database's clock, but AWS refuses requests from a wrong clock: run an NTP client`,
  )
}

export function checkPartitions({ partitionsUntil, nowMs }: Pick<Health, 'partitionsUntil' | 'nowMs'>): Verdict {
  const tomorrow = new Date(nowMs + 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')
  if (partitionsUntil === null || partitionsUntil < tomorrow)
    return failed('none for tomorrow; start the gateway, or run: email-gateway migrate')
  return ok(`there until ${partitionsUntil.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3')}`)
}

/** `folder` of the embedded database; null: the disk of another server, where a small file can be written to see whether there is room. */
export type DiskFacts =
  | { folder: string; freeBytes: number; problem: string | null }
  | { folder: null; hasSpace: boolean }

export function checkDisk(disk: DiskFacts): Verdict {
  if (disk.folder === null)
    return disk.hasSpace
      ? ok('Postgres has room for a temporary file')
      : failed(
          'the disk of Postgres is full: nothing is accepted, and outcomes wait to be written; free some space there, and all goes on by itself',
        )
  if (disk.problem) return failed(disk.problem)
  const megabytes = Math.floor(disk.freeBytes / MEGABYTE)
  const free = `${megabytes} MB free for ${disk.folder}`
  if (megabytes >= LOW_DISK_MEGABYTES) return ok(free)
  return warning(`${free}; make room, or move DATA_DIR to a larger disk while the gateway is stopped`)
}

/** Whether sending stands still because somebody holds a lock, such as an application with an open transaction. */
export function checkLocks(longest: LockWait | null): Verdict {
  if (longest === null || longest.seconds < LONG_WAIT_SECONDS) return ok('nothing waits for a lock')
  const { seconds, blockerPid, blockerRole } = longest
  return warning(
    `a session has waited ${Math.round(seconds)} s for a lock of ${blockerRole}; end the session that holds it with: select pg_terminate_backend(${blockerPid})`,
  )
}

/** It does nothing itself, so nothing waits for it that anybody would notice before the disk is full. */
export function checkIdleTransactions(longest: IdleTransaction | null): Verdict[] {
  if (longest === null || longest.seconds < LONG_IDLE_SECONDS) return []
  const { pid, application, role, seconds } = longest
  const who = application ? `${application} (role ${role}, pid ${pid})` : `a session of ${role} (pid ${pid})`
  return [
    warning(
      `${who} has been idle in a transaction for ${Math.floor(seconds / 60)} minutes: vacuum cannot remove what it may still see, and retention waits for its tables; end it with: select pg_terminate_backend(${pid})`,
    ),
  ]
}

type TableFacts = { name: string; live: number; dead: number; vacuumedSecondsAgo: number | null }

/** What `doctor` judges of the database server. */
export type ServerFacts = {
  fsync: boolean
  fullPageWrites: boolean
  synchronousCommit: string
  autovacuum: boolean
  maxConnections: number
  connections: number
  databaseBytes: number
  /** Transactions since the oldest that is not frozen; at two thousand million the server stops. */
  transactionAge: number
  /** Of the oldest open transaction: what it may still see cannot be vacuumed. */
  oldestTransactionSeconds: number | null
  oldestTransactionPid: number | null
  /** The table with the most dead rows. */
  worstTable: TableFacts | null
  /** The newest migration that has been applied. */
  schemaVersion: number
  /** A standby, or default_transaction_read_only. */
  readOnly: 'standby' | 'setting' | null
}

export async function readServerFacts(db: Queryable): Promise<ServerFacts> {
  const [row] = await sql<ServerFacts>(db, 'read-server-facts')`
    with oldest as (
       select pid, extract(epoch from now() - xact_start)::float8 as seconds from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'
       order by xact_start limit 1
     ), worst as (
       select json_build_object('name', relname, 'live', n_live_tup, 'dead', n_dead_tup,
         'vacuumedSecondsAgo', extract(epoch from now() - greatest(last_vacuum, last_autovacuum))) as facts
       from pg_stat_user_tables order by n_dead_tup desc limit 1
     )
     select current_setting('fsync')::boolean as fsync, current_setting('full_page_writes')::boolean as "fullPageWrites",
       current_setting('synchronous_commit') as "synchronousCommit", current_setting('autovacuum')::boolean as autovacuum,
       current_setting('max_connections')::int as "maxConnections",
       (select count(*) from pg_stat_activity where backend_type = 'client backend')::int as connections,
       pg_database_size(current_database())::float8 as "databaseBytes",
       (select age(datfrozenxid) from pg_database where datname = current_database()) as "transactionAge",
       (select seconds from oldest) as "oldestTransactionSeconds", (select pid from oldest) as "oldestTransactionPid",
       (select facts from worst) as "worstTable", (select max(version) from schema_migrations) as "schemaVersion",
       case when pg_is_in_recovery() then 'standby' when current_setting('transaction_read_only')::boolean then 'setting' end as "readOnly"`
  return row!
}

/** The role of this connection. `notWritable`: tables of ours that it may not both insert into and update. */
export type RoleFacts = { role: string; owner: string; ownsTables: boolean; notWritable: string[] }

export async function readRole(db: Queryable): Promise<RoleFacts> {
  const [row] = await sql<RoleFacts>(db, 'read-role')`
    select current_user as role, pg_get_userbyid(o.relowner) as owner, pg_has_role(o.relowner, 'usage') as "ownsTables",
       array(select c.relname::text from pg_class c
         where c.relnamespace = o.relnamespace and c.relkind in ('r', 'p') and not c.relispartition
           and not (has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update')) order by 1) as "notWritable"
     from pg_class o where o.oid = 'email_outbox'::regclass`
  return row!
}

export async function readDisk(db: Queryable, folder: string | null): Promise<DiskFacts> {
  if (!folder) return { folder: null, hasSpace: await hasDiskSpace(db) }
  const [free, problem] = [await freeBytes(folder), await findDiskProblem(folder, NEEDED_BYTES)]
  return { folder, freeBytes: free, problem }
}

export type SessionFacts = { jit: string; limitSeconds: number }

/** The settings that are in effect on a connection; a pooler may have ignored ours. */
export async function readSession(db: Queryable): Promise<SessionFacts> {
  const [row] = await sql<SessionFacts>(db, 'read-session')`
    select current_setting('jit') as jit,
       extract(epoch from current_setting('statement_timeout')::interval)::float8 as "limitSeconds"`
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
