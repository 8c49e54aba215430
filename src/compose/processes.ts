import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { type Config, ConfigError, type Role, recordedSettings } from '../config.ts'
import { type Denial, explainDenial } from '../contracts/admission.ts'
import { destinationsOf } from '../contracts/destinations.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import type { Database } from '../db/pool.ts'
import {
  forgetProcesses,
  type GatewayProcess,
  holdProviders,
  LIVING_SECONDS,
  readProvidersInUse,
  releaseProviders,
  removeProcess,
  reportProcess,
} from '../db/processes.ts'
import { finishedWithin } from '../runtime/finished-within.ts'
import { periodically } from '../runtime/periodic-task.ts'
import type { makeProviders, Providers } from './providers.ts'

const REPORT_EVERY_MS = 5_000
/** While it waits for others to stop, and after a report that failed. */
const ASK_AGAIN_MS = 1_000
const LOG_AGAIN_MS = 60_000
/** Others count us as gone this long after a report; we stop a little before. */
const TRUSTED_MS = (LIVING_SECONDS - 1) * 1_000

export type Membership = {
  /** false: another process with other providers may have been admitted meanwhile. */
  mayTakeMail: () => boolean
  leave(): Promise<void>
}

export type Joining = {
  config: Config
  db: Database
  role: Role
  version: string
  /** Nobody else can run on this database. */
  alone: boolean
  /** Capture may replace providers that really send. */
  allowCapture: boolean
  /** Ends the waiting. */
  stopped: Promise<unknown>
  /** Another process with other providers was admitted while this one could not report. */
  onLost: (error: Error) => void
  log: Logger
}

/**
 * Records this process and its settings in the database, and waits until no living process has other providers or other
 * destinations: two at once would send a part of the mail to where nobody expects it. null: it was stopped while it waited.
 */
export async function joinProcesses(joining: Joining): Promise<Membership | null> {
  const { config, db, role, version, alone, onLost, log } = joining
  const own: GatewayProcess = {
    processId: uuidv7(),
    host: hostname(),
    pid: process.pid,
    role,
    version,
    providers: config.EMAIL_PROVIDER,
    settings: recordedSettings(config),
  }
  const destinations = destinationsOf(config)
  if (alone) await forgetProcesses(db.pool)
  let confirmedMs = 0
  const report = async (): Promise<Denial | null> => {
    const askedMs = performance.now()
    const denial = await ask(db, destinations, joining.allowCapture)
    await reportProcess(db.pool, own, denial?.reason ?? null)
    if (!denial) confirmedMs = askedMs
    return denial
  }
  const admitted = await waitUntilAdmitted(report, joining).catch(async error => {
    await removeProcess(db.pool, own.processId).catch(() => {})
    throw error
  })
  if (!admitted) {
    await removeProcess(db.pool, own.processId).catch(() => {})
    return null
  }

  let troubled = false
  const reportOrGiveUp = async () => {
    const denial = await report()
    troubled = false
    if (!denial) return
    void stopReporting()
    onLost(new ConfigError(denial.reason))
  }
  const notReported = (error: unknown) => {
    const message = 'Could not record in the database that this process is running; it is tried every second'
    if (!troubled) log.warn({ err: error }, message)
    troubled = true
  }
  const stopReporting = periodically(REPORT_EVERY_MS, reportOrGiveUp, notReported, ASK_AGAIN_MS)
  return {
    mayTakeMail: () => performance.now() - confirmedMs < TRUSTED_MS,
    async leave() {
      // A report under way would put the row back.
      await stopReporting()
      await removeProcess(db.pool, own.processId)
        .then(() => releaseProviders(db.pool))
        .catch(() => {})
    },
  }
}

async function ask(db: Database, destinations: string[], allowCapture: boolean): Promise<Denial | null> {
  if (await holdProviders(db.pool, destinations, allowCapture)) return null
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
    if (await finishedWithin(ASK_AGAIN_MS, stopped)) return false
  }
}

/** Providers that send nothing while a process with other providers may run: what was claimed returns to ready. */
export function providersOfMember(make: typeof makeProviders, membership: Membership): typeof makeProviders {
  return async (...parts): Promise<Providers> => {
    const providers = await make(...parts)
    return {
      ...providers,
      route: async email => (membership.mayTakeMail() ? providers.route(email) : null),
      mayClaim: () => (membership.mayTakeMail() ? providers.mayClaim() : 0),
    }
  }
}
