import type { ProvidersInUse } from '../contracts/admission.ts'
import { type DestinationSettings, destinationsOf, providerNames } from '../contracts/destinations.ts'
import { type Queryable, run } from './pool.ts'

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

export type RunningProcess = GatewayProcess & { startedAt: Date; waiting: string | null }

/** A process that has been silent for so long is not counted any more. */
export const LIVING_SECONDS = 15
const LIVING = `interval '${LIVING_SECONDS} seconds'`
/** A time further ahead means that the database's clock was set back. */
const AT_MOST_AHEAD = `interval '1 minute'`

/**
 * Makes `destinations` those of the database for the next seconds, unless living processes hold others, or capture would take the
 * place of providers that really send. One statement on one row: of two processes that differ one wins, and none can leave a
 * lock behind.
 */
export async function holdProviders(db: Queryable, destinations: string[], allowCapture: boolean): Promise<boolean> {
  const rows = await run(
    db,
    'hold-providers',
    `update gateway_database set providers = $1, held_until = now() + ${LIVING}
     where providers is null or providers = $1
       or ((held_until is null or held_until < now() or held_until > now() + ${AT_MOST_AHEAD})
           and ($2 or not 'capture' = any($1) or 'capture' = any(providers)))
     returning one_row`,
    [destinations, allowCapture],
  )
  return rows.length > 0
}

/** "I am here, with these settings." Also removes those that have been silent for an hour. */
export async function reportProcess(db: Queryable, one: GatewayProcess, waiting: string | null): Promise<void> {
  await run(
    db,
    'report-process',
    `with gone as (delete from gateway_processes where seen_at < now() - interval '1 hour')
     insert into gateway_processes (process_id, host, pid, role, version, providers, settings, waiting)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (process_id) do update set seen_at = now(), waiting = excluded.waiting`,
    [one.processId, one.host, one.pid, one.role, one.version, one.providers, JSON.stringify(one.settings), waiting],
  )
}

export async function removeProcess(db: Queryable, processId: string): Promise<void> {
  await run(db, 'remove-process', `delete from gateway_processes where process_id = $1`, [processId])
}

/** For who took mail and stops as the last one: the next may choose its providers at once. */
export async function releaseProviders(db: Queryable): Promise<void> {
  await run(
    db,
    'release-providers',
    `update gateway_database set held_until = now() where not exists (
       select from gateway_processes where waiting is null and seen_at > now() - ${LIVING})`,
    [],
  )
}

/** For who knows that it is alone: whatever is still recorded was killed. */
export async function forgetProcesses(db: Queryable): Promise<void> {
  await run(db, 'forget-processes', `delete from gateway_processes`, [])
  await run(db, 'forget-hold', `update gateway_database set held_until = null`, [])
}

export async function listProcesses(db: Queryable): Promise<RunningProcess[]> {
  return run<RunningProcess>(
    db,
    'list-processes',
    `select process_id as "processId", host, pid, role, version, providers, settings, waiting, started_at as "startedAt"
     from gateway_processes where seen_at > now() - ${LIVING} and seen_at < now() + ${AT_MOST_AHEAD}
     order by started_at, process_id`,
    [],
  )
}

/** The providers that the mail of this database is for. null: no process has taken any yet. */
export async function readProviders(db: Queryable): Promise<string[] | null> {
  const destinations = await readDestinations(db)
  return destinations && providerNames(destinations)
}

async function readDestinations(db: Queryable): Promise<string[] | null> {
  const [row] = await run<{ providers: string[] | null }>(
    db,
    'read-providers',
    `select providers from gateway_database`,
    [],
  )
  return row?.providers ?? null
}

export async function readProvidersInUse(db: Queryable, own: string[]): Promise<ProvidersInUse> {
  const running = await listProcesses(db)
  const differing = running
    .filter(one => one.waiting === null)
    .map(one => ({ process: `${one.role} ${one.host}:${one.pid}`, destinations: destinationsOf(recordedBy(one)) }))
    .filter(({ destinations }) => destinations.join() !== own.join())
  return { recorded: await readDestinations(db), differing }
}

const recordedBy = ({ providers, settings }: GatewayProcess): DestinationSettings => ({
  ...settings,
  EMAIL_PROVIDER: providers,
})
