import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { EMAIL_JOB_CONFIG, type SlimJobData } from '../contracts/job.ts'
import { QueueWindow } from './window.ts'

/** What was claimed for the queue, under one lease of its own, and what its jobs say. */
export type Dispatch = {
  leaseId: string
  claimed: { outboxId: string; companyId: string }[]
  jobs: () => Promise<SlimJobData[]>
}

export type FeederOptions = {
  queue: Pick<Queue, 'toKey' | 'addBulk'>
  redis: Redis
  /** Answers whether this process is the feeder for the next `electedMs`. */
  elect: () => Promise<boolean>
  electedMs: number
  resign: () => Promise<void>
  /** Hands there are, over all machines. */
  concurrency: () => Promise<number>
  /** The next in the fair order, marked as dispatched. */
  claim: (limits: { size: number; left: Map<string, number>; most: number }) => Promise<Dispatch>
  /** These were not put on the queue after all. */
  takeBack: (dispatch: Dispatch) => Promise<void>
  /** E-mails whose job is gone go back into the line. */
  returnUndelivered: (queued: string[]) => Promise<string[]>
  companiesOf: (outboxIds: string[]) => Promise<Map<string, string>>
  mayClaim: () => number
  idleMs: number
  log: Logger
}

/** Jobs in a worker's hands for each that may be calling: the others are being read, and their starts written. */
export const JOBS_PER_HAND = 1.5
/**
 * The window: jobs waiting and in hand, for each in hand. Where none waits, a worker fetches each by itself, which costs a half
 * more; a larger one would only be a second, unfair queue.
 */
const WINDOW_TIMES = 2
const RETURN_EVERY_MS = 1_000
const COUNT_HANDS_EVERY_MS = 2_000
/** How soon a full window is looked at again. */
const FULL_MS = 4
/** And one that has room as far as this process can tell, whose workers say what has left. */
const LOOK_EVERY_MS = 50
/** Free places that are worth a claim: half as many as hands. A quarter made half as many claims again, and ran dry as often. */
const WORTH_A_CLAIM = 1 / 2

/** Keeps a small window of the fair order on the queue. One process does at a time; whichever it is. */
export class Feeder {
  readonly #options: FeederOptions
  readonly #window: QueueWindow
  #stopping = false
  #nudged = false
  #wake: (() => void) | null = null
  #loop: Promise<void> | null = null
  #electedUntilMs = 0
  #triedMs = 0
  #returnedMs = 0
  #countedMs = 0
  #hands = 0
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

  nudge(): void {
    this.#nudged = true
    this.#cappedMs = Number.NEGATIVE_INFINITY
    this.#wake?.()
  }

  /** A worker of this process is done with that job. */
  left(jobId: string): void {
    this.#window.left(jobId)
  }

  #onLeave(): void {
    this.#cappedMs = Number.NEGATIVE_INFINITY
    if (!this.#full || !this.#hasRoom()) return
    this.#full = false
    // Jobs leave in crowds: the others of this turn make room, too.
    setImmediate(() => this.#wake?.())
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.nudge()
    await this.#loop
    await this.#adding
    if (this.#electedUntilMs > performance.now()) await this.#options.resign().catch(() => {})
  }

  async #run(): Promise<void> {
    let troubled = false
    while (!this.#stopping) {
      this.#nudged = false
      try {
        const sleepMs = (await this.#isElected()) ? await this.#feed() : this.#options.idleMs
        troubled = false
        await this.#sleep(sleepMs)
      } catch (error) {
        if (!troubled) this.#options.log.error({ err: error }, 'Could not fill the queue; mail waits in Postgres')
        troubled = true
        this.#nudged = false
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
    if (mayReturn || this.#isCapped() || !this.#hasRoom() || nowMs - this.#window.lookedMs > LOOK_EVERY_MS)
      await this.#window.look()
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

  #room(): number {
    return Math.ceil(WINDOW_TIMES * JOBS_PER_HAND * this.#hands) - this.#window.size
  }

  #hasRoom(): boolean {
    const room = this.#room()
    return room >= 1 && (room >= this.#hands * WORTH_A_CLAIM || this.#window.size === 0)
  }

  /** What is left of a job that is in no list is removed: BullMQ would not add another of the same name. */
  async #returnUndelivered(nowMs: number): Promise<void> {
    const { returnUndelivered, redis, queue, log } = this.#options
    this.#returnedMs = nowMs
    const gone = await returnUndelivered(this.#window.ids())
    if (gone.length === 0) return
    log.warn({ count: gone.length }, 'Jobs were gone from the queue; their e-mails are back in line')
    await redis.del(gone.map(id => queue.toKey(id)))
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
    // As on the direct lane, a few more than can call at once: two hands are not one for each company.
    const { left, most } = this.#window.allowances(this.#hands + Math.ceil(this.#hands / 10))
    const batch = await this.#options.claim({ size, left, most })
    await this.#adding
    const failed = this.#addingFailed
    this.#addingFailed = null
    if (batch.claimed.length > 0) this.#adding = this.#add(batch)
    if (failed) throw failed
    if (batch.claimed.length > 0) return 0
    if ([...left.values()].every(room => room > 0)) return this.#options.idleMs
    if (!this.#nudged) this.#cappedMs = performance.now()
    return FULL_MS
  }

  async #add(batch: Dispatch): Promise<void> {
    const opts = { attempts: 1, removeOnComplete: true, removeOnFail: true }
    this.#window.put(batch.claimed)
    try {
      const jobs = await batch.jobs()
      await this.#options.queue.addBulk(
        jobs.map(data => ({ name: EMAIL_JOB_CONFIG.QUEUE_NAME, data, opts: { ...opts, jobId: data.outboxId } })),
      )
    } catch (error) {
      this.#addingFailed = error
      await this.#options.takeBack(batch).catch(() => {})
    } finally {
      this.#window.arrived()
    }
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#nudged || this.#stopping || ms === 0) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(done, ms)
      const feeder = this
      function done() {
        clearTimeout(timer)
        feeder.#wake = null
        resolve()
      }
      this.#wake = ms > FULL_MS || this.#full ? done : null
    })
  }
}
