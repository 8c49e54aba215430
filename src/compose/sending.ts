import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import { listLinkSchemes } from '../db/companies/companies.ts'
import { storeProviderEvents } from '../db/feedback/provider-events.ts'
import { returnToReady } from '../db/outbox/claim.ts'
import { endLeases, renewLeases } from '../db/outbox/leases.ts'
import { type EmailToSend, isSuppressedMeanwhile, loadAttachments } from '../db/outbox/load.ts'
import { readyDueEmails } from '../db/outbox/schedule.ts'
import { type Settlement, settleAttempts } from '../db/outbox/settle.ts'
import type { AttemptStart } from '../db/outbox/start.ts'
import { type Database, retryWhileUnavailable, writeBatchOrSingly } from '../db/pool.ts'
import { ReadyVacuum } from '../db/vacuum.ts'
import { sayAlive, sayGone } from '../db/workers.ts'
import { type AttemptDeps, attemptEmail } from '../pipeline/attempt.ts'
import { type ClaimOptions, claimFairly } from '../pipeline/claim.ts'
import { Batcher } from '../runtime/batcher.ts'
import { Semaphore } from '../runtime/semaphore.ts'
import { timeLimit } from '../runtime/time-limit.ts'
import { WeightedSemaphore } from '../runtime/weighted-semaphore.ts'
import { attemptLog } from '../sending/attempt-log.ts'
import { commitStarts } from '../sending/commit-starts.ts'
import { DirectLane } from '../sending/direct-lane.ts'
import { HeldLeases } from '../sending/held-leases.ts'
import type { HtmlChecker } from '../sending/html-check.ts'
import type { Lane } from '../sending/lane.ts'
import { type ReportsOfSend, reportsOf } from '../sending/synchronous-events.ts'
import type { Providers } from './providers.ts'

/** Starts and settlements of concurrent attempts share commits. */
const LINE_BATCH = { maxItems: 256, concurrency: 2 }
/** One commit waits for the disk while the next is being written. Told in order: the fair order is that of the calls. */
const START_BATCH = { maxItems: 256, concurrency: 2, worthAnother: 64, inOrder: true }
/** Nobody waits for a settlement but the statement after it: at half load, those of some milliseconds cost half as much together. */
const GATHER_MS = 8
const GATHERED = 64
/** Started before there is a hand to call with: what is called in this time. None at a slow provider, where it could still be cancelled. */
const STARTED_AHEAD_MS = 14
/** Seed 000: the call really ends after 30 seconds. */
const PROVIDER_TIMEOUT_MS = 30_000
/**
 * How long a provider's answer, or a start that may be committed, is kept while Postgres is away: dropped, it would become UNKNOWN,
 * and perhaps a duplicate. A failover takes minutes; a process that is told to stop is not waited for that long.
 */
const OUTAGE_PATIENCE_MS = 300_000
const STOPPING_PATIENCE_MS = 60_000
/** The line looks for mail this often when nobody calls, and for mail whose time has come. */
export const IDLE_MS = 250
/**
 * Attachments in memory at once, before base64 and the copies that a request takes; beyond, e-mails wait for each other. The
 * usual invoice does not wait behind ten megabytes of somebody else.
 */
const MEGABYTE = 1024 * 1024
const ATTACHMENT_MEMORY = { smallBytes: MEGABYTE, small: 32 * MEGABYTE, large: 64 * MEGABYTE }
const ALIVE_EVERY_MS = 5_000

export type Line = {
  nudge(): void
  /** Makes this process known as a worker. */
  prepare(): Promise<void>
  start(): void
  stop(): Promise<void>
}

export type LaneParts = {
  config: Config
  db: Database
  providers: Providers
  html: HtmlChecker
  log: Logger
  /** E-mails have come to an end: there may be something to tell. */
  onSettled: () => void
  /** Something is in the inbox of provider events. */
  reported: () => void
  /** An e-mail was sent to so many recipients of a company's. */
  sent: (companyId: string, recipients: number) => void
}

/** The sending line of one process: a lane that brings e-mails, attempts that send them, and what keeps both going. */
export async function makeLine(parts: LaneParts): Promise<Line> {
  const { config, db, log } = parts
  const semaphore = new Semaphore(config.WORKER_CONCURRENCY, STARTED_AHEAD_MS)
  const attempt = makeAttempt(parts, semaphore)
  const vacuum = new ReadyVacuum(db.pool)
  const claim: ClaimOptions = {
    perTurn: config.MAX_JOBS_PER_TENANT_BATCH,
    holder: `${hostname()}:${process.pid}`,
    leaseSeconds: config.LEASE_SECONDS,
    counted: count => vacuum.count(count),
  }
  const leases = new HeldLeases({
    renew: ids => renewLeases(db.hot, ids, config.LEASE_SECONDS),
    end: ids => endLeases(db.hot, ids),
    renewEveryMs: (config.LEASE_SECONDS * 1000) / 3,
    log,
  })
  const { lane, close } = config.REDIS_URL
    ? // Loaded where it is used: it would double the start of everything else.
      (await import('./bullmq.ts')).bullmqLane(parts, config.REDIS_URL, claim, leases, attempt)
    : { lane: directLane(parts, claim, leases, attempt), close: async () => {} }
  const worker = {
    workerId: uuidv7(),
    host: hostname(),
    pid: process.pid,
    lane: config.REDIS_URL ? ('bullmq' as const) : ('direct' as const),
    concurrency: config.WORKER_CONCURRENCY,
  }
  const alive = every(ALIVE_EVERY_MS, () => sayAlive(db.pool, worker), log)
  const alarm = every(IDLE_MS, () => wakeDue(db, () => lane.nudge()), log)
  const cleaning = every(IDLE_MS, () => vacuum.clean(), log)
  return {
    nudge: () => lane.nudge(),
    prepare: () => sayAlive(db.pool, worker),
    start() {
      alive.start()
      alarm.start()
      cleaning.start()
      lane.start()
    },
    async stop() {
      alarm.stop()
      cleaning.stop()
      // Those that wait for their turn to send are handed back; those that are sending finish.
      semaphore.close()
      await lane.stop()
      alive.stop()
      await sayGone(db.pool, worker.workerId).catch(() => {})
      await close()
    },
  }
}

function makeAttempt(
  { config, db, providers, html, log, reported, sent, onSettled }: LaneParts,
  semaphore: Semaphore,
): AttemptDeps {
  const told = attemptLog(log)
  const patienceMs = () => (semaphore.closed ? STOPPING_PATIENCE_MS : OUTAGE_PATIENCE_MS)
  return {
    starts: new Batcher({
      ...START_BATCH,
      flush: (batch: AttemptStart[]) => commitStarts(db.line.starts, batch, patienceMs),
    }),
    settlements: new Batcher({
      ...LINE_BATCH,
      gather: { ms: GATHER_MS, enough: Math.min(GATHERED, config.WORKER_CONCURRENCY) },
      flush: (batch: Settlement[]) =>
        retryWhileUnavailable(
          () => writeBatchOrSingly(batch, some => settleAttempts(db.line.settlements, some)),
          patienceMs,
        ).finally(onSettled),
    }),
    returnsToReady: new Batcher({
      ...LINE_BATCH,
      flush: async (batch: string[]) => {
        await returnToReady(db.hot, batch)
        return batch
      },
    }),
    route: providers.route,
    report: providers.report,
    pace: providers.pace,
    semaphore,
    hands: new Semaphore(config.WORKER_CONCURRENCY),
    suppressedMeanwhile: email => isSuppressedMeanwhile(db.hot, email),
    // Not over the line's own connections: megabytes would keep leases from being renewed and answers from being written.
    attachments: outboxId => loadAttachments(db.pool, outboxId),
    attachmentMemory: makeAttachmentMemory(),
    html,
    linkSchemesOf: companyId => listLinkSchemes(db.pool, companyId),
    keepReports: sent => keepReports(db, sent, reported, patienceMs),
    graceSeconds: config.UNKNOWN_GRACE_SECONDS,
    retryPolicy: config.RETRY_POLICY,
    limit: timeLimit(PROVIDER_TIMEOUT_MS),
    random: Math.random,
    nowMs: () => performance.now(),
    log: {
      ...told,
      settled(email, provider, outcome, facts) {
        told.settled(email, provider, outcome, facts)
        if (outcome.kind === 'sent' && !email.test)
          sent(email.companyId, email.recipients.filter(one => !one.suppressed).length)
      },
    },
  }
}

async function keepReports(
  db: Database,
  sent: ReportsOfSend,
  reported: () => void,
  patienceMs: () => number,
): Promise<() => void> {
  await retryWhileUnavailable(() => storeProviderEvents(db.hot, reportsOf(sent)), patienceMs)
  return reported
}

export function makeAttachmentMemory(): AttemptDeps['attachmentMemory'] {
  const [small, large] = [
    new WeightedSemaphore(ATTACHMENT_MEMORY.small),
    new WeightedSemaphore(ATTACHMENT_MEMORY.large),
  ]
  return { spend: (bytes, work) => (bytes <= ATTACHMENT_MEMORY.smallBytes ? small : large).spend(bytes, work) }
}

function directLane(
  { config, db, providers, log }: LaneParts,
  claim: ClaimOptions,
  leases: HeldLeases,
  attempt: AttemptDeps,
): Lane {
  return new DirectLane<EmailToSend>({
    claim: limits => claimFairly(db.line, limits, claim),
    work: hand => attemptEmail(hand, attempt),
    leases,
    concurrency: config.WORKER_CONCURRENCY,
    mayClaim: providers.mayClaim,
    idleMs: IDLE_MS,
    log,
  })
}

/** Mail whose time has come joins the line. */
async function wakeDue(db: Database, nudge: () => void): Promise<void> {
  let moved: number
  do {
    moved = await readyDueEmails(db.hot)
    if (moved > 0) nudge()
  } while (moved === 1000)
}

/** One at a time, and not before the last one is done. */
function every(ms: number, act: () => Promise<unknown>, log: Logger) {
  let timer: NodeJS.Timeout | undefined
  const next = () => {
    timer = setTimeout(() => {
      act()
        .catch(error => log.warn({ err: error }, 'A periodic task of the line failed; it is tried again'))
        .finally(() => timer && next())
    }, ms)
  }
  return {
    start: next,
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}
