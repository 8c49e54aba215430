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
