import type { Logger } from 'pino'
import type { RateHint } from './answers.ts'
import type { Provider, SendResult } from './provider.ts'
import type { ProviderRow, SlowDown } from './state.ts'

type ThrottleStore = {
  slow: (change: SlowDown) => Promise<boolean>
  learnRate: (name: string, ratePerSecond: number) => Promise<void>
}

/** A reserved slot further ahead than this is not waited for: the e-mail returns to ready. */
export const MAX_AHEAD_MS = 10_000
const SECOND_MS = 1_000
/** Pauses that differ by less are treated as the same pause. */
const SAME_PAUSE_MS = 250

type RateState = {
  /** The limit reported by the provider. */
  reportedRate: number | null
  slowed: { from: number; to: number; atMs: number } | null
  slowdowns: number
  /** When the next time slot is free, by this process's clock. */
  freeAtMs: number
  /** When this process last wrote a change. */
  changedMs: number
  pendingWrites: number
  /** Recipients, or messages of a provider that limits messages. */
  accepted: { sinceMs: number; count: number; lastSecond: number }
}

/**
 * The send rates of the providers: configured or reported by the provider, and lower while it throttles. Workers share slowdowns
 * through Postgres: each reads them every second and writes its own at once.
 */
export class Throttles {
  readonly #states: Map<string, RateState>
  readonly #baseRate: (name: string, reportedRate: number | null) => number | null
  readonly #store: ThrottleStore
  readonly #log: Logger

  constructor(
    names: string[],
    baseRate: (name: string, reportedRate: number | null) => number | null,
    store: ThrottleStore,
    log: Logger,
  ) {
    const accepted = () => ({ sinceMs: 0, count: 0, lastSecond: 0 })
    this.#states = new Map(
      names.map(name => [
        name,
        {
          reportedRate: null,
          slowed: null,
          slowdowns: 0,
          freeAtMs: 0,
          changedMs: Number.NEGATIVE_INFINITY,
          pendingWrites: 0,
          accepted: accepted(),
        },
      ]),
    )
    this.#baseRate = baseRate
    this.#store = store
    this.#log = log
  }

  rateOf(name: string): number | null {
    const { reportedRate, slowed } = this.#states.get(name)!
    const base = this.#baseRate(name, reportedRate)
    const allowed = slowed && rateAfter({ ...slowed, agoMs: performance.now() - slowed.atMs })
    return allowed === null || (base !== null && base < allowed) ? base : allowed
  }

  slowdowns(name: string): number {
    return this.#states.get(name)!.slowdowns
  }

  /** The next free slot is so far away that nothing should be claimed for this provider. */
  isBusy(name: string): boolean {
    return this.#states.get(name)!.freeAtMs - performance.now() > MAX_AHEAD_MS
  }

  setNextFree(name: string, inMs: number): void {
    this.#states.get(name)!.freeAtMs = performance.now() + inMs
  }

  /** Applies a throttling answer or a reported limit. */
  report(
    { name, learnQuota }: Provider,
    result: SendResult,
    { callMs, amount }: { callMs: number; amount: number },
  ): void {
    const state = this.#states.get(name)
    if (!state) return
    const { retryAfterMs = null, limit = null } = result.rate ?? {}
    if (result.kind === 'sent') countAccepted(state, amount)
    if (result.kind === 'failed' && result.failure.throttled) this.#slow(name, state, { retryAfterMs, limit }, callMs)
    if (limit !== null && !learnQuota) this.#setReportedRate(name, state, withinLimit(limit))
  }

  #slow(name: string, state: RateState, { retryAfterMs, limit }: RateHint, callMs: number): void {
    const nowMs = performance.now()
    const sameWithinMs = callMs + SLOWDOWN_SPREADS_MS
    const isSameSlowdown = state.slowed !== null && state.slowed.atMs > nowMs - sameWithinMs
    const pausedMs = state.freeAtMs - nowMs
    if (isSameSlowdown && (retryAfterMs === null || pausedMs > retryAfterMs - SAME_PAUSE_MS)) return
    const rate = this.rateOf(name)
    const { from, to } = slowerThan({ rate, accepted: acceptedBy(state), limit })
    const pause = pauseMs(retryAfterMs, to)
    state.freeAtMs = Math.max(isSameSlowdown ? state.freeAtMs : 0, nowMs + pause)
    if (!isSameSlowdown) {
      state.slowed = { from, to, atMs: nowMs }
      state.slowdowns++
      const rates = { fromPerSecond: rate, toPerSecond: to, pauseMs: pause }
      this.#log.warn({ provider: name, ...rates }, 'The provider throttles; its send rate is lowered')
    }
    this.#track(state, this.#store.slow({ name, from, to, pauseMs: pause, sameWithinMs }))
  }

  #setReportedRate(name: string, state: RateState, rate: number): void {
    if (state.reportedRate === rate) return
    state.reportedRate = rate
    this.#track(state, this.#store.learnRate(name, rate))
  }

  #track(state: RateState, write: Promise<unknown>): void {
    state.pendingWrites++
    void write
      .catch(error => this.#log.warn({ err: error }, 'Could not save the send rate of a provider'))
      .finally(() => {
        state.pendingWrites--
        state.changedMs = performance.now()
      })
  }

  /** Called every second with the state that all workers share. `readMs`: when reading the rows began. */
  refresh(rows: ProviderRow[], readMs: number): void {
    for (const row of rows) {
      const state = this.#states.get(row.name)
      // Changes by this worker since it began to read are newer than the row.
      if (!state || state.pendingWrites > 0 || state.changedMs >= readMs) continue
      state.reportedRate = row.ratePerSecond
      state.freeAtMs = readMs + row.freeInMs
      const atMs = row.slowedAgoMs === null ? null : readMs - row.slowedAgoMs
      if (atMs !== null && (state.slowed === null || atMs > state.slowed.atMs + SLOWDOWN_SPREADS_MS)) state.slowdowns++
      state.slowed = atMs === null ? null : { from: row.slowFrom!, to: row.slowTo!, atMs }
    }
  }
}

function countAccepted({ accepted }: RateState, amount: number): void {
  const nowMs = performance.now()
  if (nowMs - accepted.sinceMs >= SECOND_MS) {
    accepted.lastSecond = nowMs - accepted.sinceMs < 2 * SECOND_MS ? accepted.count : 0
    accepted.sinceMs = nowMs
    accepted.count = 0
  }
  accepted.count += amount
}

const acceptedBy = ({ accepted }: RateState) => Math.max(accepted.lastSecond, accepted.count)

/**
 * How the send rate of a provider that throttles is lowered and grows back. All rates are recipients per second, or messages per second
 * for a provider that limits messages.
 */
interface LowerRate {
  /** The rate at which it was throttled. */
  from: number
  /** The rate it was lowered to. */
  to: number
}

interface Slowdown extends LowerRate {
  agoMs: number
}

/** The rate is back at its old value after this time, and doubles in each further period, because the limit may have been raised. */
const RECOVERY_MS = 10_000
/** A provider that throttles everything is still tried once a minute. */
const SLOWEST = 1 / 60
/** Above this rate a slowdown has ended. */
const FASTEST = 1_000
/** The provider counts its limit in windows that differ from ours, so keep a margin. */
const SHARE_OF_LIMIT = 0.9

/** Until every worker knows of a slowdown; a call that began before then shows nothing about the lower rate. */
const SLOWDOWN_SPREADS_MS = 1_000
/** The longest pause that a provider can cause; then one e-mail tries again. */
export const MAX_PAUSE_MS = 300_000

/** The rate that the slowdown still allows, null when it has ended. `agoMs` is negative after a clock was set back. */
export function rateAfter({ from, to, agoMs }: Slowdown): number | null {
  if (agoMs < 0) return null
  if (agoMs < RECOVERY_MS) return to + ((from - to) * agoMs) / RECOVERY_MS
  const rate = from * 2 ** ((agoMs - RECOVERY_MS) / RECOVERY_MS)
  return rate > FASTEST ? null : rate
}

export interface Throttled {
  /** The current rate, null without a limit. */
  rate: number | null
  /** Recipients (messages) accepted in the last second: the starting point when there was no limit. */
  accepted: number
  /** The limit stated in the provider's answer. */
  limit: number | null
}

/** Half of the current rate; or the stated limit if the rate was above it. */
export function slowerThan({ rate, accepted, limit }: Throttled): LowerRate {
  if (limit !== null && (rate === null || rate > limit)) return { from: withinLimit(limit), to: withinLimit(limit) }
  const from = Math.max(SLOWEST, rate ?? Math.max(1, accepted))
  return { from, to: Math.max(SLOWEST, from / 2) }
}

const withinLimit = (limit: number) => limit * SHARE_OF_LIMIT

/** The pause before the next message: the requested Retry-After, or the time of one message at the lower rate. */
export function pauseMs(retryAfterMs: number | null, to: number): number {
  return Math.min(MAX_PAUSE_MS, retryAfterMs ?? 1_000 / to)
}
