import type { Queue } from 'bullmq'
import { inFlightAllowance } from '../contracts/fairness.ts'
import { isUuid } from '../contracts/uuid.ts'

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
