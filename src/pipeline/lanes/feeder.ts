import { setTimeout as sleep } from 'node:timers/promises'
import type { Queue } from 'bullmq'
import type { Logger } from 'pino'
import type { ClaimLimits } from '../../outbox/claim.ts'
import { EMAIL_JOB_CONFIG, SLIM_JOB_OPTIONS, type SlimJobData } from '../../outbox/job.ts'
import { inFlightAllowance } from '../../platform/fairness.ts'
import type { WakeableSleep } from '../../platform/sleep.ts'
import { isUuid } from '../../platform/text/uuid.ts'
import { ThroughputMeter } from '../../platform/throughput-meter.ts'
import { jobsOutsideCalls } from './bullmq.ts'

/** E-mails that were claimed for the queue, under one lease of the feeder, and the data of their jobs. */
export type Dispatch = {
  leaseId: string
  claimed: { outboxId: string; companyId: string }[]
  jobs: () => Promise<SlimJobData[]>
}

/** What is used of BullMQ's queue. */
export type FedQueue = Pick<Queue, 'addBulk' | 'getRanges' | 'remove'>

export type FeederOptions = {
  queue: FedQueue
  election: FeederElection
  /** Provider calls at once, over all workers. */
  totalConcurrency: () => Promise<number>
  /** Provider calls at once in this process. */
  ownConcurrency: number
  /** The next e-mails in fair order, leased to the feeder. */
  claim: (limits: ClaimLimits) => Promise<Dispatch>
  /** Returns a dispatch to ready whose jobs could not be added. */
  returnClaim: (dispatch: Dispatch) => Promise<void>
  /** Returns e-mails to ready by way of the schedule, and so a moment later. */
  returnLater: (outboxIds: string[]) => Promise<unknown>
  /** Returns to ready the e-mails whose jobs are missing; answers which. */
  returnWithoutJob: (queued: string[]) => Promise<string[]>
  companiesOf: (outboxIds: string[]) => Promise<Map<string, string>>
  /** How many e-mails may be in flight, over all workers. */
  maxInFlight: () => number
  /** Woken when e-mails may have become ready. */
  ready: WakeableSleep
  idleMs: number
  log: Logger
}

/** The published contract calls it the queue's name; the queue is BULLMQ_QUEUE_NAME. */
const JOB_NAME = EMAIL_JOB_CONFIG.QUEUE_NAME
const RETURN_EVERY_MS = 1_000
const COUNT_WORKERS_EVERY_MS = 2_000
/** How often a window without room is looked at, or one whose ready mail has its share. Free places add up meanwhile: a claim for each job that ends would cost more than it brings. */
const NO_ROOM_POLL_MS = 5
/** Jobs in Redis for each provider call. */
const WINDOW_PER_CALL = 3
/** Jobs in progress for each provider call: one more for ten calls, so that one is ready when a call ends. */
const IN_PROGRESS_PER_CALL = 1.1
/** No claim while a smaller share of the window is free. */
const MIN_FREE_SHARE = 1 / 4
/** How often the window is read from Redis. Jobs of this process's worker are counted when they end; those of others are not. */
const READ_EVERY_MS = { oneWorker: 200, manyWorkers: 10 }

/** Keeps the queue window filled in fair order. One process does so at a time, whichever is elected. */
export class Feeder {
  readonly #options: FeederOptions
  readonly #window: QueueWindow
  readonly #throughput = new ThroughputMeter()
  #stopping = false
  #loop: Promise<void> | null = null
  #returnedMs = 0
  #countedMs = 0
  #concurrency = 0
  /** No claim before this time: every company with ready mail has its share. A job that ends makes it earlier. */
  #noClaimBeforeMs = 0

  constructor(options: FeederOptions) {
    this.#options = options
    this.#window = new QueueWindow({ ...options, onJobEnded: () => this.#onJobEnded() })
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  wake(): void {
    this.#options.ready.wake()
  }

  /** A worker of this process has asked Postgres for that e-mail, whatever the answer. */
  askedForLease(outboxId: string): void {
    this.#window.askedForLease(outboxId)
  }

  /** A worker of this process has ended that job. */
  jobEnded(jobId: string): void {
    this.#window.jobEnded(jobId)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.wake()
    await this.#loop
    await this.#options.election.resign()
  }

  async #run(): Promise<void> {
    const { election, ready, idleMs, log } = this.#options
    let failing = false
    while (!this.#stopping) {
      if (ready.woken) this.#allowClaim()
      ready.clear()
      try {
        if (await election.isFeeder(() => this.#window.clear())) await ready.sleep(await this.#feed())
        else await ready.sleep(idleMs)
        failing = false
      } catch (error) {
        if (!failing) log.error({ err: error }, 'Could not fill the queue; mail waits in Postgres')
        failing = true
        await sleep(idleMs)
      }
    }
  }

  /** Answers how long to sleep. */
  async #feed(): Promise<number> {
    await this.#countWorkers()
    await this.#readWindow()
    if (!this.#hasRoom() || performance.now() < this.#noClaimBeforeMs) return NO_ROOM_POLL_MS
    const allowed = this.#options.maxInFlight() - this.#window.size
    // Providers are parked, or their rate allows no more in flight. A provider that comes back wakes the feeder.
    if (allowed < 1) return this.#options.idleMs
    return this.#fill(Math.min(this.#room(), allowed))
  }

  async #countWorkers(): Promise<void> {
    const nowMs = performance.now()
    if (this.#concurrency > 0 && nowMs - this.#countedMs < COUNT_WORKERS_EVERY_MS) return
    this.#concurrency = await this.#options.totalConcurrency()
    this.#countedMs = nowMs
  }

  async #readWindow(): Promise<void> {
    const { ownConcurrency } = this.#options
    const nowMs = performance.now()
    const readEveryMs = this.#concurrency > ownConcurrency ? READ_EVERY_MS.manyWorkers : READ_EVERY_MS.oneWorker
    const returns = nowMs - this.#returnedMs > RETURN_EVERY_MS
    if (returns || nowMs - this.#window.readMs > readEveryMs) await this.#window.read()
    if (returns) await this.#returnWithoutJob(nowMs)
  }

  /**
   * BullMQ ignores an added job whose id it still knows, so the remains of a lost job are removed first. `remove` takes the whole job:
   * another feeder may have added it again while this process was suspended.
   */
  async #returnWithoutJob(nowMs: number): Promise<void> {
    const { returnWithoutJob, queue, log } = this.#options
    this.#returnedMs = nowMs
    const missing = await returnWithoutJob(this.#window.outboxIds())
    if (missing.length === 0) return
    log.warn({ count: missing.length }, `${missing.length} jobs missing in Redis; their e-mails are ready again`)
    await Promise.all(missing.map(id => queue.remove(id)))
  }

  /** The jobs in Redis, waiting and active. More would be a second queue, without the fair order of the first. */
  #windowSize(): number {
    return WINDOW_PER_CALL * this.#concurrency
  }

  #room(): number {
    return this.#windowSize() - this.#window.size
  }

  #hasRoom(): boolean {
    const minFree = this.#windowSize() * MIN_FREE_SHARE
    return this.#room() >= 1 && (this.#room() >= minFree || this.#window.size === 0)
  }

  /**
   * Jobs that may be in progress at once; one company alone may have four fifths of them: those for calls, and those that are in
   * Postgres before and after a call. At a provider that hangs the latter are none, and a company whose recipients hang cannot take
   * all calls.
   */
  #maxInProgress(): number {
    return (
      Math.ceil(this.#concurrency * IN_PROGRESS_PER_CALL) +
      jobsOutsideCalls(this.#concurrency, this.#throughput.perMs())
    )
  }

  #onJobEnded(): void {
    this.#throughput.count()
    this.#allowClaim()
  }

  #allowClaim(): void {
    this.#noClaimBeforeMs = 0
  }

  /** Answers how long to sleep. */
  async #fill(size: number): Promise<number> {
    const { claim, idleMs } = this.#options
    const { allowances, defaultAllowance } = this.#window.allowances(this.#maxInProgress())
    // Lost when the claim fails: returnWithoutJob ends them then.
    const endedLeases = this.#window.takeFullyAskedDispatches()
    const dispatch = await claim({ size, endedLeases, allowances, defaultAllowance })
    if (dispatch.claimed.length > 0) {
      await this.#add(dispatch)
      return 0
    }
    if ([...allowances.values()].every(room => room > 0)) return idleMs
    if (!this.#options.ready.woken) this.#noClaimBeforeMs = performance.now() + idleMs
    return NO_ROOM_POLL_MS
  }

  async #add(dispatch: Dispatch): Promise<void> {
    const { queue, returnClaim, returnLater } = this.#options
    // Returned to ready by a worker whose job has not ended yet. BullMQ would ignore a second job of that id.
    const stillQueued = new Set(dispatch.claimed.map(one => one.outboxId).filter(id => this.#window.has(id)))
    const claimed = dispatch.claimed.filter(one => !stillQueued.has(one.outboxId))
    this.#window.add(dispatch.leaseId, claimed)
    try {
      if (stillQueued.size > 0) await returnLater([...stillQueued])
      const jobs = (await dispatch.jobs()).filter(job => !stillQueued.has(job.outboxId))
      if (jobs.length > 0) await queue.addBulk(jobs.map(jobOf))
    } catch (error) {
      await returnClaim(dispatch).catch(() => {})
      throw error
    }
  }
}

function jobOf(data: SlimJobData) {
  return { name: JOB_NAME, data, opts: { ...SLIM_JOB_OPTIONS, jobId: data.outboxId } }
}

export type FeederElectionOptions = {
  /** Answers whether this process is the feeder for the next `electedMs`. */
  elect: () => Promise<boolean>
  electedMs: number
  resign: () => Promise<void>
}

/** Whether this process is the feeder. Renewed well before the time is over. */
export class FeederElection {
  readonly #options: FeederElectionOptions
  #askedMs = Number.NEGATIVE_INFINITY
  /** Measured here, so that a process that was suspended knows that its time is over. */
  #electedUntilMs = 0

  constructor(options: FeederElectionOptions) {
    this.#options = options
  }

  async isFeeder(onElected: () => void): Promise<boolean> {
    const { electedMs, elect } = this.#options
    const nowMs = performance.now()
    if (nowMs - this.#askedMs < electedMs / 4) return nowMs < this.#electedUntilMs
    this.#askedMs = nowMs
    const elected = await elect()
    if (elected && nowMs > this.#electedUntilMs) onElected()
    this.#electedUntilMs = elected ? nowMs + electedMs : 0
    return elected
  }

  async resign(): Promise<void> {
    if (performance.now() < this.#electedUntilMs) await this.#options.resign().catch(() => {})
  }
}

/** A job that has been in the queue for longer is one that its recipient, or the send rate, keeps waiting. */
const LONG_QUEUED_MS = 1_000

export type QueueWindowOptions = {
  queue: Pick<Queue, 'getRanges'>
  companiesOf: (outboxIds: string[]) => Promise<Map<string, string>>
  /** A job is gone from the queue. */
  onJobEnded: () => void
}

/** The lease under which the feeder added jobs together; `notYetAsked`: of how many of them no worker of this process has asked Postgres yet. */
type DispatchLease = { leaseId: string; notYetAsked: number }

/**
 * `companyId` is null for a job that is not one of ours: a worker drops it, and until then it takes up room. `dispatch` is null when
 * a worker of this process has asked for its lease, or another feeder added the job.
 */
type QueuedJob = { companyId: string | null; sinceMs: number; dispatch: DispatchLease | null }

/** The queue window: the small set of jobs that is kept in Redis. What this process adds and takes is counted here, the rest is read. */
export class QueueWindow {
  readonly #options: QueueWindowOptions
  readonly #jobs = new Map<string, QueuedJob>()
  /** Jobs that this process ended while Redis was being read; null: it is not. */
  #endedDuringRead: Set<string> | null = null
  #fullyAskedDispatches: string[] = []
  #readMs = Number.NEGATIVE_INFINITY

  constructor(options: QueueWindowOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#jobs.size
  }

  /** When Redis was last asked what is there. */
  get readMs(): number {
    return this.#readMs
  }

  has(outboxId: string): boolean {
    return this.#jobs.has(outboxId)
  }

  outboxIds(): string[] {
    return [...this.#jobs.keys()].filter(isUuid)
  }

  clear(): void {
    this.#jobs.clear()
    this.#readMs = Number.NEGATIVE_INFINITY
  }

  add(leaseId: string, jobs: { outboxId: string; companyId: string }[]): void {
    const dispatch = { leaseId, notYetAsked: jobs.length }
    const sinceMs = performance.now()
    for (const { outboxId, companyId } of jobs) this.#jobs.set(outboxId, { companyId, sinceMs, dispatch })
  }

  /** A worker of this process has asked Postgres for the e-mail of that job. */
  askedForLease(outboxId: string): void {
    const job = this.#jobs.get(outboxId)
    if (!job?.dispatch) return
    if (--job.dispatch.notYetAsked === 0) this.#fullyAskedDispatches.push(job.dispatch.leaseId)
    job.dispatch = null
  }

  /** Leases of the feeder whose e-mails workers have all asked for. The next claim ends them, so that returnWithoutJob need not check them. */
  takeFullyAskedDispatches(): string[] {
    return this.#fullyAskedDispatches.splice(0)
  }

  /** A worker of this process has ended that job. */
  jobEnded(jobId: string): void {
    this.#endedDuringRead?.add(jobId)
    if (this.#jobs.delete(jobId)) this.#options.onJobEnded()
  }

  /** Drops jobs that are gone from Redis, and adds those that another feeder or another program put there. */
  async read(): Promise<void> {
    const found = await this.#readJobIds()
    for (const jobId of [...this.#jobs.keys()].filter(id => !found.has(id))) {
      this.#jobs.delete(jobId)
      this.#options.onJobEnded()
    }
    const unknown = [...found].filter(id => !this.#jobs.has(id))
    if (unknown.length > 0) await this.#addUnknown(unknown)
    this.#readMs = performance.now()
  }

  /** Leaves out the jobs that this process ended during the read: Redis may have answered before they were removed. */
  async #readJobIds(): Promise<Set<string>> {
    const ended = new Set<string>()
    this.#endedDuringRead = ended
    try {
      const found = await this.#options.queue.getRanges(['wait', 'active'], 0, -1)
      return new Set(found.filter(id => !ended.has(id)))
    } finally {
      this.#endedDuringRead = null
    }
  }

  async #addUnknown(jobIds: string[]): Promise<void> {
    const companies = await this.#options.companiesOf(jobIds.filter(isUuid))
    const sinceMs = performance.now()
    for (const id of jobIds) this.#jobs.set(id, { companyId: companies.get(id) ?? null, sinceMs, dispatch: null })
  }

  /**
   * How many more e-mails may be added: of companies that have some in the window, and of any other company. Jobs of others that came
   * a moment ago are served in turn, so they take nothing away; what stays for long does.
   */
  allowances(maxInProgress: number): { allowances: Map<string, number>; defaultAllowance: number } {
    const { byCompany, longQueued } = this.#count()
    const allowances = new Map<string, number>()
    for (const [companyId, jobs] of byCompany) {
      const free = maxInProgress - longQueued - jobs.recent
      allowances.set(companyId, inFlightAllowance({ own: jobs.longQueued + jobs.recent, free }))
    }
    return { allowances, defaultAllowance: inFlightAllowance({ own: 0, free: maxInProgress - longQueued }) }
  }

  #count() {
    const longQueuedSinceMs = performance.now() - LONG_QUEUED_MS
    const byCompany = new Map<string, { longQueued: number; recent: number }>()
    let longQueued = 0
    for (const { companyId, sinceMs } of this.#jobs.values()) {
      if (!companyId) continue
      const jobs = byCompany.get(companyId) ?? { longQueued: 0, recent: 0 }
      if (sinceMs < longQueuedSinceMs) {
        jobs.longQueued++
        longQueued++
      } else jobs.recent++
      byCompany.set(companyId, jobs)
    }
    return { byCompany, longQueued }
  }
}
