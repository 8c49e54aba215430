import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { type Config, ConfigError, type Role } from '../config.ts'
import { destinationsOf, differingSetting, isCaptureOnly, providerNames } from '../contracts/destinations.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import type { Database } from '../db/pool.ts'
import {
  acquireDestinations,
  deleteAllProcesses,
  type GatewayProcess,
  listProcesses,
  PROCESS_TIMEOUT_SECONDS,
  readDestinations,
  releaseDestinations,
  removeProcess,
  reportProcess,
} from '../db/processes.ts'
import { recordedSettings } from '../recorded-settings.ts'
import { periodically } from '../runtime/periodic-task.ts'
import type { makeProviders, Providers } from './providers.ts'

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
