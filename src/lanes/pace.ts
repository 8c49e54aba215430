/** How fast hands come free: a moving average over about a quarter of a second. */
export class Pace {
  #perMs = 0
  #count = 0
  #since = performance.now()

  count(): void {
    this.#count++
  }

  perMs(): number {
    const elapsed = performance.now() - this.#since
    if (elapsed < 50) return this.#perMs
    const weight = Math.min(1, elapsed / 250)
    this.#perMs = this.#perMs * (1 - weight) + (this.#count / elapsed) * weight
    this.#count = 0
    this.#since = performance.now()
    return this.#perMs
  }
}
