export type BatcherOptions<In, Out> = {
  /** Receives the items in the order they came; returns one outcome for each, in the same order. An error is the item's own. */
  flush: (items: In[]) => Promise<(Out | Error)[]>
  maxItems: number
  /** Flushes that may be under way at once. */
  concurrency: number
  /** Size of one item, and how much one flush may carry. One item is always allowed. */
  weigh?: (item: In) => number
  maxWeight?: number
}

type Waiting<In, Out> = {
  item: In
  resolve: (outcome: Out) => void
  reject: (error: unknown) => void
}

/**
 * Lets concurrent small writes share a commit. Self-clocking: whatever came while the last flush was under way
 * goes with the next, so a lone write waits for nobody and a crowd shares one fsync. No timer to tune.
 */
export class Batcher<In, Out> {
  readonly #options: BatcherOptions<In, Out>
  #waiting: Waiting<In, Out>[] = []
  #underWay = 0
  #scheduled = false

  constructor(options: BatcherOptions<In, Out>) {
    this.#options = options
  }

  add(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#schedule()
    })
  }

  /** After the current turn of the event loop: requests that arrived in one read travel together. */
  #schedule(): void {
    if (this.#scheduled || this.#underWay >= this.#options.concurrency) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#startFlushes()
    })
  }

  #startFlushes(): void {
    while (this.#waiting.length > 0 && this.#underWay < this.#options.concurrency) void this.#flush(this.#takeBatch())
  }

  #takeBatch(): Waiting<In, Out>[] {
    const { maxItems, weigh, maxWeight } = this.#options
    let count = Math.min(maxItems, this.#waiting.length)
    if (weigh && maxWeight !== undefined) {
      let weight = weigh(this.#waiting[0]!.item)
      for (let next = 1; next < count; next++) {
        weight += weigh(this.#waiting[next]!.item)
        if (weight > maxWeight) count = next
      }
    }
    return this.#waiting.splice(0, count)
  }

  async #flush(batch: Waiting<In, Out>[]): Promise<void> {
    this.#underWay++
    try {
      const outcomes = await this.#options.flush(batch.map(waiting => waiting.item))
      if (outcomes.length !== batch.length)
        throw new Error(`flush answered ${outcomes.length} of ${batch.length} items`)
      batch.forEach((waiting, index) => void settle(waiting, outcomes[index]!))
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    } finally {
      this.#underWay--
      this.#startFlushes()
    }
  }
}

function settle<In, Out>(waiting: Waiting<In, Out>, outcome: Out | Error): void {
  if (outcome instanceof Error) waiting.reject(outcome)
  else waiting.resolve(outcome)
}
