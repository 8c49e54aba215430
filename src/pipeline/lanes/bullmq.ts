import { type Job, WaitingError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { BULLMQ_QUEUE_NAME, type SlimJobData } from '../../outbox/job.ts'
import { SKIP_VERSION_CHECK } from '../../platform/redis.ts'
import { finishedWithin } from '../../platform/sleep.ts'
import { isUuid } from '../../platform/text/uuid.ts'
import { ThroughputMeter } from '../../platform/throughput-meter.ts'
import type { Feeder } from './feeder.ts'
import type { HeldLeases } from './held-leases.ts'
import type { UnreadableJobs } from './job-queue.ts'
import type { Lane, UnderLease } from './lane.ts'

/** A worker that dies keeps its jobs locked this long; the leases of its e-mails expire on their own. */
const LOCK_MS = 15_000
const STALLED_CHECK_MS = 10_000
/** A job whose workers died so often is not given to another one: the leases of its e-mail expire, and its attempt counts. */
const MAX_STALLED = 1
/** BullMQ's pause after a lost connection. Its default of 15 s would be the longest part of most outages. */
const RECONNECT_PAUSE_MS = 1_000
/** How long a stop waits for Redis. Jobs that are not ended by then are found stalled by another worker. */
const CLOSE_MS = 5_000
/** Errors come by the thousand while Redis refuses commands: one line in this time is enough. */
const LOG_ERROR_EVERY_MS = 10_000

/** taken: leased to this process. not-ours: not to be sent now, or somebody else has it. no-such-email: it is not in the database. */
export type LeasedJob<Email> =
  | { kind: 'taken'; leaseId: string; email: Email }
  | { kind: 'not-ours' }
  | { kind: 'no-such-email' }

export type PoisonJob = { jobId: string | undefined; reason: 'garbled' | 'no-such-email' }

export type BullmqLaneOptions<Email> = {
  /** For the worker alone: BullMQ blocks on a copy of it. */
  connection: Redis
  /** Provider calls at once. */
  concurrency: number
  feeder: Feeder
  unreadableJobs: UnreadableJobs
  lease: (outboxId: string) => Promise<LeasedJob<Email>>
  work: (item: Omit<UnderLease<Email>, 'companyId'>) => Promise<void>
  leases: HeldLeases
  reportPoison: (job: PoisonJob) => void
  log: Logger
}

/**
 * Claimed work travels through Redis. A job only says "look at this e-mail": the worker takes its lease in Postgres, so a stale,
 * doubled, garbled or lost job is harmless.
 */
export class BullmqLane<Email> implements Lane {
  readonly #options: BullmqLaneOptions<Email>
  readonly #running = new Map<string, Promise<void>>()
  #worker: Worker | null = null
  readonly #throughput = new ThroughputMeter()
  #stopping = false
  #loggedErrorMs = Number.NEGATIVE_INFINITY

  constructor(options: BullmqLaneOptions<Email>) {
    this.#options = options
  }

  start(): void {
    const { connection, concurrency, leases, feeder } = this.#options
    this.#worker = new Worker(BULLMQ_QUEUE_NAME, (job, token) => this.#process(job, token), {
      connection,
      ...SKIP_VERSION_CHECK,
      concurrency,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      runRetryDelay: RECONNECT_PAUSE_MS,
      maxStalledCount: MAX_STALLED,
      // Our own jobs say so themselves; these are for jobs that another program added.
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    })
    this.#worker.on('completed', job => this.#completed(job))
    this.#worker.on('failed', (job, error) => this.#failed(job, error))
    this.#worker.on('error', error => this.#error(error))
    leases.start()
    feeder.start()
  }

  /** The leases last until nothing works under them, and are ended whatever else fails. */
  async stop(): Promise<void> {
    const { feeder, leases, unreadableJobs, log } = this.#options
    this.#stopping = true
    const stopped = await Promise.allSettled([this.#closeWorker(), feeder.stop(), unreadableJobs.stop()])
    await leases.stop()
    for (const one of stopped)
      if (one.status === 'rejected') log.error({ err: one.reason }, 'A part of the BullMQ lane could not be stopped')
  }

  /** What is in flight needs only Postgres and the provider, so it is finished whatever Redis does. */
  async #closeWorker(): Promise<void> {
    const { connection } = this.#options
    // A graceful close waits for Redis to come back.
    const closed = connection.status === 'ready' ? this.#close() : null
    if (!closed) connection.disconnect()
    await Promise.allSettled(this.#running.values())
    // A connection that died silently counts as ready.
    if (closed) await finishedWithin(CLOSE_MS, closed)
    connection.disconnect()
    if (!closed) await this.#worker?.close(true)
  }

  /** It may fail before anybody waits for it. */
  async #close(): Promise<void> {
    try {
      await this.#worker?.close()
    } catch (error) {
      this.#options.log.warn({ err: error }, 'The BullMQ worker did not close cleanly')
    }
  }

  async #process(job: Job, token: string | undefined): Promise<void> {
    if (this.#stopping) return this.#backToQueue(job, token)
    this.#adjustConcurrency()
    const outboxId = outboxIdOf(job)
    if (!outboxId) return this.#options.reportPoison({ jobId: job.id, reason: 'garbled' })
    // A job whose lock was lost comes again while it is still in flight.
    if (this.#running.has(outboxId)) return
    const running = this.#leaseAndWork(outboxId)
    this.#running.set(outboxId, running)
    try {
      await running
    } finally {
      this.#running.delete(outboxId)
    }
  }

  /** It was being fetched when the stop began: another worker takes it. If Redis is away, it is found stalled, or missed by the feeder. */
  async #backToQueue(job: Job, token: string | undefined): Promise<void> {
    await job.moveToWait(token)
    throw new WaitingError()
  }

  async #leaseAndWork(outboxId: string): Promise<void> {
    const { lease, feeder, reportPoison } = this.#options
    const claimedAtMs = Date.now()
    const leased = await lease(outboxId)
    feeder.askedForLease(outboxId)
    if (leased.kind === 'no-such-email') reportPoison({ jobId: outboxId, reason: leased.kind })
    if (leased.kind === 'taken') await this.#work({ outboxId, claimedAtMs, ...leased })
  }

  async #work(taken: Pick<UnderLease<Email>, 'outboxId' | 'leaseId' | 'email' | 'claimedAtMs'>): Promise<void> {
    const { outboxId, leaseId, email, claimedAtMs } = taken
    const { work, leases } = this.#options
    let settled = false
    try {
      // In flight until the job ends: until the outcome is written, the job stays in Redis and counts towards the window.
      await work({ outboxId, leaseId, email, claimedAtMs, leaveFlight: () => {} })
      settled = true
    } finally {
      leases.done(leaseId, settled)
    }
  }

  #completed(job: Job): void {
    this.#throughput.count()
    this.#adjustConcurrency()
    if (job.id) this.#options.feeder.jobEnded(job.id)
  }

  /**
   * One job for each call, and as many as are being leased and settled meanwhile, which depends on how fast the provider is. With
   * more, jobs would wait here for the calls of a provider that hangs while another worker has calls to spare.
   */
  #adjustConcurrency(): void {
    const { concurrency } = this.#options
    this.#worker!.concurrency = concurrency + jobsOutsideCalls(concurrency, this.#throughput.perMs())
  }

  /**
   * The work threw, or too many workers died on the job: the e-mail returns to ready when its lease expires. Or no lease was taken: the
   * feeder returns it.
   */
  #failed(job: Job | undefined, error: Error): void {
    const { feeder, log } = this.#options
    if (job?.id) feeder.jobEnded(job.id)
    log.error(
      { err: error, jobId: job?.id },
      'A job failed; its e-mail is tried again when its lease has expired, or when the feeder misses the job',
    )
  }

  #error(error: Error): void {
    if (error instanceof SyntaxError) this.#options.unreadableJobs.found()
    else this.#logError(error)
  }

  #logError(error: Error): void {
    const nowMs = performance.now()
    const isNew = nowMs - this.#loggedErrorMs > LOG_ERROR_EVERY_MS
    if (isNew) this.#loggedErrorMs = nowMs
    const level = isNew ? 'warn' : 'debug'
    this.#options.log[level]({ err: error }, 'BullMQ reported an error; e-mails that are not sent yet wait in Postgres')
  }
}

/** The rest of the data is for people who look at the queue, and could be wrong. */
function outboxIdOf({ id, data }: Job<Partial<SlimJobData> | null>): string | null {
  return id && id === data?.outboxId && isUuid(id) ? id : null
}

/** How long a job is being leased and settled, before and after its call. */
const LEASE_AND_SETTLE_MS = 40
/**
 * The most jobs that are being leased or settled for each provider call. With 4, workers were faster, and overtook each other: a
 * company was served four times in a row (`FAULT=fair-order npm run faults`).
 */
const MAX_OUTSIDE_PER_CALL = 1

/**
 * Jobs that are being leased or settled while others are with the provider. The faster the provider answers, the more they are: of a
 * hundred calls that take a millisecond each, most jobs are in Postgres. At a provider that hangs they are none.
 */
export function jobsOutsideCalls(calls: number, finishedPerMs: number): number {
  return Math.min(MAX_OUTSIDE_PER_CALL * calls, Math.floor(finishedPerMs * LEASE_AND_SETTLE_MS))
}
