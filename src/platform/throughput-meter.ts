const WINDOW_MS = 250
const LOOK_MS = 50
const FIRST_LOOK_MS = 10
/** Fewer than so many in a short time say nothing about the throughput. */
const MIN_SAMPLES = 16

/** How many items finish per millisecond: a moving average over a quarter of a second, or since work began, if that is shorter. */
export class ThroughputMeter {
  #perMs = 0
  #count = 0
  #since = performance.now()
  #began = Number.NEGATIVE_INFINITY
  #lastFound = Number.NEGATIVE_INFINITY

  /** Called when work begins after there was none: after a pause, the old average says nothing. */
  begin(): void {
    const now = performance.now()
    if (now - (this.#count > 0 ? this.#since : this.#lastFound) < WINDOW_MS) return
    this.#began = now
    this.#since = now
    this.#count = 0
    this.#perMs = 0
  }

  count(): void {
    this.#count++
  }

  perMs(): number {
    const now = performance.now()
    const elapsed = now - this.#since
    const age = now - this.#began
    const isNew = age < WINDOW_MS && this.#count >= MIN_SAMPLES
    if (elapsed < (isNew ? FIRST_LOOK_MS : LOOK_MS)) return this.#perMs
    const weight = Math.min(1, elapsed / (isNew ? age : WINDOW_MS))
    this.#perMs = this.#perMs * (1 - weight) + (this.#count / elapsed) * weight
    if (this.#count > 0) this.#lastFound = now
    this.#count = 0
    this.#since = now
    return this.#perMs
  }
}
