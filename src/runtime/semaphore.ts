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
