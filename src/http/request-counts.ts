import type { Logger } from 'pino'
import type { SendRequests } from '../db/statistics.ts'
import { periodically } from '../runtime/periodic-task.ts'

const FLUSH_MS = 1_000

/**
 * Counts requested and suppressed e-mails per company, for the suppression hit rate. Summed in memory and written once a second, so that
 * accepting an e-mail costs no extra write; a crash loses at most one second of counts. A failed write is added to the next one.
 */
export class RequestCounts {
  #counts = new Map<string, SendRequests>()
  readonly #write: (counts: SendRequests[]) => Promise<void>
  readonly #log: Logger
  readonly #stopFlushing: () => Promise<void>

  constructor(write: (counts: SendRequests[]) => Promise<void>, log: Logger) {
    this.#write = write
    this.#log = log
    this.#stopFlushing = periodically(FLUSH_MS, () => this.#flush(), this.#notWritten)
  }

  count(companyId: string, requests: number, suppressed: number): void {
    const counts = this.#counts.get(companyId)
    if (counts) {
      counts.requests += requests
      counts.suppressed += suppressed
    } else this.#counts.set(companyId, { companyId, requests, suppressed })
  }

  /** Counts that could not be written are kept for the next time. */
  async #flush(): Promise<void> {
    if (this.#counts.size === 0) return
    const counts = [...this.#counts.values()]
    this.#counts = new Map()
    try {
      await this.#write(counts)
    } catch (error) {
      for (const { companyId, requests, suppressed } of counts) this.count(companyId, requests, suppressed)
      throw error
    }
  }

  #notWritten = (error: unknown) => {
    this.#log.debug({ err: error }, 'Could not write the counts of requests; they are kept')
  }

  async close(): Promise<void> {
    await this.#stopFlushing()
    await this.#flush().catch(this.#notWritten)
  }
}
