/**
 * Counts in memory; the owner flushes it from time to time. Counting in the database would make all settlements of a company wait
 * for one row, and would let anybody who is refused cause a write. A process that is killed loses some seconds of counts.
 */
export class BufferedCounter {
  readonly #write: (counts: [key: string, count: number][]) => Promise<void>
  #counts = new Map<string, number>()

  constructor(write: (counts: [key: string, count: number][]) => Promise<void>) {
    this.#write = write
  }

  count(key: string, by = 1): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + by)
  }

  /** Counts that cannot be written go with the next flush. */
  async flush(): Promise<void> {
    const counts = this.#counts
    if (counts.size === 0) return
    this.#counts = new Map()
    try {
      await this.#write([...counts])
    } catch (error) {
      for (const [key, count] of counts) this.count(key, count)
      throw error
    }
  }
}
