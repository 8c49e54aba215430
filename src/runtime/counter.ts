/**
 * Adds up here what is written now and then. A settlement that counted would make all settlements of a company wait for one row; a
 * refusal that did would let anybody write to the database. A process that is killed loses some seconds of a figure.
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

  /** What cannot be written now goes with the next. */
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
