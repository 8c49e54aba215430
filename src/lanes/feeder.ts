import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { inHandAllowance } from '../contracts/fairness.ts'
import { EMAIL_JOB_CONFIG, type SlimJobData } from '../contracts/job.ts'
import { isUuid } from '../contracts/uuid.ts'

/** What was claimed for the queue, under one lease of its own. */
export type Dispatch = { leaseId: string; jobs: SlimJobData[] }

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
/** A job that is there for longer than this belongs to a slow recipient. */
const SLOW_MS = 1_000
const RETURN_EVERY_MS = 1_000
const COUNT_HANDS_EVERY_MS = 2_000
/** How soon a full window is looked at again. */
const FULL_MS = 4

/**
 * Without a company: a job that is not one of ours. A worker drops it; until then it takes its place in the window.
 * `look`: the last one that found it there.
 */
type Dispatched = { companyId: string | null; sinceMs: number; look: number }

/** Keeps a small window of the fair order on the queue. One process does at a time; whichever it is. */
export class Feeder {
  readonly #options: FeederOptions
  readonly #dispatched = new Map<string, Dispatched>()
  #look = 0
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
  #onTheWay: string[] = []
  /** When a claim found nothing because companies have their share in hand; forgotten when a job leaves or somebody calls. */
  #cappedMs = Number.NEGATIVE_INFINITY

  constructor(options: FeederOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  nudge(): void {
    this.#nudged = true
    this.#cappedMs = Number.NEGATIVE_INFINITY
    this.#wake?.()
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
    if (elected && nowMs > this.#electedUntilMs) this.#dispatched.clear()
    this.#electedUntilMs = elected ? nowMs + electedMs : 0
    return elected
  }

  /** Answers how long to sleep. A connection that is being made is no trouble yet. */
  async #feed(): Promise<number> {
    if (['connecting', 'connect'].includes(this.#options.redis.status)) return FULL_MS
    await this.#lookAtQueue()
    const nowMs = performance.now()
    if (nowMs - this.#returnedMs > RETURN_EVERY_MS) {
      this.#returnedMs = nowMs
      await this.#returnUndelivered()
    }
    await this.#countHands(nowMs)
    const queued = this.#dispatched.size
    const room = Math.ceil(WINDOW_TIMES * JOBS_PER_HAND * this.#hands) - queued
    if (room < 1 || (room < this.#hands / 4 && queued > 0)) return FULL_MS
    // The same claim would find nothing again, and cost a commit each time.
    if (nowMs - this.#cappedMs < this.#options.idleMs) return FULL_MS
    const allowed = this.#options.mayClaim() - queued
    // Parked providers stay so for minutes; the one that comes back calls.
    return allowed < 1 ? this.#options.idleMs : this.#fill(Math.min(room, allowed))
  }

  /** What is left of a job that is in no list is removed: BullMQ would not add another of the same name. */
  async #returnUndelivered(): Promise<void> {
    const { returnUndelivered, redis, queue, log } = this.#options
    const gone = await returnUndelivered([...this.#dispatched.keys()].filter(isUuid))
    if (gone.length === 0) return
    log.warn({ count: gone.length }, 'Jobs were gone from the queue; their e-mails are back in line')
    await redis.del(gone.map(id => queue.toKey(id)))
  }

  async #countHands(nowMs: number): Promise<void> {
    if (this.#hands > 0 && nowMs - this.#countedMs < COUNT_HANDS_EVERY_MS) return
    this.#hands = await this.#options.concurrency()
    this.#countedMs = nowMs
  }

  /**
   * Finds what is there, and what is just being put there; forgets what has left, and learns of what another feeder put there.
   * Waiting first: a job that moves on between the two readings is seen.
   */
  async #lookAtQueue(): Promise<void> {
    const { queue, redis } = this.#options
    const replies = await redis.multi().lrange(queue.toKey('wait'), 0, -1).lrange(queue.toKey('active'), 0, -1).exec()
    const look = ++this.#look
    const strangers = this.#onTheWay.filter(id => !this.#saw(id, look))
    for (const [error, list] of replies ?? []) {
      if (error) throw error
      strangers.push(...(list as string[]).filter(id => !this.#saw(id, look)))
    }
    for (const [id, job] of this.#dispatched) {
      if (job.look === look) continue
      this.#dispatched.delete(id)
      this.#cappedMs = Number.NEGATIVE_INFINITY
    }
    if (strangers.length > 0) await this.#learn(strangers, look)
  }

  #saw(id: string, look: number): boolean {
    const job = this.#dispatched.get(id)
    if (job) job.look = look
    return job !== undefined
  }

  async #learn(strangers: string[], look: number): Promise<void> {
    const companies = await this.#options.companiesOf(strangers.filter(isUuid))
    const sinceMs = performance.now()
    for (const id of strangers) this.#dispatched.set(id, { companyId: companies.get(id) ?? null, sinceMs, look })
  }

  /**
   * Answers how long to sleep. The next batch is claimed while the last one is being put on the queue, and put there after
   * it. Companies that have their share in hand may have room for more in a moment.
   */
  async #fill(size: number): Promise<number> {
    const { left, most } = this.#allowances()
    const batch = await this.#options.claim({ size, left, most })
    await this.#adding
    const failed = this.#addingFailed
    this.#addingFailed = null
    const sinceMs = performance.now()
    for (const { outboxId, companyId } of batch.jobs)
      this.#dispatched.set(outboxId, { companyId, sinceMs, look: this.#look })
    if (batch.jobs.length > 0) this.#adding = this.#add(batch)
    if (failed) throw failed
    if (batch.jobs.length > 0) return 0
    if ([...left.values()].every(room => room > 0)) return this.#options.idleMs
    if (!this.#nudged) this.#cappedMs = sinceMs
    return FULL_MS
  }

  async #add(batch: Dispatch): Promise<void> {
    const opts = { attempts: 1, removeOnComplete: true, removeOnFail: true }
    this.#onTheWay = batch.jobs.map(job => job.outboxId)
    try {
      await this.#options.queue.addBulk(
        batch.jobs.map(data => ({
          name: EMAIL_JOB_CONFIG.QUEUE_NAME,
          data,
          opts: { ...opts, jobId: data.outboxId },
        })),
      )
    } catch (error) {
      this.#addingFailed = error
      await this.#options.takeBack(batch).catch(() => {})
    } finally {
      this.#onTheWay = []
    }
  }

  #allowances(): { left: Map<string, number>; most: number } {
    const nowMs = performance.now()
    // As on the direct lane, a few more than can call at once: two hands are not one for each company.
    const hands = this.#hands + Math.ceil(this.#hands / 10)
    const own = new Map<string, { slow: number; fresh: number }>()
    let slow = 0
    for (const { companyId, sinceMs } of this.#dispatched.values()) {
      if (!companyId) continue
      const counts = own.get(companyId) ?? { slow: 0, fresh: 0 }
      if (nowMs - sinceMs > SLOW_MS) {
        counts.slow++
        slow++
      } else counts.fresh++
      own.set(companyId, counts)
    }
    const left = new Map<string, number>()
    for (const [companyId, counts] of own) {
      left.set(companyId, inHandAllowance({ own: counts.slow + counts.fresh, free: hands - slow - counts.fresh }))
    }
    return { left, most: inHandAllowance({ own: 0, free: hands - slow }) }
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
      this.#wake = ms > FULL_MS ? done : null
    })
  }
}
