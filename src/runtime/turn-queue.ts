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
