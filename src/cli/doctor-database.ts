import { type Health, readSession } from '../db/health.ts'
import { MAX_CONNECTIONS_OF_PROCESS } from '../db/pool.ts'
import type { RoleFacts, ServerFacts } from '../db/server-facts.ts'
import type { Reading } from './command.ts'
import type { Check } from './doctor-check.ts'
import { counted } from './plural.ts'

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
