import type { Queue } from 'bullmq'
import { inFlightAllowance } from '../contracts/fairness.ts'
import { isUuid } from '../contracts/uuid.ts'

/** How long a job is being leased and settled, around its call. */
const LEASE_AND_SETTLE_MS = 40
/**
 * The most jobs that are being leased or settled for each provider call. With 4, workers were faster, and overtook each other: a
 * company was served four times in a row (`FAULT=fair-order npm run faults`).
 */
const MOST_BESIDE_A_CALL = 1

/**
 * Jobs that are being leased or settled while others are with the provider. The faster the provider answers, the more they are: of a
 * hundred calls that take a millisecond each, most jobs are in Postgres. At a provider that hangs they are none.
 */
export function jobsBesideCalls(calls: number, finishedPerMs: number): number {
  return Math.min(MOST_BESIDE_A_CALL * calls, Math.floor(finishedPerMs * LEASE_AND_SETTLE_MS))
}

/** A job that has been in the queue for longer is counted as slow: its recipient, or the send rate, keeps it waiting. */
const SLOW_MS = 1_000

export type QueueWindowOptions = {
  queue: Pick<Queue, 'getRanges'>
  companiesOf: (outboxIds: string[]) => Promise<Map<string, string>>
  /** A job is gone from the queue. */
  onJobEnded: () => void
}

/** The lease under which the feeder added jobs together; `notYetLeased`: how many of them no worker of this process has leased yet. */
type DispatchLease = { leaseId: string; notYetLeased: number }

/**
 * `companyId` is null for a job that is not one of ours: a worker drops it, and until then it takes up room. `dispatch` is null when
 * a worker of this process has leased the e-mail, or another feeder added the job.
 */
type QueuedJob = { companyId: string | null; sinceMs: number; dispatch: DispatchLease | null }

/** The queue window: the small set of jobs that is kept in Redis. What this process adds and takes is counted here, the rest is read. */
export class QueueWindow {
  readonly #options: QueueWindowOptions
  readonly #jobs = new Map<string, QueuedJob>()
  /** Jobs that this process ended while Redis was being read; null: it is not. */
  #endedDuringRead: Set<string> | null = null
  #finishedDispatches: string[] = []
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
    const dispatch = { leaseId, notYetLeased: jobs.length }
    const sinceMs = performance.now()
    for (const { outboxId, companyId } of jobs) this.#jobs.set(outboxId, { companyId, sinceMs, dispatch })
  }

  /** A worker of this process has asked Postgres for the e-mail of that job. */
  askedForLease(outboxId: string): void {
    const job = this.#jobs.get(outboxId)
    if (!job?.dispatch) return
    if (--job.dispatch.notYetLeased === 0) this.#finishedDispatches.push(job.dispatch.leaseId)
    job.dispatch = null
  }

  /** Leases of the feeder all of whose jobs were taken up. The next claim ends them, so that returnUndelivered need not check them. */
  takeFinishedDispatches(): string[] {
    return this.#finishedDispatches.splice(0)
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

  /** Less those that ended meanwhile: Redis may have answered before. */
  async #readJobIds(): Promise<Set<string>> {
    const left = new Set<string>()
    this.#endedDuringRead = left
    try {
      const found = await this.#options.queue.getRanges(['wait', 'active'], 0, -1)
      return new Set(found.filter(id => !left.has(id)))
    } finally {
      this.#endedDuringRead = null
    }
  }

  async #addUnknown(jobIds: string[]): Promise<void> {
    const companies = await this.#options.companiesOf(jobIds.filter(isUuid))
    const sinceMs = performance.now()
    for (const id of jobIds) this.#jobs.set(id, { companyId: companies.get(id) ?? null, sinceMs, dispatch: null })
  }

  /** How many more e-mails may be added: of companies that have some in the window, and of any other company. */
  allowances(maxInProgress: number): { allowances: Map<string, number>; defaultAllowance: number } {
    const { byCompany, slow } = this.#count()
    const allowances = new Map<string, number>()
    for (const [companyId, own] of byCompany) {
      const free = maxInProgress - slow - own.fresh
      allowances.set(companyId, inFlightAllowance({ own: own.slow + own.fresh, free }))
    }
    return { allowances, defaultAllowance: inFlightAllowance({ own: 0, free: maxInProgress - slow }) }
  }

  #count() {
    const slowSinceMs = performance.now() - SLOW_MS
    const byCompany = new Map<string, { slow: number; fresh: number }>()
    let slow = 0
    for (const { companyId, sinceMs } of this.#jobs.values()) {
      if (!companyId) continue
      const own = byCompany.get(companyId) ?? { slow: 0, fresh: 0 }
      if (sinceMs < slowSinceMs) {
        own.slow++
        slow++
      } else own.fresh++
      byCompany.set(companyId, own)
    }
    return { byCompany, slow }
  }
}
