import type { Logger } from 'pino'
import type { RateHint } from '../contracts/provider-errors/rate-headers.ts'
import { pauseMs, rateAfter, SLOWDOWN_SPREADS_MS, slowerThan, withinLimit } from '../contracts/slowdown.ts'
import type { ProviderRow, SlowDown } from '../db/providers.ts'
import type { Provider, SendResult } from './provider.ts'

export type ThrottleStore = {
  slow: (change: SlowDown) => Promise<boolean>
  learnRate: (name: string, ratePerSecond: number) => Promise<void>
}

/** What is reserved further ahead than this is not waited for in hand. */
export const MAX_AHEAD_MS = 10_000
const SECOND_MS = 1_000
/** Pauses that differ by less are one. */
const SAME_PAUSE_MS = 250

type Known = {
  /** What the provider itself said that it takes. */
  learnt: number | null
  slowed: { from: number; to: number; atMs: number } | null
  slowdowns: number
  /** Up to when its rate is given away, by this process's clock. */
  freeAtMs: number
  /** When this process itself changed something, and how much of it is not yet written. */
  changedMs: number
  sharing: number
  accepted: { sinceMs: number; count: number; lastSecond: number }
}

/**
 * The send rates of the providers: what is configured or learnt, and less while a provider throttles. Slowdowns are shared by all
 * workers through Postgres; each looks there every second and shares at once what it was told itself.
 */
export class Throttles {
  readonly #known: Map<string, Known>
  readonly #baseRate: (name: string, learnt: number | null) => number | null
  readonly #store: ThrottleStore
  readonly #log: Logger

  constructor(
    names: string[],
    baseRate: (name: string, learnt: number | null) => number | null,
    store: ThrottleStore,
    log: Logger,
  ) {
    const accepted = () => ({ sinceMs: 0, count: 0, lastSecond: 0 })
    this.#known = new Map(
      names.map(name => [
        name,
        {
          learnt: null,
          slowed: null,
          slowdowns: 0,
          freeAtMs: 0,
          changedMs: Number.NEGATIVE_INFINITY,
          sharing: 0,
          accepted: accepted(),
        },
      ]),
    )
    this.#baseRate = baseRate
    this.#store = store
    this.#log = log
  }

  rateOf(name: string): number | null {
    const { learnt, slowed } = this.#known.get(name)!
    const base = this.#baseRate(name, learnt)
    const allowed = slowed && rateAfter({ ...slowed, agoMs: performance.now() - slowed.atMs })
    return allowed === null || (base !== null && base < allowed) ? base : allowed
  }

  slowdowns(name: string): number {
    return this.#known.get(name)!.slowdowns
  }

  /** Its next free place is so far away that nothing should be claimed for it. */
  isBusy(name: string): boolean {
    return this.#known.get(name)!.freeAtMs - performance.now() > MAX_AHEAD_MS
  }

  noteFree(name: string, inMs: number): void {
    this.#known.get(name)!.freeAtMs = performance.now() + inMs
  }

  /** What an answer says about the rate. */
  report({ name, learnQuota }: Provider, result: SendResult, callMs: number): void {
    const known = this.#known.get(name)
    if (!known) return
    const { retryAfterMs = null, limit = null } = result.rate ?? {}
    if (result.kind === 'sent') countAccepted(known)
    if (result.kind === 'failed' && result.failure.throttled) this.#slow(name, known, { retryAfterMs, limit }, callMs)
    if (limit !== null && !learnQuota) this.#learn(name, known, withinLimit(limit))
  }

  #slow(name: string, known: Known, { retryAfterMs, limit }: RateHint, callMs: number): void {
    const nowMs = performance.now()
    const sameWithinMs = callMs + SLOWDOWN_SPREADS_MS
    const isSame = known.slowed !== null && known.slowed.atMs > nowMs - sameWithinMs
    const pausedMs = known.freeAtMs - nowMs
    if (isSame && (retryAfterMs === null || pausedMs > retryAfterMs - SAME_PAUSE_MS)) return
    const rate = this.rateOf(name)
    const { from, to } = slowerThan({ rate, accepted: acceptedBy(known), limit })
    const pause = pauseMs(retryAfterMs, to)
    known.freeAtMs = Math.max(isSame ? known.freeAtMs : 0, nowMs + pause)
    if (!isSame) {
      known.slowed = { from, to, atMs: nowMs }
      known.slowdowns++
      const rates = { fromPerSecond: rate, toPerSecond: to, pauseMs: pause }
      this.#log.warn({ provider: name, ...rates }, 'The provider throttles; its send rate is lowered')
    }
    this.#share(known, this.#store.slow({ name, from, to, pauseMs: pause, sameWithinMs }))
  }

  #learn(name: string, known: Known, rate: number): void {
    if (known.learnt === rate) return
    known.learnt = rate
    this.#share(known, this.#store.learnRate(name, rate))
  }

  #share(known: Known, sharing: Promise<unknown>): void {
    known.sharing++
    void sharing
      .catch(error => this.#log.warn({ err: error }, 'Could not share the send rate of a provider'))
      .finally(() => {
        known.sharing--
        known.changedMs = performance.now()
      })
  }

  /** Every second: what the other workers were told. `lookedMs`: when the rows were asked for. */
  refresh(rows: ProviderRow[], lookedMs: number): void {
    for (const row of rows) {
      const known = this.#known.get(row.name)
      // What this worker was told since it looked is newer.
      if (!known || known.sharing > 0 || known.changedMs >= lookedMs) continue
      known.learnt = row.ratePerSecond
      known.freeAtMs = lookedMs + row.freeInMs
      const atMs = row.slowedAgoMs === null ? null : lookedMs - row.slowedAgoMs
      if (atMs !== null && (known.slowed === null || atMs > known.slowed.atMs + SLOWDOWN_SPREADS_MS)) known.slowdowns++
      known.slowed = atMs === null ? null : { from: row.slowFrom!, to: row.slowTo!, atMs }
    }
  }
}

function countAccepted({ accepted }: Known): void {
  const nowMs = performance.now()
  if (nowMs - accepted.sinceMs >= SECOND_MS) {
    accepted.lastSecond = nowMs - accepted.sinceMs < 2 * SECOND_MS ? accepted.count : 0
    accepted.sinceMs = nowMs
    accepted.count = 0
  }
  accepted.count++
}

const acceptedBy = ({ accepted }: Known) => Math.max(accepted.lastSecond, accepted.count)
