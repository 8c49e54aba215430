export type BatcherOptions<In, Out> = {
  /** Receives the items in the order they were added; returns one outcome for each, in the same order. An error rejects its own item only. */
  flush: (items: In[]) => Promise<(Out | Error)[]>
  maxItems: number
  /** Flushes that may be under way at once. */
  concurrency: number
  /** Weight of one item (default 1), and the most that one flush may carry. A single item is always allowed. */
  weigh?: (item: In) => number
  maxWeight?: number
  /** A second flush starts beside the first only for so much weight: fewer, fuller flushes until there is work for two. */
  secondFlushWeight?: number
  /** Flushes may overtake each other, but outcomes are delivered in the order the items were added. */
  inOrder?: boolean
  /** For writes nobody waits for: the first one waits so long for others, or until there are enough. */
  waitForMore?: { ms: number; enough: number }
  /** Called for each flush, with how many items it has. */
  onFlush?: (items: number) => void
}

type Waiting<In, Out> = {
  item: In
  weight: number
  resolve: (outcome: Out) => void
  reject: (error: unknown) => void
}

/**
 * Lets concurrent small writes share a commit. Items that are added while a flush is under way go with the next one, so a single
 * write is not delayed, and many at once share one fsync.
 */
export class Batcher<In, Out> {
  readonly #options: BatcherOptions<In, Out>
  #waiting: Waiting<In, Out>[] = []
  #waitingWeight = 0
  #underWay = 0
  #scheduled = false
  #waitingForMore: NodeJS.Timeout | null = null
  #delivered: Promise<void> = Promise.resolve()

  constructor(options: BatcherOptions<In, Out>) {
    this.#options = options
  }

  add(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      const weight = this.#options.weigh?.(item) ?? 1
      this.#waiting.push({ item, weight, resolve, reject })
      this.#waitingWeight += weight
      this.#schedule()
    })
  }

  /** After the current turn of the event loop: requests that arrived in one read are flushed together. */
  #schedule(): void {
    if (this.#scheduled || !this.#mayFlush()) return
    const { waitForMore } = this.#options
    if (waitForMore && this.#waiting.length < waitForMore.enough) {
      this.#waitingForMore ??= setTimeout(() => this.#startFlushes(), waitForMore.ms)
      return
    }
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#startFlushes()
    })
  }

  #mayFlush(): boolean {
    if (this.#waiting.length === 0 || this.#underWay >= this.#options.concurrency) return false
    return this.#underWay === 0 || this.#waitingWeight >= (this.#options.secondFlushWeight ?? 0)
  }

  #startFlushes(): void {
    if (this.#waitingForMore) clearTimeout(this.#waitingForMore)
    this.#waitingForMore = null
    while (this.#mayFlush()) void this.#flush(this.#takeBatch())
  }

  #takeBatch(): Waiting<In, Out>[] {
    const { maxItems, maxWeight = Number.POSITIVE_INFINITY } = this.#options
    let count = 0
    let weight = 0
    for (const waiting of this.#waiting) {
      if (count === maxItems || (count > 0 && weight + waiting.weight > maxWeight)) break
      weight += waiting.weight
      count++
    }
    this.#waitingWeight -= weight
    return this.#waiting.splice(0, count)
  }

  async #flush(batch: Waiting<In, Out>[]): Promise<void> {
    this.#underWay++
    const written = this.#write(batch)
    const before = this.#delivered
    if (this.#options.inOrder) this.#delivered = written.then(() => before)
    const outcomes = await written
    if (this.#options.inOrder) await before
    batch.forEach((waiting, index) => void settle(waiting, outcomes instanceof Error ? outcomes : outcomes[index]!))
    this.#underWay--
    if (this.#options.waitForMore) this.#schedule()
    else this.#startFlushes()
  }

  async #write(batch: Waiting<In, Out>[]): Promise<(Out | Error)[] | Error> {
    try {
      this.#options.onFlush?.(batch.length)
      const outcomes = await this.#options.flush(batch.map(waiting => waiting.item))
      if (outcomes.length === batch.length) return outcomes
      return new Error(`flush answered ${outcomes.length} of ${batch.length} items`)
    } catch (error) {
      return error as Error
    }
  }
}

function settle<In, Out>(waiting: Waiting<In, Out>, outcome: Out | Error): void {
  if (outcome instanceof Error) waiting.reject(outcome)
  else waiting.resolve(outcome)
}
