import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { type Config, ConfigError, type Role } from '../config.ts'
import { type Denial, explainDenial } from '../contracts/admission.ts'
import { destinationsOf } from '../contracts/destinations.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import type { Database } from '../db/pool.ts'
import {
  acquireDestinations,
  deleteAllProcesses,
  type GatewayProcess,
  PROCESS_TIMEOUT_SECONDS,
  readProvidersInUse,
  releaseDestinations,
  removeProcess,
  reportProcess,
} from '../db/processes.ts'
import { recordedSettings } from '../recorded-settings.ts'
import { finishedWithin } from '../runtime/finished-within.ts'
import { periodically } from '../runtime/periodic-task.ts'
import type { makeProviders, Providers } from './providers.ts'

const REPORT_EVERY_MS = 5_000
/** While waiting for other processes to stop, and after a report that failed. */
const RETRY_MS = 1_000
const LOG_AGAIN_MS = 60_000
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
  /** Ends the waiting for other processes. */
  stopped: Promise<unknown>
  /** A process with other providers took over while we could not report. */
  onLost: (error: Error) => void
  log: Logger
}

/**
 * Registers this process in the database, and waits until no running process has other providers or other destinations: two at
 * once would send a part of the mail to the wrong place. null: `stopped` ended the waiting.
 */
export async function joinProcesses(joining: Joining): Promise<Membership | null> {
  const { config, db } = joining
  if (joining.onlyGateway) await deleteAllProcesses(db.pool)
  const own = describeProcess(joining)
  const destinations = destinationsOf(config)
  let confirmedMs = 0
  const report = async (): Promise<Denial | null> => {
    const askedMs = performance.now()
    const denial = await requestAdmission(db, destinations, joining.allowCapture)
    await reportProcess(db.pool, own, denial?.reason ?? null)
    if (!denial) confirmedMs = askedMs
    return denial
  }
  const unregister = () => removeProcess(db.pool, own.processId)
  const admitted = await waitUntilAdmitted(report, joining).catch(async error => {
    await unregister().catch(() => {})
    throw error
  })
  if (!admitted) {
    await unregister().catch(() => {})
    return null
  }
  const stopReporting = reportPeriodically(report, joining)
  return {
    mayTakeMail: () => performance.now() - confirmedMs < CONFIRMED_FOR_MS,
    async leave() {
      // Also waits for a running report, which would insert the row again.
      await stopReporting()
      await unregister()
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

/** Ends when another process took over. Returns a function that stops it and waits for a report under way. */
function reportPeriodically(report: () => Promise<Denial | null>, { onLost, log }: Joining): () => Promise<void> {
  let failing = false
  const reportOrGiveUp = async () => {
    const denial = await report()
    failing = false
    if (!denial) return
    void stop()
    onLost(new ConfigError(denial.reason))
  }
  const notReported = (error: unknown) => {
    if (!failing) log.warn({ err: error }, 'Could not report this process to the database; retrying every second')
    failing = true
  }
  const stop = periodically(REPORT_EVERY_MS, reportOrGiveUp, notReported, RETRY_MS)
  return stop
}

async function requestAdmission(db: Database, destinations: string[], allowCapture: boolean): Promise<Denial | null> {
  if (await acquireDestinations(db.pool, destinations, allowCapture)) return null
  return explainDenial(destinations, await readProvidersInUse(db.pool, destinations), allowCapture)
}

async function waitUntilAdmitted(report: () => Promise<Denial | null>, { stopped, log }: Joining): Promise<boolean> {
  let loggedMs = Number.NEGATIVE_INFINITY
  for (;;) {
    const denial = await report()
    if (!denial) return true
    if (denial.kind === 'refused') throw new ConfigError(denial.reason)
    if (performance.now() - loggedMs > LOG_AGAIN_MS) {
      log.warn(`Waiting: ${denial.reason}`)
      loggedMs = performance.now()
    }
    if (await finishedWithin(RETRY_MS, stopped)) return false
  }
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
