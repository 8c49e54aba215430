import type { Logger } from 'pino'

export type Batch<Item> = { items: Item[]; end: () => Promise<void>; renew: () => Promise<void> }

export type DirectLaneOptions<Item> = {
  /** Takes up to `size` under one lease; an empty batch means there is nothing to do. */
  claim: (size: number) => Promise<Batch<Item>>
  work: (item: Item) => Promise<void>
  concurrency: number
  renewEveryMs: number
  /** How long to sleep when there is nothing to do and nobody calls. */
  idleMs: number
  log: Logger
}

/** Claimed work runs in this process. The lane decides nothing about order, retries or state. */
export class DirectLane<Item> {
  readonly #options: DirectLaneOptions<Item>
  #free: number
  #stopping = false
  #wake: (() => void) | null = null
  #nudged = false
  #loop: Promise<void> | null = null
  readonly #underWay = new Set<Promise<void>>()

  constructor(options: DirectLaneOptions<Item>) {
    this.#options = options
    this.#free = options.concurrency
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Something may be ready. */
  nudge(): void {
    this.#nudged = true
    this.#wake?.()
  }

  /** Stops claiming and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.nudge()
    await this.#loop
    await Promise.allSettled(this.#underWay)
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const claimed = this.#free > 0 ? await this.#claim() : 0
      if (claimed === 0) await this.#sleep()
    }
  }

  async #claim(): Promise<number> {
    this.#nudged = false
    try {
      const batch = await this.#options.claim(this.#free)
      if (batch.items.length > 0) this.#track(this.#runBatch(batch))
      return batch.items.length
    } catch (error) {
      this.#options.log.error({ err: error }, 'Could not claim e-mails; trying again')
      return 0
    }
  }

  #track(batch: Promise<void>): void {
    this.#underWay.add(batch)
    void batch.finally(() => this.#underWay.delete(batch))
  }

  async #runBatch(batch: Batch<Item>): Promise<void> {
    this.#free -= batch.items.length
    const renewal = setInterval(() => void batch.renew().catch(() => {}), this.#options.renewEveryMs)
    const done = await Promise.all(batch.items.map(item => this.#runItem(item)))
    clearInterval(renewal)
    // Something was left unsettled: the lease is what brings it back, so it must run out by itself.
    if (done.includes(false)) return
    await batch.end().catch(error => this.#options.log.warn({ err: error }, 'Could not end a lease; it will expire'))
  }

  /** Answers whether the item was settled, whichever way. */
  async #runItem(item: Item): Promise<boolean> {
    try {
      await this.#options.work(item)
      return true
    } catch (error) {
      this.#options.log.error({ err: error }, 'An attempt broke off; its lease will return the e-mail')
      return false
    } finally {
      this.#free++
      this.#wake?.()
    }
  }

  #sleep(): Promise<void> {
    if (this.#nudged && this.#free > 0) return Promise.resolve()
    return new Promise(resolve => {
      const timer = setTimeout(done, this.#options.idleMs)
      const lane = this
      function done() {
        clearTimeout(timer)
        lane.#wake = null
        resolve()
      }
      this.#wake = done
    })
  }
}
