import { ThroughputMeter } from './throughput-meter.ts'

/** At most so many at once, in the order they came. Once closed, nobody enters, and those who wait get `false`. */
export class Semaphore {
  readonly #slots: number
  readonly #aheadMs: number
  readonly #throughput = new ThroughputMeter()
  #inside = 0
  #closed = false
  readonly #waiting: ((entered: boolean) => void)[] = []

  /** aheadMs: beyond `slots`, as many as leave in this time, at most three times `slots`. */
  constructor(slots: number, aheadMs = 0) {
    this.#slots = slots
    this.#aheadMs = aheadMs
  }

  /** Enters if there is room at once. */
  tryEnter(): boolean {
    if (this.#inside === 0) this.#throughput.begin()
    if (this.#closed || this.#waiting.length > 0 || this.#inside >= this.#room()) return false
    this.#inside++
    return true
  }

  /** false: closed, and nothing was entered. */
  enter(): Promise<boolean> | boolean {
    if (this.#closed) return false
    return this.tryEnter() || new Promise(resolve => void this.#waiting.push(resolve))
  }

  leave(): void {
    this.#inside--
    this.#throughput.count()
    const room = this.#room()
    while (this.#waiting.length > 0 && this.#inside < room) {
      this.#inside++
      this.#waiting.shift()!(true)
    }
  }

  #room(): number {
    if (this.#aheadMs === 0) return this.#slots
    return this.#slots + Math.min(3 * this.#slots, Math.floor(this.#throughput.perMs() * this.#aheadMs))
  }

  close(): void {
    this.#closed = true
    for (const refuse of this.#waiting.splice(0)) refuse(false)
  }
}

export type Slots = Pick<Semaphore, 'enter' | 'leave'>

/** For a semaphore that is never closed: works in one of its slots. */
export async function inSlot<T>(slots: Slots, work: () => Promise<T>): Promise<T> {
  await slots.enter()
  try {
    return await work()
  } finally {
    slots.leave()
  }
}

type Waiting = { amount: number; go: () => void }

/** At most so much at once, in the order they came. A request for more than the total gets all of it, alone. */
export class WeightedSemaphore {
  readonly #total: number
  #free: number
  readonly #waiting: Waiting[] = []

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  /** Runs `work` while it holds so much of the total. */
  async runWith<Out>(wanted: number, work: () => Promise<Out>): Promise<Out> {
    const amount = Math.min(wanted, this.#total)
    if (this.#waiting.length === 0 && amount <= this.#free) this.#free -= amount
    else await new Promise<void>(go => void this.#waiting.push({ amount, go }))
    try {
      return await work()
    } finally {
      this.#free += amount
      this.#serve()
    }
  }

  #serve(): void {
    for (let next = this.#waiting[0]; next && next.amount <= this.#free; next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#free -= next.amount
      next.go()
    }
  }
}

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

/** First in, first out per key; the keys take turns. */
export class TurnQueue<T> {
  /** In the order of their turns; none is empty. */
  readonly #byKey = new Map<string, T[]>()

  push(key: string, item: T): void {
    const own = this.#byKey.get(key)
    if (own) own.push(item)
    else this.#byKey.set(key, [item])
  }

  shift(): T | undefined {
    const next = this.#byKey.entries().next().value
    if (!next) return undefined
    const [key, own] = next
    this.#byKey.delete(key)
    if (own.length > 1) this.#byKey.set(key, own)
    return own.shift()
  }

  waiting(key: string): number {
    return this.#byKey.get(key)?.length ?? 0
  }
}
