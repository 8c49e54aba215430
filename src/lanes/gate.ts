/** Lets so many in at once, in the order they came. Closed, it lets nobody in and tells those who wait. */
export class Gate {
  #free: number
  #closed = false
  readonly #waiting: ((entered: boolean) => void)[] = []
  readonly #sleepers = new Set<() => void>()

  constructor(slots: number) {
    this.#free = slots
  }

  get closed(): boolean {
    return this.#closed
  }

  /** false: closed, and nothing was entered. */
  enter(): Promise<boolean> | boolean {
    if (this.#closed) return false
    if (this.#free > 0) {
      this.#free--
      return true
    }
    return new Promise(resolve => void this.#waiting.push(resolve))
  }

  leave(): void {
    const next = this.#waiting.shift()
    if (next) next(true)
    else this.#free++
  }

  /** So long, or until it is closed. */
  sleep(ms: number): Promise<void> {
    if (this.#closed) return Promise.resolve()
    return new Promise(resolve => {
      const wake = () => {
        clearTimeout(timer)
        this.#sleepers.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#sleepers.add(wake)
    })
  }

  close(): void {
    this.#closed = true
    for (const wake of this.#sleepers) wake()
    for (const turnAway of this.#waiting.splice(0)) turnAway(false)
  }
}
