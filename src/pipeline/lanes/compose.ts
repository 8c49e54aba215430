import { setMaxListeners } from 'node:events'
import { hostname } from 'node:os'
import { returnUncertainClaims } from '../../outbox/claim.ts'
import { endLeases, renewLeases } from '../../outbox/leases.ts'
import type { EmailToSend } from '../../outbox/load.ts'
import { readyDueEmails } from '../../outbox/schedule.ts'
import { keepTrace } from '../../outbox/trace.ts'
import { periodically } from '../../platform/periodic-task.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { ReadyVacuum } from '../../platform/postgres/vacuum.ts'
import { Semaphore } from '../../platform/semaphores.ts'
import type { WakeableSleep } from '../../platform/sleep.ts'
import type { RootAttributes, Tracing } from '../../platform/telemetry/tracing.ts'
import { uuidv7 } from '../../platform/text/uuid.ts'
import type { Providers } from '../../providers/providers.ts'
import { recordHeartbeat, unregisterWorker } from '../../settings/workers.ts'
import { type AttemptParts, composeAttempt, composeSettle } from '../attempt/compose.ts'
import { type ClaimOptions, claimFairly } from '../claim/claim.ts'
import { failureLog } from '../housekeeping/log.ts'
import { attemptAndSettle } from '../settle/settle.ts'
import { DirectLane } from './direct.ts'
import { HeldLeases } from './held-leases.ts'
import type { ClaimedEmail, Lane } from './lane.ts'

/**
 * Beyond the call slots, as many attempts may start as calls end in this time, so that starts share a commit. At a slow provider that is
 * none: an e-mail can be cancelled until its attempt starts.
 */
const STARTED_AHEAD_MS = 14
/** How often a lane looks for ready e-mails when nobody wakes it, and for e-mails that have become due. */
export const IDLE_MS = 250
const ALIVE_EVERY_MS = 5_000
/** Scheduled e-mails that one statement makes ready. */
const DUE_BATCH = 1_000

export type LaneParts = AttemptParts & {
  providers: Providers
  /** Woken when e-mails may have become ready. */
  emailsReady: WakeableSleep
}

/** Attempts one claimed e-mail and settles it. */
export type AttemptAndSettle = (claimed: ClaimedEmail) => Promise<void>

export type Sending = {
  /** Records this process as a worker. */
  prepare(): Promise<void>
  start(): void
  stop(): Promise<void>
}

/** What sends e-mails in this process: a lane that brings claimed e-mails, and the attempt and settle steps. */
export async function composeSending(parts: LaneParts): Promise<Sending> {
  const { config, db, emailsReady, tracing, figures, log } = parts
  const startSlots = new Semaphore(config.WORKER_CONCURRENCY, STARTED_AHEAD_MS)
  const stopping = new AbortController()
  // Every e-mail that waits for the rate limit listens to it.
  setMaxListeners(0, stopping.signal)
  const steps = {
    attempt: composeAttempt(parts, startSlots, stopping.signal),
    settle: composeSettle(parts),
  }
  const laneAttributes = { lane: config.REDIS_URL ? 'bullmq' : 'direct' }
  const sendTraced: AttemptAndSettle = async claimed => {
    const traced = await tracedFromSql(claimed, tracing, (...kept) => keepTrace(db.pool, ...kept))
    tracing.record('claim', traced.email?.traceparent, claimed.claimedAtMs, laneAttributes)
    return attemptAndSettle(traced, steps)
  }
  const send: AttemptAndSettle = tracing.isOn ? sendTraced : claimed => attemptAndSettle(claimed, steps)
  const vacuum = new ReadyVacuum(db.pool)
  const claim: ClaimOptions = {
    perTurn: config.MAX_JOBS_PER_TENANT_BATCH,
    holder: `${hostname()}:${process.pid}`,
    leaseSeconds: config.LEASE_SECONDS,
    onClaimed(claimed) {
      vacuum.count(claimed.length)
      figures.batch('claim', claimed.length)
      figures.rounds.claimed(claimed.map(one => one.companyId))
    },
  }
  const leases = new HeldLeases({
    renew: ids => renewLeases(db.short, ids, config.LEASE_SECONDS),
    end: ids => endLeases(db.short, ids),
    returnUncertain: ids => returnUncertainClaims(db.short, ids),
    renewEveryMs: (config.LEASE_SECONDS * 1000) / 3,
    log,
  })
  const worker = {
    workerId: uuidv7(),
    host: hostname(),
    pid: process.pid,
    lane: config.REDIS_URL ? ('bullmq' as const) : ('direct' as const),
    concurrency: config.WORKER_CONCURRENCY,
  }
  const { lane, close } = config.REDIS_URL
    ? // Loaded where it is used: BullMQ would double the start of everything else.
      (await import('./compose-bullmq.ts')).bullmqLane(
        { ...parts, workerId: worker.workerId },
        config.REDIS_URL,
        claim,
        leases,
        send,
      )
    : { lane: directLane(parts, claim, leases, send), close: async () => {} }
  const failures = failureLog(log, 'Upkeep of the worker')
  const every = (ms: number, name: string, run: () => Promise<unknown>) =>
    periodically(ms, run, error => failures.failed(name, error))
  let readyTasks: (() => Promise<void>)[] = []
  let heartbeatTasks: (() => Promise<void>)[] = []
  return {
    prepare: () => recordHeartbeat(db.pool, worker),
    start() {
      heartbeatTasks = [every(ALIVE_EVERY_MS, 'record-heartbeat', () => recordHeartbeat(db.pool, worker))]
      readyTasks = [
        // The one that always asks Postgres says when it is back.
        every(IDLE_MS, 'ready-due-emails', () => readyAllDue(db, emailsReady).then(failures.succeeded)),
        every(IDLE_MS, 'vacuum-ready', () => vacuum.clean()),
      ]
      lane.start()
    },
    async stop() {
      const stopped = stopAll(readyTasks)
      // E-mails that wait for their turn to start return to ready; those that have started are finished.
      stopping.abort()
      startSlots.close()
      await lane.stop()
      await stopped
      // A heartbeat under way would put the row of this worker back.
      await stopAll(heartbeatTasks)
      await unregisterWorker(db.pool, worker.workerId).catch(() => {})
      await close()
    },
  }
}

const stopAll = (periodic: (() => Promise<void>)[]) => Promise.all(periodic.map(stop => stop()))

function directLane(
  { config, db, providers, emailsReady, log }: LaneParts,
  claim: ClaimOptions,
  leases: HeldLeases,
  send: AttemptAndSettle,
): Lane {
  return new DirectLane<EmailToSend>({
    claim: limits => claimFairly(db.sending, limits, claim),
    work: send,
    leases,
    concurrency: config.WORKER_CONCURRENCY,
    maxInFlight: providers.maxInFlight,
    ready: emailsReady,
    idleMs: IDLE_MS,
    log,
  })
}

/** Moves e-mails whose time has come from scheduled to ready. */
async function readyAllDue(db: Database, emailsReady: WakeableSleep): Promise<void> {
  let moved: number
  do {
    moved = await readyDueEmails(db.short, DUE_BATCH)
    if (moved > 0) emailsReady.wake()
  } while (moved === DUE_BATCH)
}

/** Keeps the trace with the e-mail. false: somebody else is changing the e-mail, or it has a trace already. */
export type KeepTrace = (outboxId: string, traceparent: string) => Promise<boolean>

/** An e-mail that came by SQL had no request that could begin a trace: its first claim does. */
export async function tracedFromSql(claimed: ClaimedEmail, tracing: Tracing, keep: KeepTrace): Promise<ClaimedEmail> {
  const { outboxId, companyId, email } = claimed
  if (!email || email.traceparent || email.attempts > 0 || !isFromSql(email)) return claimed
  const span = tracing.begin('SQL e-mail')
  // Without its trace the e-mail is sent all the same.
  if (!span || !(await keep(outboxId, span.traceparent).catch(() => false))) return claimed
  const attributes: RootAttributes<'SQL e-mail'> = { requestId: email.requestId, companyId, outboxId }
  span.end(attributes, false)
  return { ...claimed, email: { ...email, traceparent: span.traceparent } }
}

/** enqueue_email() names the transaction as the request, and leaves the content to the worker. */
const isFromSql = ({ requestId, variables }: EmailToSend) => variables !== null && /^sql-\d+$/.test(requestId)
