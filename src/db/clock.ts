import { createUuidv7 } from '../contracts/uuid.ts'

const MEASURE_EVERY_MS = 60_000
/** The clock of this machine was set, or the machine slept: what was measured before may be wrong. */
const JUMP_MS = 2_000
/** Ids never decrease, so a time that goes back is waited for; after a larger step they begin anew. */
const STEP_BACK_MS = 5_000

/**
 * The database's time, known without asking each time: its distance from our own monotonic clock, measured at the start and once
 * a minute. Ids carry a time that decides about the partition of an e-mail, and partitions are made by the database's day:
 * the clock of an API machine may be days off.
 */
export class DatabaseClock {
  readonly #ask: () => Promise<number>
  #aheadMs: number
  #measuredMs = Number.NEGATIVE_INFINITY
  #wallAheadMs = 0
  #measuring: Promise<void> | null = null
  #nextId = createUuidv7()

  /** `ask`: milliseconds since 1970 by the database's clock. */
  constructor(ask: () => Promise<number>) {
    this.#ask = ask
    // Until it is measured, our own clock has to do.
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

  /** A UUID version 7 of the database's time. */
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
    // Also when it fails: an unreachable database is not asked by every request.
    this.#measuredMs = performance.now()
    this.#wallAheadMs = wallAheadMs()
    const askedMs = performance.now()
    const databaseMs = await this.#ask()
    const aheadMs = databaseMs - (askedMs + performance.now()) / 2
    if (aheadMs < this.#aheadMs - STEP_BACK_MS) this.#nextId = createUuidv7()
    this.#aheadMs = aheadMs
  }
}

const wallAheadMs = () => Date.now() - performance.now()
