import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { type Config, ConfigError, type Role } from '../config.ts'
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
import { recordedSettings } from '../recorded-settings.ts'
import { finishedWithin } from '../runtime/finished-within.ts'
import type { makeProviders, Providers } from './providers.ts'

const REPORT_EVERY_MS = 5_000
/** While it waits for others to stop, and after a report that failed. */
const ASK_AGAIN_MS = 1_000
const SAY_AGAIN_MS = 60_000
/** Others count us as gone this long after a report; we stop a little before. */
const TRUSTED_MS = (LIVING_SECONDS - 1) * 1_000

export type Membership = {
  /** Whether no process with other providers can have taken our place. */
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
  /** Capture may take the place of providers that really send. */
  allowCapture: boolean
  /** Ends the waiting. */
  stopped: Promise<unknown>
  /** Another process with other providers took our place while we were silent. */
  onLost: (error: Error) => void
  log: Logger
}

/**
 * Records this process and its settings in the database, and waits until no living process has other providers or other
 * destinations: two at once would send a part of the mail to where nobody expects it. null: it was told to stop while it waited.
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

  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let troubled = false
  let reporting: Promise<void> = Promise.resolve()
  const next = (ms: number) => {
    if (!stopped) timer = setTimeout(again, ms)
  }
  const again = () => {
    reporting = report().then(
      denial => {
        troubled = false
        if (denial) onLost(new ConfigError(denial.reason))
        else next(REPORT_EVERY_MS)
      },
      error => {
        const said = 'Could not record in the database that this process is running; it is tried every second'
        if (!troubled) log.warn({ err: error }, said)
        troubled = true
        next(ASK_AGAIN_MS)
      },
    )
  }
  next(REPORT_EVERY_MS)
  return {
    mayTakeMail: () => performance.now() - confirmedMs < TRUSTED_MS,
    async leave() {
      stopped = true
      clearTimeout(timer)
      // A report under way would put the row back.
      await reporting
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
  let saidMs = Number.NEGATIVE_INFINITY
  for (;;) {
    const denial = await report()
    if (!denial) return true
    if (denial.kind === 'refused') throw new ConfigError(denial.reason)
    if (performance.now() - saidMs > SAY_AGAIN_MS) {
      log.warn(`Waiting: ${denial.reason}`)
      saidMs = performance.now()
    }
    if (await finishedWithin(ASK_AGAIN_MS, stopped)) return false
  }
}

/** Providers that send nothing while another process may have taken our place: what was claimed goes back to ready. */
export function providersOfMember(make: typeof makeProviders, membership: Membership): typeof makeProviders {
  return async (...parts): Promise<Providers> => {
    const providers = await make(...parts)
    return {
      ...providers,
      route: email => (membership.mayTakeMail() ? providers.route(email) : null),
      mayClaim: () => (membership.mayTakeMail() ? providers.mayClaim() : 0),
    }
  }
}
