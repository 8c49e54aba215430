type Waiting = { amount: number; go: () => void }

/** So much at once, in the order they came. Who asks for more than there is at all gets all of it, alone. */
export class WeightedSemaphore {
  readonly #total: number
  #free: number
  readonly #waiting: Waiting[] = []

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  /** Runs `work` while so much is set aside for it. */
  async spend<Out>(wanted: number, work: () => Promise<Out>): Promise<Out> {
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
