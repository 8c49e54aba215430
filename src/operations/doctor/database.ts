import type { Reading } from '../../console/command.ts'
import { counted } from '../../console/words.ts'
import { type Health, type IdleTransaction, type LockWait, readSession } from '../../outbox/health.ts'
import { MAX_CONNECTIONS_OF_PROCESS } from '../../platform/postgres/pool.ts'
import { literal, type Queryable, sql } from '../../platform/postgres/query.ts'
import type { Check } from './command.ts'

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
const MEGABYTE = 1024 * 1024

const READ_ONLY = {
  standby:
    'is a standby, which refuses changes: nothing is accepted or sent; set DATABASE_URL to the primary server, or promote this one',
  setting:
    'is read-only: nothing is accepted or sent; default_transaction_read_only is on for the server, the database or the role, or its host has run out of disk',
}

export function databaseOf({ version }: Health, server: ServerFacts, where: string): Check {
  const { schemaVersion, databaseBytes, readOnly } = server
  const name = 'database'
  if (readOnly) return { name, state: 'failed', detail: `${where} ${READ_ONLY[readOnly]}` }
  const major = Math.floor(version / 10_000)
  if (version < OLDEST_POSTGRES)
    return { name, state: 'failed', detail: `${where} is Postgres ${major}; the gateway needs 15 or newer` }
  const size = `${Math.ceil(databaseBytes / MEGABYTE)} MB`
  return { name, state: 'ok', detail: `${where}, version ${major}, migrated to ${schemaVersion}, ${size}` }
}

/** `altered`: functions that somebody has changed in the database. */
export function functionsOf(altered: string[]): Check[] {
  if (altered.length === 0) return []
  const detail = `not as this version has them: ${altered.join(', ')}; somebody changed them by hand; put them back with: email-gateway migrate`
  return [{ name: 'functions', state: 'warning', detail }]
}

/** A warning only: to look at a gateway that runs as its owner, a role that may read is enough. */
export function roleOf({ role, owner, ownsTables, notWritable }: RoleFacts): Check {
  const name = 'role'
  const mend = `; commands that change something, and the gateway itself, need the role ${owner} in DATABASE_URL`
  if (notWritable.length > 0) {
    const [first, ...others] = notWritable
    const more = others.length > 0 ? ` and ${counted(others.length, 'other table')}` : ''
    return { name, state: 'warning', detail: `${role} may not write ${first}${more}${mend}` }
  }
  if (!ownsTables)
    return {
      name,
      state: 'warning',
      detail: `${role} does not own the tables, so it can neither migrate nor make and drop partitions${mend}`,
    }
  return { name, state: 'ok', detail: `${role} owns the tables` }
}

/** Settings that would lose accepted e-mails in a crash. */
export function durabilityOf(facts: ServerFacts): Check {
  const name = 'durability'
  const off = [
    ...(facts.fsync ? [] : ['fsync']),
    ...(facts.fullPageWrites ? [] : ['full_page_writes']),
    ...(facts.synchronousCommit === 'off' ? ['synchronous_commit'] : []),
  ]
  if (off.length === 0) return { name, state: 'ok', detail: 'fsync, full_page_writes and synchronous_commit are on' }
  const mend = off.map(setting => `alter system set ${setting} = on`).join('; ')
  const detail = `${off.join(', ')} ${off.length === 1 ? 'is' : 'are'} off: a crash of the server loses e-mails that were accepted; ${mend}; select pg_reload_conf()`
  return { name, state: 'failed', detail }
}

/** Connections that have run out, or will when every process opens all that it may. */
export function connectionsOf({ connections, maxConnections }: ServerFacts, processes: number): Check[] {
  const name = 'connections'
  const possible = processes * MAX_CONNECTIONS_OF_PROCESS
  const needed = Math.max(connections, possible + CONNECTIONS_OF_OTHERS)
  const mend = `; raise it with: alter system set max_connections = ${Math.ceil((needed * 1.5) / 100) * 100}, and restart the server`
  if (connections >= maxConnections * CONNECTIONS_SHARE)
    return [{ name, state: 'warning', detail: `${connections} of max_connections ${maxConnections} are in use${mend}` }]
  if (possible + CONNECTIONS_OF_OTHERS > maxConnections)
    return [
      {
        name,
        state: 'warning',
        detail: `${counted(processes, 'process', 'processes')} may open ${possible} connections under load, and max_connections is ${maxConnections}${mend}`,
      },
    ]
  return []
}

export function autovacuumOf(facts: ServerFacts): Check {
  const name = 'autovacuum'
  const { autovacuum, transactionAge, oldestTransactionSeconds, oldestTransactionPid, worstTable } = facts
  if (!autovacuum)
    return {
      name,
      state: 'failed',
      detail: 'is off: tables grow and claims slow down; alter system set autovacuum = on; select pg_reload_conf()',
    }
  if (transactionAge > OLD_TRANSACTIONS)
    return {
      name,
      state: 'failed',
      detail: `the oldest transaction that is not frozen is ${Math.floor(transactionAge / 1e6)} million transactions old; the server stops at 2000 million; run: vacuumdb --all --freeze`,
    }
  if ((oldestTransactionSeconds ?? 0) > LONG_TRANSACTION_SECONDS)
    return {
      name,
      state: 'warning',
      detail: `a transaction has been open for ${Math.round(oldestTransactionSeconds! / 60)} minutes, and nothing newer can be vacuumed; end it with: select pg_terminate_backend(${oldestTransactionPid})`,
    }
  if (worstTable && worstTable.dead > DEAD_ROWS && worstTable.dead > worstTable.live)
    return {
      name,
      state: 'warning',
      detail: `${worstTable.name} has ${worstTable.dead} dead rows, ${vacuumed(worstTable.vacuumedSecondsAgo)}; run: vacuum (analyze) ${worstTable.name}`,
    }
  return { name, state: 'ok', detail: 'is on and keeps up' }
}

const vacuumed = (secondsAgo: number | null) =>
  secondsAgo === null ? 'never vacuumed' : `vacuumed ${counted(Math.round(secondsAgo / 60), 'minute')} ago`

export type SessionFacts = Awaited<ReturnType<typeof readSession>>

/** Whether the session settings arrive: with JIT on, as by default, Postgres would compile every statement. */
export function sessionsOf(found: SessionFacts[]): Check {
  const name = 'sessions'
  if (found.every(({ jit, limitSeconds }) => jit === 'off' && limitSeconds > 0)) {
    const [reads, sends] = found.map(({ limitSeconds }) => limitSeconds)
    return { name, state: 'ok', detail: `JIT off; statements end after ${sends} s, reads after ${reads} s` }
  }
  const detail = `JIT is ${found.map(({ jit }) => jit).join(', ')} and statements end after ${found.map(({ limitSeconds }) => limitSeconds).join(', ')} s, although the gateway sets both: a connection pooler between it and Postgres resets them; connect directly`
  return { name, state: 'failed', detail }
}

export const readSessions = ({ pool, short, webhooks }: Reading['db']) =>
  Promise.all([pool, short, webhooks].map(readSession))

export function clockOf(databaseMs: number, ownMs: number): Check {
  const offMs = Math.round(ownMs - databaseMs)
  const name = 'clock'
  if (Math.abs(offMs) <= CLOCK_TOLERANCE_MS) return { name, state: 'ok', detail: `${offMs} ms from the database's` }
  const detail = `${Math.round(offMs / 1000)} s from the database's; the gateway uses the database's clock, but AWS refuses requests from a wrong clock: run an NTP client`
  return { name, state: 'warning', detail }
}

export function partitionsOf({ partitionsUntil, nowMs }: Pick<Health, 'partitionsUntil' | 'nowMs'>): Check {
  const name = 'partitions'
  const tomorrow = new Date(nowMs + 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')
  if ((partitionsUntil ?? '') >= tomorrow)
    return { name, state: 'ok', detail: `there until ${dayOf(partitionsUntil!)}` }
  return { name, state: 'failed', detail: 'none for tomorrow; start the gateway, or run: email-gateway migrate' }
}

const dayOf = (digits: string) => digits.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3')

const LOW_DISK_MEGABYTES = 1_024

/** The disk of another server is not visible from here, but a small file can be written there. */
export function serverDiskOf(hasSpace: boolean): Check {
  const name = 'disk'
  if (hasSpace) return { name, state: 'ok', detail: 'Postgres has room for a temporary file' }
  const detail =
    'the disk of Postgres is full: nothing is accepted, and outcomes wait to be written; free some space there, and all goes on by itself'
  return { name, state: 'failed', detail }
}

/** Of the embedded database. */
export function diskOf(folder: string, freeBytes: number, problem: string | null): Check {
  const name = 'disk'
  if (problem) return { name, state: 'failed', detail: problem }
  const megabytes = Math.floor(freeBytes / MEGABYTE)
  const low = megabytes < LOW_DISK_MEGABYTES
  const mend = low ? '; make room, or move DATA_DIR to a larger disk while the gateway is stopped' : ''
  return { name, state: low ? 'warning' : 'ok', detail: `${megabytes} MB free for ${folder}${mend}` }
}

const LONG_SECONDS = 5
const LONG_IDLE_SECONDS = 300

/** Whether sending stands still because somebody holds a lock, such as an application with an open transaction. */
export function locksOf(longest: LockWait | null): Check {
  const name = 'locks'
  if (longest === null || longest.seconds < LONG_SECONDS)
    return { name, state: 'ok', detail: 'nothing waits for a lock' }
  const { seconds, blockerPid, blockerRole } = longest
  const detail = `a session has waited ${Math.round(seconds)} s for a lock of ${blockerRole}; end the session that holds it with: select pg_terminate_backend(${blockerPid})`
  return { name, state: 'warning', detail }
}

/** It does nothing itself, so nothing waits for it that anybody would notice before the disk is full. */
export function idleTransactionsOf(longest: IdleTransaction | null): Check[] {
  if (longest === null || longest.seconds < LONG_IDLE_SECONDS) return []
  const { pid, application, role, seconds } = longest
  const who = application ? `${application} (role ${role}, pid ${pid})` : `a session of ${role} (pid ${pid})`
  const detail = `${who} has been idle in a transaction for ${Math.floor(seconds / 60)} minutes: vacuum cannot remove what it may still see, and retention waits for its tables; end it with: select pg_terminate_backend(${pid})`
  return [{ name: 'locks', state: 'warning', detail }]
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

/** Whether e-mails went out by this provider in the last day, some time ago, and whether any event of it has come since. */
export type EventFlow = { sent: boolean; received: boolean }

const NEWEST = 2_000

export async function readEventFlow(db: Queryable, provider: 'ses' | 'resend'): Promise<EventFlow> {
  const [row] = await sql<EventFlow>(db, 'read-event-flow')`
    select exists (select from (select provider, sent_at from email_outbox order by outbox_id desc limit ${literal(NEWEST)}) o
         where split_part(provider, ':', 1) = ${provider} and sent_at between now() - interval '1 day' and now() - interval '10 minutes') as sent,
       exists (select from provider_events where provider = ${provider} and received_at > now() - interval '1 day') as received`
  return row!
}
