import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { inFlightAllowance } from '../contracts/fairness.ts'
import { isUuid } from '../contracts/uuid.ts'

export type WindowOptions = {
  queue: Pick<Queue, 'toKey'>
  redis: Redis
  companiesOf: (outboxIds: string[]) => Promise<Map<string, string>>
  /** A job is gone from the queue. */
  onLeave: () => void
}

/** A job that is there for longer than this belongs to a slow recipient. */
const SLOW_MS = 1_000

/** Jobs that were put on the queue together, under one lease; `open`: those that no worker of this process has received. */
type Dispatched = { leaseId: string; open: number }

/**
 * Without a company: a job that is not one of ours. A worker drops it; until then it takes its place in the window.
 * `look`: the last one that found it there. Without a dispatch: it is received, or another feeder put it there.
 */
type QueuedJob = { companyId: string | null; sinceMs: number; look: number; dispatch: Dispatched | null }

/** What is on the queue, waiting or in a worker's hands, and on its way there. */
export class QueueWindow {
  readonly #options: WindowOptions
  readonly #jobs = new Map<string, QueuedJob>()
  #onTheWay: string[] = []
  #delivered: string[] = []
  readonly #leftMeanwhile = new Set<string>()
  #look = 0
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(options: WindowOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#jobs.size
  }

  get lookedMs(): number {
    return this.#lookedMs
  }

  ids(): string[] {
    return [...this.#jobs.keys()].filter(isUuid)
  }

  forget(): void {
    this.#jobs.clear()
    this.#lookedMs = Number.NEGATIVE_INFINITY
  }

  /** These are being put on the queue, until `arrived`. */
  put(leaseId: string, jobs: { outboxId: string; companyId: string }[]): void {
    const sinceMs = performance.now()
    const dispatch = { leaseId, open: jobs.length }
    this.#onTheWay = jobs.map(job => job.outboxId)
    for (const { outboxId, companyId } of jobs)
      this.#jobs.set(outboxId, { companyId, sinceMs, look: this.#look, dispatch })
  }

  /** A worker of this process has it in hand, under a lease of its own, or was told that it is not to be sent. */
  received(outboxId: string): void {
    const job = this.#jobs.get(outboxId)
    if (!job?.dispatch) return
    if (--job.dispatch.open === 0) this.#delivered.push(job.dispatch.leaseId)
    job.dispatch = null
  }

  /** The leases of dispatches of which nothing is open: ended by the next claim, they need not be looked through. */
  takeDelivered(): string[] {
    return this.#delivered.splice(0)
  }

  arrived(): void {
    this.#onTheWay = []
  }

  /** A worker of this process is done with it: one place that need not be looked for. */
  left(jobId: string): void {
    if (!this.#jobs.delete(jobId)) return
    this.#leftMeanwhile.add(jobId)
    this.#options.onLeave()
  }

  /**
   * Forgets what has left, and learns of what another feeder put there. Waiting first: a job that moves on between the two
   * readings is seen. What leaves before the answer is here is in it, and gone all the same.
   */
  async look(): Promise<void> {
    const { queue, redis } = this.#options
    this.#leftMeanwhile.clear()
    const replies = await redis.multi().lrange(queue.toKey('wait'), 0, -1).lrange(queue.toKey('active'), 0, -1).exec()
    const look = ++this.#look
    const strangers: string[] = []
    for (const id of this.#onTheWay) this.#saw(id, look)
    for (const [error, list] of replies ?? []) {
      if (error) throw error
      for (const id of list as string[]) if (!this.#saw(id, look) && !this.#leftMeanwhile.has(id)) strangers.push(id)
    }
    for (const [id, job] of this.#jobs) {
      if (job.look === look) continue
      this.#jobs.delete(id)
      this.#options.onLeave()
    }
    if (strangers.length > 0) await this.#learn(strangers, look)
    this.#lookedMs = performance.now()
  }

  #saw(id: string, look: number): boolean {
    const job = this.#jobs.get(id)
    if (job) job.look = look
    return job !== undefined
  }

  async #learn(strangers: string[], look: number): Promise<void> {
    const companies = await this.#options.companiesOf(strangers.filter(isUuid))
    const sinceMs = performance.now()
    for (const id of strangers)
      this.#jobs.set(id, { companyId: companies.get(id) ?? null, sinceMs, look, dispatch: null })
  }

  /** How many more may come: of companies that have some here, and of any other. */
  allowances(hands: number): { left: Map<string, number>; most: number } {
    const nowMs = performance.now()
    const own = new Map<string, { slow: number; fresh: number }>()
    let slow = 0
    for (const { companyId, sinceMs } of this.#jobs.values()) {
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
      left.set(companyId, inFlightAllowance({ own: counts.slow + counts.fresh, free: hands - slow - counts.fresh }))
    }
    return { left, most: inFlightAllowance({ own: 0, free: hands - slow }) }
  }
}
