export type FeederElectionOptions = {
  /** Answers whether this process is the feeder for the next `electedMs`. */
  elect: () => Promise<boolean>
  electedMs: number
  resign: () => Promise<void>
}

/** Whether this process is the feeder. Renewed well before the time is over. */
export class FeederElection {
  readonly #options: FeederElectionOptions
  #askedMs = Number.NEGATIVE_INFINITY
  /** Measured here, so that a process that was suspended knows that its time is over. */
  #electedUntilMs = 0

  constructor(options: FeederElectionOptions) {
    this.#options = options
  }

  async isFeeder(onElected: () => void): Promise<boolean> {
    const { electedMs, elect } = this.#options
    const nowMs = performance.now()
    if (nowMs - this.#askedMs < electedMs / 4) return nowMs < this.#electedUntilMs
    this.#askedMs = nowMs
    const elected = await elect()
    if (elected && nowMs > this.#electedUntilMs) onElected()
    this.#electedUntilMs = elected ? nowMs + electedMs : 0
    return elected
  }

  async resign(): Promise<void> {
    if (performance.now() < this.#electedUntilMs) await this.#options.resign().catch(() => {})
  }
}
