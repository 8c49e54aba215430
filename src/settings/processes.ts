import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { periodically } from '../platform/periodic-task.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { fragment, type Queryable, sql } from '../platform/postgres/query.ts'
import { uuidv7 } from '../platform/text/uuid.ts'
import type { makeProviders, Providers } from '../providers/providers.ts'
import { type Config, ConfigError, type Role } from './config.ts'
import { type RecordedSettings, recordedSettings } from './recorded.ts'
import type { Settings } from './settings.ts'

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
const PROCESS_TIMEOUT = fragment`interval '${PROCESS_TIMEOUT_SECONDS} seconds'`
/** A time further in the future means that the database's clock was set back. */
const MAX_AHEAD = fragment`interval '1 minute'`

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
  const rows = await sql(db, 'acquire-destinations')`
    update gateway_database set providers = ${destinations}, held_until = now() + ${PROCESS_TIMEOUT}
     where providers is null or providers = ${destinations}
       or ((held_until is null or held_until < now() or held_until > now() + ${MAX_AHEAD})
           and (${allowCapture} or not 'capture' = any(${destinations}) or 'capture' = any(providers)))
     returning one_row`
  return rows.length > 0
}

/** Registers the process or renews its entry. Also deletes entries without a report for an hour. */
export async function reportProcess(db: Queryable, one: GatewayProcess): Promise<void> {
  await sql(db, 'report-process')`
    with deleted as (delete from gateway_processes where seen_at < now() - interval '1 hour')
     insert into gateway_processes (process_id, host, pid, role, version, providers, settings)
     values (${one.processId}, ${one.host}, ${one.pid}, ${one.role}, ${one.version}, ${one.providers}, ${JSON.stringify(one.settings)})
     on conflict (process_id) do update set seen_at = now()`
}

export async function removeProcess(db: Queryable, processId: string): Promise<void> {
  await sql(db, 'remove-process')`delete from gateway_processes where process_id = ${processId}`
}

/** When the last process stops, the next one may use other destinations at once. */
export async function releaseDestinations(db: Queryable): Promise<void> {
  await sql(db, 'release-destinations')`
    update gateway_database set held_until = now() where not exists (
       select from gateway_processes where seen_at > now() - ${PROCESS_TIMEOUT})`
}

/** For a gateway with an embedded database, of which there is only one: entries left over are of killed processes. */
export async function deleteAllProcesses(db: Queryable): Promise<void> {
  await sql(db, 'delete-all-processes')`delete from gateway_processes`
  await sql(db, 'reset-destinations-timeout')`update gateway_database set held_until = null`
}

export async function listProcesses(db: Queryable): Promise<RunningProcess[]> {
  return sql<RunningProcess>(db, 'list-processes')`
    select process_id, host, pid, role, version, providers, settings, started_at
     from gateway_processes where seen_at > now() - ${PROCESS_TIMEOUT} and seen_at < now() + ${MAX_AHEAD}
     order by started_at, process_id`
}

/** The providers that the mail of this database was accepted for; null if no process has accepted any yet. */
export async function readProviders(db: Queryable): Promise<string[] | null> {
  const destinations = await readDestinations(db)
  return destinations && providerNames(destinations)
}

/** Where the mail of this database goes: `smtp@relay.example:587`. null if no process has accepted any yet. */
export async function readDestinations(db: Queryable): Promise<string[] | null> {
  const [row] = await sql<{ providers: string[] | null }>(db, 'read-providers')`
    select providers from gateway_database`
  return row?.providers ?? null
}

const REPORT_EVERY_MS = 5_000
/** After a report that failed. */
const RETRY_MS = 1_000
/** Other processes consider us dead PROCESS_TIMEOUT_SECONDS after a report; we stop taking mail one second earlier. */
const CONFIRMED_FOR_MS = (PROCESS_TIMEOUT_SECONDS - 1) * 1_000

export type Membership = {
  /** False when a process with other providers may have taken over. */
  mayTakeMail: () => boolean
  leave(): Promise<void>
}

export type Joining = {
  config: Config
  db: Database
  role: Role
  version: string
  /** No other gateway can run on this database, because it is embedded. */
  onlyGateway: boolean
  /** Capture may replace providers that really send. */
  allowCapture: boolean
  /** A process with other providers took over while we could not report. */
  onLost: (error: Error) => void
  log: Logger
}

/**
 * Registers this process in the database. Fails while a running process has other providers or other destinations: two at once
 * would send a part of the mail to the wrong place.
 */
export async function joinProcesses(joining: Joining): Promise<Membership> {
  const { db } = joining
  if (joining.onlyGateway) await deleteAllProcesses(db.pool)
  const own = describeProcess(joining)
  let confirmedMs = 0
  const report = async () => {
    const askedMs = performance.now()
    await acquireOrRefuse(joining)
    await reportProcess(db.pool, own)
    confirmedMs = askedMs
  }
  await report()
  const stopReporting = reportPeriodically(report, joining)
  return {
    mayTakeMail: () => performance.now() - confirmedMs < CONFIRMED_FOR_MS,
    async leave() {
      // Also waits for a running report, which would insert the row again.
      await stopReporting()
      await removeProcess(db.pool, own.processId)
        .then(() => releaseDestinations(db.pool))
        .catch(() => {})
    },
  }
}

const describeProcess = ({ config, role, version }: Joining): GatewayProcess => ({
  processId: uuidv7(),
  host: hostname(),
  pid: process.pid,
  role,
  version,
  providers: config.EMAIL_PROVIDER,
  settings: recordedSettings(config),
})

async function acquireOrRefuse({ config, db, allowCapture }: Joining): Promise<void> {
  const destinations = destinationsOf(config)
  if (await acquireDestinations(db.pool, destinations, allowCapture)) return
  const recorded = await readDestinations(db.pool)
  throw new ConfigError(explainRefusal(destinations, recorded ?? [], await listProcesses(db.pool), allowCapture))
}

/** Names the setting that makes this process send to another place than the one that the mail of the database is for. */
export function explainRefusal(
  own: readonly string[],
  recorded: readonly string[],
  running: readonly GatewayProcess[],
  allowCapture: boolean,
): string {
  if (isCaptureOnly(own) && !isCaptureOnly(recorded) && !allowCapture) {
    const theirs = providerNames(recorded).join(',')
    return (
      `EMAIL_PROVIDER is ${own.join(',')} here (the default when it is not set), but the mail of this database is for ${theirs}: ` +
      `it would go to the local inbox and count as sent. Set EMAIL_PROVIDER=${theirs}; if nothing is to be sent any more, ` +
      'stop every process and start once with --allow-capture.'
    )
  }
  const differing = running.map(describeDestinations).filter(({ destinations }) => destinations.join() !== own.join())
  const ended = { process: 'a process that ended a moment ago without signing off', destinations: [...recorded] }
  return (
    `${describeDifference(own, differing.length > 0 ? differing : [ended])}: stop the processes that differ, and start this one again. ` +
    `One that was killed counts for ${PROCESS_TIMEOUT_SECONDS} seconds.`
  )
}

const describeDestinations = ({ role, host, pid, providers, settings }: GatewayProcess) => ({
  process: `${role} ${host}:${pid}`,
  destinations: destinationsOf({ ...settings, EMAIL_PROVIDER: providers }),
})

function describeDifference(own: readonly string[], others: ReturnType<typeof describeDestinations>[]): string {
  const settings = [...new Set(others.map(({ destinations }) => differingSetting(own, destinations)))]
  const listed = (shown: (destinations: readonly string[]) => string) =>
    others.map(({ process, destinations }) => `${shown(destinations)} at ${process}`).join(', ')
  if (settings.includes('EMAIL_PROVIDER')) {
    const names = (destinations: readonly string[]) => providerNames(destinations).join(',')
    return `EMAIL_PROVIDER is ${names(own)} here and ${listed(names)}`
  }
  return `${settings.join(', ')} leads to ${own.join(',')} here and to ${listed(destinations => destinations.join(','))}`
}

/** Ends when another process took over. Returns a function that stops it and waits for a report under way. */
function reportPeriodically(report: () => Promise<void>, { onLost, log }: Joining): () => Promise<void> {
  let failing = false
  const stop = periodically(
    REPORT_EVERY_MS,
    async () => {
      await report()
      failing = false
    },
    error => {
      if (error instanceof ConfigError) {
        void stop()
        onLost(error)
        return
      }
      if (!failing) log.warn({ err: error }, 'Could not report this process to the database; retrying every second')
      failing = true
    },
    RETRY_MS,
  )
  return stop
}

/** Sends nothing while a process with other providers may have taken over: claimed e-mails return to ready. */
export function providersOfMember(make: typeof makeProviders, membership: Membership): typeof makeProviders {
  return async (...parts): Promise<Providers> => {
    const providers = await make(...parts)
    return {
      ...providers,
      route: async email => (membership.mayTakeMail() ? providers.route(email) : null),
      maxInFlight: () => (membership.mayTakeMail() ? providers.maxInFlight() : 0),
    }
  }
}

/** The settings that decide where mail is sent. */
export type DestinationSettings = {
  EMAIL_PROVIDER: readonly string[]
  SMTP_URL?: string | undefined
  RESEND_BASE_URL?: string | undefined
  AWS_REGION?: string | undefined
  AWS_ENDPOINT_URL_SESV2?: string | undefined
}

/** Each provider with its endpoint, without credentials: `smtp@relay.example:587`, `ses@us-east-1`, `capture`. */
export function destinationsOf(settings: DestinationSettings): string[] {
  return settings.EMAIL_PROVIDER.map(entry => {
    const endpoint = endpointOf(entry, settings)
    return endpoint ? `${entry}@${endpoint}` : entry
  })
}

/** `smtp` of `smtp@relay.example:587`. */
export const providerNames = (destinations: readonly string[]): string[] => destinations.map(one => one.split('@')[0]!)

/** In capture mode nothing leaves the gateway and e-mails are still marked as sent, so real mail must not be captured by mistake. */
export const isCaptureOnly = (providers: readonly string[]): boolean => providers.includes('capture')

/** The setting in which two processes with different destinations differ. */
export function differingSetting(own: readonly string[], other: readonly string[]): string {
  const index = own.findIndex((one, i) => one !== other[i])
  if (index < 0 || providerNames(own).join() !== providerNames(other).join()) return 'EMAIL_PROVIDER'
  if (own[index]!.startsWith('smtp')) return 'SMTP_URL'
  if (own[index]!.startsWith('resend')) return 'RESEND_BASE_URL'
  const regionOf = (destination: string) => destination.split('/')[0]
  return regionOf(own[index]!) === regionOf(other[index]!) ? 'AWS_ENDPOINT_URL_SESV2' : 'AWS_REGION'
}

function endpointOf(entry: string, settings: DestinationSettings): string {
  const [name, region] = entry.split(':')
  switch (name) {
    case 'capture':
      return ''
    case 'smtp':
      return settings.SMTP_URL ? relayOf(settings.SMTP_URL) : ''
    case 'resend':
      return hostOf(settings.RESEND_BASE_URL)
    case 'ses':
      return sesEndpoint(region, settings)
    default:
      throw new Error(`Unknown provider ${entry}`)
  }
}

/** An entry such as ses:eu-west-1 contains its region. */
function sesEndpoint(named: string | undefined, settings: DestinationSettings): string {
  const region = named ? '' : (settings.AWS_REGION ?? '')
  const host = hostOf(settings.AWS_ENDPOINT_URL_SESV2)
  return host ? `${region}/${host}` : region
}

function relayOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname.toLowerCase()}:${port || (protocol === 'smtps:' ? 465 : 587)}`
}

const hostOf = (url: string | undefined) => (url ? new URL(url).host : '')

export type InUse = {
  processes: RunningProcess[]
  /** Of the running gateway; of this shell when none is running. */
  settings: RecordedSettings
  providers: string[]
}

/** The settings that the gateway's processes have recorded: the environment of this shell may differ from theirs. */
export async function readInUse(db: Queryable, config: Settings): Promise<InUse> {
  const processes = await listProcesses(db)
  const settings = processes.length > 0 ? settingsInUse(processes) : recordedSettings(config)
  const recorded = processes.length > 0 ? settings.EMAIL_PROVIDER : null
  return { processes, settings, providers: recorded ?? (await readProviders(db)) ?? config.EMAIL_PROVIDER }
}

export const nameOf = ({ role, host, pid }: RunningProcess) => `${role} ${host}:${pid}`

/** API processes have the settings for provider events, workers those for sending; where both have one, the worker's is used. */
function settingsInUse(processes: RunningProcess[]): RecordedSettings {
  const workersFirst = processes.toSorted((a, b) => Number(a.role === 'api') - Number(b.role === 'api'))
  return Object.assign({}, ...workersFirst.toReversed().map(one => one.settings))
}

/** This shell's settings, with those that decide how an e-mail is accepted taken from the running gateway. */
export async function withGatewaySettings(db: Queryable, config: Config): Promise<Config> {
  const { settings, providers } = await readInUse(db, config)
  const { EMAIL_FROM, RETRY_POLICY, LINK_SCHEMES } = { ...config, ...settings }
  return { ...config, EMAIL_PROVIDER: providers, EMAIL_FROM, RETRY_POLICY, LINK_SCHEMES }
}
