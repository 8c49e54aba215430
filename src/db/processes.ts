import { providerNames } from '../contracts/destinations.ts'
import { type Queryable, run } from './query.ts'

export type ProcessRole = 'all' | 'api' | 'worker'

export type GatewayProcess = {
  processId: string
  host: string
  pid: number
  role: ProcessRole
  version: string
  providers: string[]
  /** Without secrets. */
  settings: Record<string, unknown>
}

export type RunningProcess = GatewayProcess & { startedAt: Date }

/** A process without a report for this long is considered dead. */
export const PROCESS_TIMEOUT_SECONDS = 15
const PROCESS_TIMEOUT = `interval '${PROCESS_TIMEOUT_SECONDS} seconds'`
/** A time further in the future means that the database's clock was set back. */
const MAX_AHEAD = `interval '1 minute'`

/**
 * Makes `destinations` the ones of this database until PROCESS_TIMEOUT_SECONDS from now. Fails if running processes use others, or
 * if capture would replace providers that really send. One update of one row: of two processes that differ one wins, and a killed
 * process leaves no lock.
 */
export async function acquireDestinations(
  db: Queryable,
  destinations: string[],
  allowCapture: boolean,
): Promise<boolean> {
  const rows = await run(
    db,
    'acquire-destinations',
    `update gateway_database set providers = $1, held_until = now() + ${PROCESS_TIMEOUT}
     where providers is null or providers = $1
       or ((held_until is null or held_until < now() or held_until > now() + ${MAX_AHEAD})
           and ($2 or not 'capture' = any($1) or 'capture' = any(providers)))
     returning one_row`,
    [destinations, allowCapture],
  )
  return rows.length > 0
}

/** Registers the process or renews its entry. Also deletes entries without a report for an hour. */
export async function reportProcess(db: Queryable, one: GatewayProcess): Promise<void> {
  await run(
    db,
    'report-process',
    `with deleted as (delete from gateway_processes where seen_at < now() - interval '1 hour')
     insert into gateway_processes (process_id, host, pid, role, version, providers, settings)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (process_id) do update set seen_at = now()`,
    [one.processId, one.host, one.pid, one.role, one.version, one.providers, JSON.stringify(one.settings)],
  )
}

export async function removeProcess(db: Queryable, processId: string): Promise<void> {
  await run(db, 'remove-process', `delete from gateway_processes where process_id = $1`, [processId])
}

/** When the last process stops, the next one may use other destinations at once. */
export async function releaseDestinations(db: Queryable): Promise<void> {
  await run(
    db,
    'release-destinations',
    `update gateway_database set held_until = now() where not exists (
       select from gateway_processes where seen_at > now() - ${PROCESS_TIMEOUT})`,
    [],
  )
}

/** For a gateway with an embedded database, of which there is only one: entries left over are of killed processes. */
export async function deleteAllProcesses(db: Queryable): Promise<void> {
  await run(db, 'delete-all-processes', `delete from gateway_processes`, [])
  await run(db, 'reset-destinations-timeout', `update gateway_database set held_until = null`, [])
}

export async function listProcesses(db: Queryable): Promise<RunningProcess[]> {
  return run<RunningProcess>(
    db,
    'list-processes',
    `select process_id as "processId", host, pid, role, version, providers, settings, started_at as "startedAt"
     from gateway_processes where seen_at > now() - ${PROCESS_TIMEOUT} and seen_at < now() + ${MAX_AHEAD}
     order by started_at, process_id`,
    [],
  )
}

/** The providers that the mail of this database was accepted for; null if no process has accepted any yet. */
export async function readProviders(db: Queryable): Promise<string[] | null> {
  const destinations = await readDestinations(db)
  return destinations && providerNames(destinations)
}

/** Where the mail of this database goes: `smtp@relay.example:587`. null if no process has accepted any yet. */
export async function readDestinations(db: Queryable): Promise<string[] | null> {
  const [row] = await run<{ providers: string[] | null }>(
    db,
    'read-providers',
    `select providers from gateway_database`,
    [],
  )
  return row?.providers ?? null
}
