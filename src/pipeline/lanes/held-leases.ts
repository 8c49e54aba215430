import type { Logger } from 'pino'
import { periodically } from '../../platform/periodic-task.ts'

export type HeldLeasesOptions = {
  renew: (leaseIds: string[]) => Promise<unknown>
  end: (leaseIds: string[]) => Promise<unknown>
  /** Ends leases that may have been committed although their statement failed here; their e-mails return to ready. */
  returnUncertain: (leaseIds: string[]) => Promise<unknown>
  renewEveryMs: number
  log: Logger
}

/** A claim deletes ended leases in its own statement. When none comes in this time, another statement does. */
const END_AFTER_MS = 250
/** The same, after the statement failed that should have deleted them. */
const END_AGAIN_MS = 1_000
/** After a renewal failed: when the database is back, the leases must be renewed before others take them for those of a dead process. */
const RENEW_AGAIN_MS = 500

/** The leases of this process: renewed while there is work under them, ended when all of it is settled. */
export class HeldLeases {
  readonly #options: HeldLeasesOptions
  readonly #held = new Map<string, { items: number; mustExpire: boolean }>()
  #stopRenewing: () => Promise<void> = async () => {}
  #ended: string[] = []
  #uncertain: string[] = []
  #endTimer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(options: HeldLeasesOptions) {
    this.#options = options
  }

  start(): void {
    const { renewEveryMs, log } = this.#options
    this.#stopRenewing = periodically(
      renewEveryMs,
      () => this.#renew(),
      error => log.warn({ err: error }, 'Could not renew leases; trying again'),
      Math.min(RENEW_AGAIN_MS, renewEveryMs),
    )
  }

  /** Renews the lease until so many e-mails under it are done. */
  track(leaseId: string, items: number): void {
    this.#held.set(leaseId, { items, mustExpire: false })
  }

  /** One e-mail of that lease is done. If it is not settled, the lease must expire by itself: that returns the e-mail. */
  done(leaseId: string, settled: boolean): void {
    const lease = this.#held.get(leaseId)
    if (!lease) return
    if (!settled) lease.mustExpire = true
    if (--lease.items > 0) return
    this.#held.delete(leaseId)
    if (lease.mustExpire)
      this.#options.log.warn({ leaseId }, 'A lease is left to expire: not all e-mails under it were settled')
    else this.#end(leaseId)
  }

  /** The next claim, or the next lease of jobs, deletes it. */
  #end(leaseId: string): void {
    this.#ended.push(leaseId)
    this.#endUnlessClaimed(END_AFTER_MS)
  }

  #endUnlessClaimed(ms: number): void {
    this.#endTimer ??= setTimeout(() => {
      this.#endTimer = null
      void this.endNow()
    }, ms)
  }

  /** Ended leases, for a statement that deletes them. If it fails, `restoreEnded` them. */
  takeEnded(): string[] {
    return this.#ended.splice(0)
  }

  restoreEnded(ended: string[]): void {
    this.#ended.push(...ended)
    if (!this.#stopped) this.#endUnlessClaimed(END_AGAIN_MS)
  }

  /**
   * A lease whose statement failed: it may have been committed, and only the answer was lost. Left to expire, it would cost its
   * e-mails an attempt and the time of the lease.
   */
  returnUncertain(leaseId: string): void {
    this.#uncertain.push(leaseId)
    if (!this.#stopped) this.#endUnlessClaimed(END_AFTER_MS)
  }

  /** When no claim follows soon: a lease that is left is examined when it expires, and until then by whoever looks for lost jobs. */
  async endNow(): Promise<void> {
    const { end, returnUncertain } = this.#options
    const uncertain = this.#uncertain.splice(0)
    const ended = this.takeEnded()
    try {
      if (uncertain.length > 0) await returnUncertain(uncertain)
      if (ended.length > 0) await end(ended)
    } catch (error) {
      this.#uncertain.push(...uncertain)
      this.restoreEnded(ended)
      this.#options.log.warn({ err: error }, 'Could not end leases; trying again')
    }
  }

  async stop(): Promise<void> {
    await this.#stopRenewing()
    this.#stopped = true
    if (this.#endTimer) clearTimeout(this.#endTimer)
    await this.endNow()
  }

  async #renew(): Promise<void> {
    if (this.#held.size > 0) await this.#options.renew([...this.#held.keys()])
  }
}
