import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, Processor, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { BULLMQ_QUEUE_NAME, type SlimJobData } from '../contracts/job.ts'
import { isUuid } from '../contracts/uuid.ts'
import { ThroughputMeter } from '../runtime/throughput-meter.ts'
import { CrowdWorker } from './crowd-worker.ts'
import { type Feeder, jobsInFlight } from './feeder.ts'
import type { HeldLeases } from './held-leases.ts'
import type { Lane, UnderLease } from './lane.ts'
import { WITHOUT_ITS_CHECKS } from './redis-settings.ts'

/** A worker that dies keeps its jobs locked this long; its e-mails' leases run out on their own. */
const LOCK_MS = 15_000
const STALLED_CHECK_MS = 10_000
/** How long jobs may take to be ended in Redis when the worker stops; those that are not are found stalled by another worker. */
const CLOSE_MS = 5_000
/** After Redis was away. BullMQ's own fifteen seconds would be the longest part of every outage. */
const TRY_AGAIN_MS = 1_000

/** taken: leased to us. elsewhere: sent, cancelled, or in another's hands by now. missing: there is no such e-mail. */
export type Receipt<Content> =
  | { kind: 'taken'; leaseId: string; content: Content }
  | { kind: 'elsewhere' }
  | { kind: 'missing' }

export type BullmqLaneOptions<Content> = {
  /** For the worker alone: it blocks. */
  connection: Redis
  concurrency: number
  feeder: Feeder
  receive: (outboxId: string) => Promise<Receipt<Content>>
  work: (item: Omit<UnderLease<Content>, 'companyId'>) => Promise<void>
  leases: HeldLeases
  poison: (facts: { jobId: string | undefined; reason: string }) => void
  log: Logger
}

/**
 * Claimed work travels through Redis. A job is a doorbell without authority: what it says is checked in Postgres, where
 * the worker takes its lease, so a stale, doubled, garbled or missing job is harmless.
 */
export class BullmqLane<Content> implements Lane {
  readonly #options: BullmqLaneOptions<Content>
  #worker: CrowdWorker | null = null
  readonly #pace = new ThroughputMeter()
  #underWay = 0
  #whenNoneIs: (() => void) | null = null
  #stopping = false

  constructor(options: BullmqLaneOptions<Content>) {
    this.#options = options
  }

  start(): void {
    const { connection, concurrency, feeder } = this.#options
    this.#worker ??= new CrowdWorker(BULLMQ_QUEUE_NAME, (job => this.#run(job)) satisfies Processor, {
      connection,
      ...WITHOUT_ITS_CHECKS,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      runRetryDelay: TRY_AGAIN_MS,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    })
    // Jobs in hand, not calls: the semaphore bounds those, and the others are being read or written meanwhile.
    this.#worker.hands = jobsInFlight(concurrency, 0)
    this.#sayOnce(this.#worker)
    this.#worker.on('completed', job => this.#completed(job.id!))
    this.#worker.on('failed', (job, error) => this.#brokeOff(job, error))
    feeder.start()
  }

  /** Both of the worker's connections complain at each try; once per outage is enough. */
  #sayOnce(worker: Worker): void {
    const { connection, log } = this.#options
    let away = false
    worker.on('error', error => {
      log[away ? 'debug' : 'warn']({ err: error }, 'The queue is out of reach; mail waits in Postgres')
      away = true
    })
    connection.on('ready', () => {
      if (away) log.info('The queue is in reach again')
      away = false
    })
  }

  #completed(jobId: string): void {
    const { feeder, concurrency } = this.#options
    this.#pace.count()
    this.#worker!.hands = jobsInFlight(concurrency, this.#pace.perMs())
    feeder.left(jobId)
  }

  /** How many jobs come in this time, as things go: a job that comes alone waits for nobody. */
  expected(ms: number): number {
    return this.#pace.perMs() * ms
  }

  wake(): void {
    this.#options.feeder.wake()
  }

  async stop(): Promise<void> {
    const { feeder, connection, leases } = this.#options
    this.#stopping = true
    await feeder.stop()
    // Not where Redis is away: it would wait for it to come back. What is under way needs only Postgres and the provider.
    const closed = connection.status === 'ready' ? this.#worker?.close() : undefined
    await this.#nothingUnderWay()
    // A connection that died silently counts as ready: what waits for its answers must not keep the process.
    await Promise.race([closed, sleep(CLOSE_MS, null, { ref: false })])
    connection.disconnect()
    await this.#worker?.close(true)
    await leases.stop()
  }

  async #nothingUnderWay(): Promise<void> {
    if (this.#underWay === 0) return
    await new Promise<void>(resolve => {
      this.#whenNoneIs = resolve
    })
  }

  /** The job is done when the provider has answered: what is left is to write the outcome, under the lease, which needs no job. */
  #run(job: Job): Promise<void> {
    return new Promise((resolve, reject) => void this.#process(job, { release: resolve, fail: reject }))
  }

  async #process(job: Job, end: { release: () => void; fail: (error: unknown) => void }): Promise<void> {
    this.#underWay++
    let released = false
    const release = () => {
      released = true
      end.release()
    }
    try {
      await this.#bring(job, release)
    } catch (error) {
      if (released) this.#brokeOff(job, error)
      else end.fail(error)
    }
    end.release()
    if (--this.#underWay === 0) this.#whenNoneIs?.()
  }

  async #bring(job: Job, release: () => void): Promise<void> {
    // Dropped; nobody took its e-mail, so the next feeder finds it without a job.
    if (this.#stopping) return
    const { receive, work, leases, poison, feeder } = this.#options
    const outboxId = outboxIdOf(job)
    if (!outboxId) return poison({ jobId: job.id, reason: 'garbled' })
    const receipt = await receive(outboxId)
    feeder.received(outboxId)
    if (receipt.kind === 'missing') return poison({ jobId: job.id, reason: 'no-such-email' })
    if (receipt.kind === 'elsewhere') return
    const { leaseId, content } = receipt
    let settled = false
    try {
      await work({ outboxId, leaseId, content, release })
      settled = true
    } finally {
      leases.done(leaseId, settled)
    }
  }

  #brokeOff(job: Job | undefined, error: unknown): void {
    this.#options.log.error({ err: error, jobId: job?.id }, 'An attempt broke off; its lease will return the e-mail')
  }
}

/** All that a job is asked for. What else it says is for people who look at the queue, and could be wrong. */
function outboxIdOf({ id, data }: Job<Partial<SlimJobData> | null>): string | null {
  return id && id === data?.outboxId && isUuid(id) ? id : null
}
