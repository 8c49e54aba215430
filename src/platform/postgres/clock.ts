import { createUuidv7 } from '../text/uuid.ts'

const MEASURE_EVERY_MS = 60_000
/** A larger jump means that the clock of this machine was set or the machine slept: measure again. */
const JUMP_MS = 2_000
/** Ids never decrease: after a smaller step back they keep the last time until it is reached again. After a larger one they restart. */
const STEP_BACK_MS = 5_000

/**
 * The database's time without a query per call: its offset from our monotonic clock is measured at the start and once a minute.
 * The time in an id decides which partition an e-mail goes to, and partitions are created by the database's day, while the clock
 * of an API machine may be days off.
 */
export class DatabaseClock {
  readonly #readMs: () => Promise<number>
  #aheadMs: number
  #measuredMs = Number.NEGATIVE_INFINITY
  #wallAheadMs = 0
  #measuring: Promise<void> | null = null
  #nextId = createUuidv7()

  /** `readMs`: milliseconds since 1970 by the database's clock. */
  constructor(readMs: () => Promise<number>) {
    this.#readMs = readMs
    // Used until the first measurement.
    this.#aheadMs = wallAheadMs()
  }

  nowMs(): number {
    const monotonicMs = performance.now()
    const isOld = monotonicMs - this.#measuredMs > MEASURE_EVERY_MS
    if (isOld || Math.abs(wallAheadMs() - this.#wallAheadMs) > JUMP_MS) this.measure().catch(() => {})
    return monotonicMs + this.#aheadMs
  }

  now(): Date {
    return new Date(this.nowMs())
  }

  /** A UUID version 7 with the database's time. */
  newId(): string {
    return this.#nextId(this.nowMs())
  }

  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = null
    })
    return this.#measuring
  }

  async #measure(): Promise<void> {
    // Set even if the query fails: not every request should query an unreachable database.
    this.#measuredMs = performance.now()
    this.#wallAheadMs = wallAheadMs()
    const askedMs = performance.now()
    const databaseMs = await this.#readMs()
    const aheadMs = databaseMs - (askedMs + performance.now()) / 2
    if (aheadMs < this.#aheadMs - STEP_BACK_MS) this.#nextId = createUuidv7()
    this.#aheadMs = aheadMs
  }
}

const wallAheadMs = () => Date.now() - performance.now()
