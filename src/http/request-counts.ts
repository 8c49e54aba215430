import type { Logger } from 'pino'
import type { SendRequests } from '../db/companies/send-requests.ts'

const FLUSH_MS = 1_000

/**
 * Counts requested and suppressed e-mails per company, for the suppression hit rate. Summed in memory and written once a second, so that
 * accepting an e-mail costs no extra write; a crash loses at most one second of counts. A failed write is added to the next one.
 */
export class RequestCounts {
  #counts = new Map<string, SendRequests>()
  #timer: NodeJS.Timeout
  #writing: Promise<void> | null = null
  readonly #write: (counts: SendRequests[]) => Promise<void>
  readonly #log: Logger

  constructor(write: (counts: SendRequests[]) => Promise<void>, log: Logger) {
    this.#write = write
    this.#log = log
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS).unref()
  }

  count(companyId: string, requests: number, suppressed: number): void {
    const counts = this.#counts.get(companyId)
    if (counts) {
      counts.requests += requests
      counts.suppressed += suppressed
    } else this.#counts.set(companyId, { companyId, requests, suppressed })
  }

  /** One write at a time: counts of a failed write are added back, and must not be written twice. */
  flush(): Promise<void> {
    this.#writing ??= this.#flushOnce().finally(() => {
      this.#writing = null
    })
    return this.#writing
  }

  async #flushOnce(): Promise<void> {
    if (this.#counts.size === 0) return
    const counts = [...this.#counts.values()]
    this.#counts = new Map()
    try {
      await this.#write(counts)
    } catch (error) {
      this.#log.debug({ err: error }, 'Could not write the request counts; they are added to the next write')
      for (const { companyId, requests, suppressed } of counts) this.count(companyId, requests, suppressed)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.flush()
  }
}
