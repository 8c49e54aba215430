import type { JobJson } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { EMAIL_JOB_CONFIG, SLIM_JOB_OPTIONS, type SlimJobData } from '../contracts/job.ts'
import { ThroughputMeter } from '../runtime/throughput-meter.ts'
import type { WakeableSleep } from '../runtime/wakeable-sleep.ts'
import type { ClaimLimits } from './direct-lane.ts'
import { QueueWindow } from './queue-window.ts'

/** What was claimed for the queue, under one lease of its own, and what its jobs say. */
export type Dispatch = {
  leaseId: string
  claimed: { outboxId: string; companyId: string }[]
  jobs: () => Promise<SlimJobData[]>
}

/** BullMQ's queue, as far as it is needed here. `addJobs`: its `addBulk` would make a `Job` of each before, a tenth of what they cost. */
export type FedQueue = {
  toKey(type: string): string
  addJobs(jobs: { jobId: string; job: JobJson }[]): Promise<unknown>
  /** Wherever it is, unless a worker has it. */
  remove(jobId: string): Promise<unknown>
}

export type FeederOptions = {
  queue: FedQueue
  redis: Redis
  /** Answers whether this process is the feeder for the next `electedMs`. */
  elect: () => Promise<boolean>
  electedMs: number
  resign: () => Promise<void>
  /** Hands there are, over all machines. */
  concurrency: () => Promise<number>
  /** Those of this process, whose worker says what has left. */
  ownConcurrency: number
  /** The next in the fair order, marked as dispatched. */
  claim: (limits: ClaimLimits) => Promise<Dispatch>
  /** These were not put on the queue after all. */
  takeBack: (dispatch: Dispatch) => Promise<void>
  /** E-mails whose job is gone go back into the line. */
  returnUndelivered: (queued: string[]) => Promise<string[]>
  companiesOf: (outboxIds: string[]) => Promise<Map<string, string>>
  mayClaim: () => number
  /** Woken when e-mails may have become ready. */
  ready: WakeableSleep
  idleMs: number
  log: Logger
}

/**
 * Jobs in workers' hands beside those that may be calling: what leaves in this time, because so long they are being read and their
 * starts written. A fixed half as many again was too few at a fast provider and too many at a slow one, where whoever comes next
 * waits behind them.
 */
const AHEAD_MS = 40
const AHEAD_TIMES = 2
/**
 * The window: jobs waiting and in hand, for each in hand. Where none waits, a worker fetches each by itself, which costs a half
 * more; a larger one would only be a second, unfair queue.
 */
const WINDOW_TIMES = 2
const RETURN_EVERY_MS = 1_000
const COUNT_HANDS_EVERY_MS = 2_000
/** How soon a full window is asked again whether it has room. */
const FULL_MS = 4
/**
 * How often Redis is asked what is there. Where all hands are this process's own, it knows what has left, and learns so only what
 * others took away; asked whenever the window was full, it was asked three times for each batch, which was a tenth of what the lane cost.
 */
const LOOK_EVERY_MS = { alone: 200, amongOthers: 10 }
/** Free places that are worth a claim, of those in hand. Fewer made half as many claims again, and ran dry as often. */
const WORTH_A_CLAIM = 1 / 3

export function jobsInFlight(hands: number, leavePerMs: number): number {
  return hands + Math.ceil(Math.max(hands / 10, Math.min(AHEAD_TIMES * hands, leavePerMs * AHEAD_MS)))
}

/** Keeps a small window of the fair order on the queue. One process does at a time; whichever it is. */
export class Feeder {
  readonly #options: FeederOptions
  readonly #window: QueueWindow
  #stopping = false
  #loop: Promise<void> | null = null
  #electedUntilMs = 0
  #triedMs = 0
  #returnedMs = 0
  #countedMs = 0
  #hands = 0
  readonly #pace = new ThroughputMeter()
  #adding: Promise<void> = Promise.resolve()
  #addingFailed: unknown = null
  #full = false
  /** When a claim found nothing because companies have their share in hand; forgotten when a job leaves or somebody calls. */
  #cappedMs = Number.NEGATIVE_INFINITY

  constructor(options: FeederOptions) {
    this.#options = options
    this.#window = new QueueWindow({ ...options, onLeave: () => this.#onLeave() })
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  wake(): void {
    this.#options.ready.wake()
  }

  /** A worker of this process has learnt from Postgres what is to become of that e-mail. */
  received(outboxId: string): void {
    this.#window.received(outboxId)
  }

  /** A worker of this process is done with that job. */
  left(jobId: string): void {
    this.#window.left(jobId)
  }

  #onLeave(): void {
    this.#pace.count()
    this.#cappedMs = Number.NEGATIVE_INFINITY
    if (!this.#full || !this.#hasRoom()) return
    this.#full = false
    // Jobs leave in crowds: the others of this turn make room, too.
    setImmediate(() => this.#options.ready.interrupt())
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.wake()
    await this.#loop
    await this.#adding
    if (this.#electedUntilMs > performance.now()) await this.#options.resign().catch(() => {})
  }

  async #run(): Promise<void> {
    const { ready } = this.#options
    let troubled = false
    while (!this.#stopping) {
      if (ready.woken) this.#cappedMs = Number.NEGATIVE_INFINITY
      ready.clear()
      try {
        const sleepMs = (await this.#isElected()) ? await this.#feed() : this.#options.idleMs
        troubled = false
        await this.#sleep(sleepMs)
      } catch (error) {
        if (!troubled) this.#options.log.error({ err: error }, 'Could not fill the queue; mail waits in Postgres')
        troubled = true
        ready.clear()
        await this.#sleep(this.#options.idleMs)
      }
    }
  }

  /** Asks again well before the time is over. Time is measured here, so one that was stopped knows that it is over. */
  async #isElected(): Promise<boolean> {
    const nowMs = performance.now()
    const { electedMs, elect } = this.#options
    if (nowMs - this.#triedMs < electedMs / 4) return nowMs < this.#electedUntilMs
    this.#triedMs = nowMs
    const elected = await elect()
    if (elected && nowMs > this.#electedUntilMs) this.#window.forget()
    this.#electedUntilMs = elected ? nowMs + electedMs : 0
    return elected
  }

  /** Answers how long to sleep. A connection that is being made is no trouble yet. */
  async #feed(): Promise<number> {
    if (['connecting', 'connect'].includes(this.#options.redis.status)) return FULL_MS
    await this.#countHands()
    const nowMs = performance.now()
    const mayReturn = nowMs - this.#returnedMs > RETURN_EVERY_MS
    if (mayReturn || nowMs - this.#window.lookedMs > this.#lookEveryMs()) await this.#window.look()
    if (mayReturn) await this.#returnUndelivered(nowMs)
    this.#full = !this.#hasRoom()
    // Capped, the same claim would find nothing again, and cost a commit each time.
    if (this.#full || this.#isCapped()) return FULL_MS
    const allowed = this.#options.mayClaim() - this.#window.size
    // Parked providers stay so for minutes; the one that comes back calls.
    return allowed < 1 ? this.#options.idleMs : this.#fill(Math.min(this.#room(), allowed))
  }

  #isCapped(): boolean {
    return performance.now() - this.#cappedMs < this.#options.idleMs
  }

  #lookEveryMs(): number {
    return this.#hands > this.#options.ownConcurrency ? LOOK_EVERY_MS.amongOthers : LOOK_EVERY_MS.alone
  }

  #inFlight(): number {
    return jobsInFlight(this.#hands, this.#pace.perMs())
  }

  #room(): number {
    return WINDOW_TIMES * this.#inFlight() - this.#window.size
  }

  #hasRoom(): boolean {
    const room = this.#room()
    return room >= 1 && (room >= this.#inFlight() * WORTH_A_CLAIM || this.#window.size === 0)
  }

  /**
   * What is left of a job that is in no list is removed: BullMQ would not add another of the same name. Removed whole, not its data
   * alone: when this process was stopped in between, another feeder has put a new job of that name on the queue.
   */
  async #returnUndelivered(nowMs: number): Promise<void> {
    const { returnUndelivered, queue, log } = this.#options
    this.#returnedMs = nowMs
    const gone = await returnUndelivered(this.#window.ids())
    if (gone.length === 0) return
    log.warn({ count: gone.length }, 'Jobs were gone from the queue; their e-mails are back in line')
    await Promise.all(gone.map(id => queue.remove(id)))
  }

  async #countHands(): Promise<void> {
    const nowMs = performance.now()
    if (this.#hands > 0 && nowMs - this.#countedMs < COUNT_HANDS_EVERY_MS) return
    this.#hands = await this.#options.concurrency()
    this.#countedMs = nowMs
  }

  /**
   * Answers how long to sleep. The next batch is claimed while the last one is being put on the queue, and put there after
   * it. Companies that have their share in hand may have room for more in a moment.
   */
  async #fill(size: number): Promise<number> {
    const { left, most } = this.#window.allowances(this.#inFlight())
    // Lost with a claim that fails, they are found by their age.
    const batch = await this.#options.claim({ size, ended: this.#window.takeDelivered(), left, most })
    await this.#adding
    const failed = this.#addingFailed
    this.#addingFailed = null
    if (batch.claimed.length > 0) this.#adding = this.#add(batch)
    if (failed) throw failed
    if (batch.claimed.length > 0) return 0
    if ([...left.values()].every(room => room > 0)) return this.#options.idleMs
    if (!this.#options.ready.woken) this.#cappedMs = performance.now()
    return FULL_MS
  }

  async #add(batch: Dispatch): Promise<void> {
    this.#window.put(batch.leaseId, batch.claimed)
    try {
      const jobs = await batch.jobs()
      const timestamp = Date.now()
      await this.#options.queue.addJobs(jobs.map(data => ({ jobId: data.outboxId, job: jobOf(data, timestamp) })))
    } catch (error) {
      this.#addingFailed = error
      await this.#options.takeBack(batch).catch(() => {})
    } finally {
      this.#window.arrived()
    }
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#stopping || ms === 0) return
    await this.#options.ready.sleep(ms)
  }
}

function jobOf(data: SlimJobData, timestamp: number): JobJson {
  return {
    id: data.outboxId,
    name: EMAIL_JOB_CONFIG.QUEUE_NAME,
    data: JSON.stringify(data),
    opts: SLIM_JOB_OPTIONS,
    timestamp,
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: 0,
    stalledCounter: 0,
    failedReason: '',
    returnvalue: '',
  }
}
