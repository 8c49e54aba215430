import type { Logger } from 'pino'
import type { SendRequests } from '../db/companies/send-requests.ts'

const FLUSH_MS = 1_000

/**
 * How many e-mails were asked for and how many the suppression list stopped, for the hit rate. Added up here and written once a
 * second: an accept pays an addition for it, and a crash loses a second of it. While Postgres is away it goes on adding up; it
 * never holds more than a number for each company.
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
    const known = this.#counts.get(companyId)
    if (known) {
      known.requests += requests
      known.suppressed += suppressed
    } else this.#counts.set(companyId, { companyId, requests, suppressed })
  }

  /** One at a time: what could not be written is counted again, and must not be written twice. */
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
      this.#log.debug({ err: error }, 'Could not write the counts of requests; they are kept')
      for (const { companyId, requests, suppressed } of counts) this.count(companyId, requests, suppressed)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.flush()
  }
}
