export type FairSlotsOptions = {
  /** In use at once, by all. */
  total: number
  /** In use at once, by one key. A single holder may always have what it asks for, up to all of it. */
  perKey: number
  /** How many may wait for one key. */
  waitingPerKey: number
}

export type Release = () => void
type Waiter = { weight: number; admit: () => void }
type Holder = { used: number; waiting: Waiter[] }

/** A weighted semaphore that is fair between keys: those that hold nothing first, and each key in turn. */
export class FairSlots {
  readonly #options: FairSlotsOptions
  #free: number
  /** In the order of their turns. */
  readonly #holders = new Map<string, Holder>()

  constructor(options: FairSlotsOptions) {
    this.#options = options
    this.#free = options.total
  }

  /** Null: too many wait for this key already, or its turn did not come in time. */
  acquire(key: string, weight = 1, patienceMs = Number.POSITIVE_INFINITY): Promise<Release | null> {
    const holder = this.#holders.get(key) ?? { used: 0, waiting: [] }
    if (holder.waiting.length >= this.#options.waitingPerKey) return Promise.resolve(null)
    this.#holders.set(key, holder)
    return new Promise(resolve => {
      const amount = Math.min(weight, this.#options.total)
      const waiter = {
        weight: amount,
        admit: () => {
          clearTimeout(timer)
          resolve(this.#release(key, amount))
        },
      }
      const timer = Number.isFinite(patienceMs)
        ? setTimeout(() => {
            holder.waiting.splice(holder.waiting.indexOf(waiter), 1)
            this.#forget(key)
            this.#admit()
            resolve(null)
          }, patienceMs)
        : undefined
      holder.waiting.push(waiter)
      this.#admit()
    })
  }

  #admit(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const [key, holder] = next
      const waiter = holder.waiting[0]!
      // Its turn, but not enough is free: those after it wait as well, or a large one would never get in.
      if (waiter.weight > this.#free) return
      holder.waiting.shift()
      holder.used += waiter.weight
      this.#free -= waiter.weight
      this.#holders.delete(key)
      this.#holders.set(key, holder)
      waiter.admit()
    }
  }

  /** Whose turn it is. One that holds something lets those go first that hold nothing; one that has its share is passed over. */
  #next(): [string, Holder] | undefined {
    let next: [string, Holder] | undefined
    for (const entry of this.#holders) {
      const [, { used, waiting }] = entry
      const [first] = waiting
      if (!first) continue
      if (used === 0) return entry
      if (used + first.weight <= this.#options.perKey) next ??= entry
    }
    return next
  }

  #release(key: string, weight: number): Release {
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#free += weight
      const holder = this.#holders.get(key)
      if (holder) holder.used -= weight
      this.#forget(key)
      this.#admit()
    }
  }

  #forget(key: string): void {
    const holder = this.#holders.get(key)
    if (holder && holder.used === 0 && holder.waiting.length === 0) this.#holders.delete(key)
  }
}
