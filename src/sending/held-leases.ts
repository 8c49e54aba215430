import type { Logger } from 'pino'

export type HeldLeasesOptions = {
  renew: (leaseIds: string[]) => Promise<unknown>
  end: (leaseIds: string[]) => Promise<unknown>
  renewEveryMs: number
  log: Logger
}

/** A lease left behind would take a later try of its e-mails for one of a lost worker. */
const LONELY_MS = 250
/** After a renewal failed. A database that is back must hear of this process before others take its leases for those of a dead one. */
const RENEW_AGAIN_MS = 500

/** The leases of this process: renewed while there is work under them, ended when all of it is settled. */
export class HeldLeases {
  readonly #options: HeldLeasesOptions
  readonly #open = new Map<string, { items: number; unsettled: boolean }>()
  #ended: string[] = []
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  #lonely: NodeJS.Timeout | null = null

  constructor(options: HeldLeasesOptions) {
    this.#options = options
    this.#renewIn(options.renewEveryMs)
  }

  #renewIn(ms: number): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => void this.#renew(), ms)
    this.#timer.unref()
  }

  hold(leaseId: string, items: number): void {
    this.#open.set(leaseId, { items, unsettled: false })
  }

  /** One item of that lease is done. Unsettled: the lease is what brings it back, so it must run out by itself. */
  done(leaseId: string, settled: boolean): void {
    const lease = this.#open.get(leaseId)
    if (!lease) return
    if (!settled) lease.unsettled = true
    if (--lease.items > 0) return
    this.#open.delete(leaseId)
    if (lease.unsettled) this.#options.log.warn({ leaseId }, 'A lease is left to run out: not all under it was settled')
    else this.#end(leaseId)
  }

  /** Left for a statement that takes it along; when none comes by soon, it is ended for its own sake. */
  #end(leaseId: string): void {
    this.#ended.push(leaseId)
    this.#lonely ??= setTimeout(() => {
      this.#lonely = null
      void this.endNow()
    }, LONELY_MS)
  }

  /** Ended leases, for a statement that takes them along. If that fails, `restoreEnded` them. */
  takeEnded(): string[] {
    return this.#ended.splice(0)
  }

  restoreEnded(ended: string[]): void {
    this.#ended.push(...ended)
  }

  /** When no statement comes by to take them along. */
  async endNow(): Promise<void> {
    const ended = this.takeEnded()
    if (ended.length === 0) return
    try {
      await this.#options.end(ended)
    } catch (error) {
      this.restoreEnded(ended)
      this.#options.log.warn({ err: error }, 'Could not end leases; trying again with the next')
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    if (this.#lonely) clearTimeout(this.#lonely)
    await this.endNow()
  }

  async #renew(): Promise<void> {
    const { renew, renewEveryMs, log } = this.#options
    let nextMs = renewEveryMs
    try {
      if (this.#open.size > 0) await renew([...this.#open.keys()])
    } catch (error) {
      log.warn({ err: error }, 'Could not renew leases; trying again')
      nextMs = Math.min(RENEW_AGAIN_MS, renewEveryMs)
    }
    this.#renewIn(nextMs)
  }
}
