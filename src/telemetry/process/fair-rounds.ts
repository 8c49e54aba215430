import { Gauge, type Registry } from 'prom-client'
import { calculateRoundRobinPriority } from '../../contracts/fairness.ts'

/** Companies that are remembered. One that was forgotten counts from the next scrape that finds it waiting. */
const MAX_COMPANIES = 10_000
/** A process that has claimed nothing for so long says nothing about fairness: it is an API, or another one is the feeder. */
const SILENT_MS = 60_000

/**
 * How fair the claims of this process are. The claim serves the companies that have mail in the order of their ids, again and
 * again: a round is over when an id is not above the one before it. A company that waits while rounds pass is starving.
 */
export class FairRounds {
  readonly #without: Gauge<'company_id'>
  readonly #priority: Gauge<'company_id'>
  /** The round in which a company was served last, or was first found waiting by a scrape. */
  readonly #lastRound = new Map<string, number>()
  #waiting = new Set<string>()
  #round = 0
  #last = ''
  #claimedMs = Number.NEGATIVE_INFINITY
  readonly #nowMs: () => number

  constructor(registry: Registry, nowMs = () => performance.now()) {
    this.#nowMs = nowMs
    const gauge = (name: string, help: string) =>
      new Gauge({ name, help, labelNames: ['company_id'], registers: [registry] })
    this.#without = gauge(
      'tenant_rounds_without_processing',
      'Rounds of the claims of this process since the company, which has e-mails waiting, was served last',
    )
    this.#priority = gauge(
      'tenant_current_priority',
      'The same as a priority: 5 for a company that was just served, down to 1, the most urgent',
    )
  }

  /** The companies of one claim, in its order. */
  claimed(companyIds: readonly string[]): void {
    if (companyIds.length > 0) this.#claimedMs = this.#nowMs()
    for (const companyId of companyIds) {
      if (companyId < this.#last) this.#round++
      this.#last = companyId
      this.#lastRound.delete(companyId)
      this.#lastRound.set(companyId, this.#round)
    }
    for (const oldest of this.#lastRound.keys()) {
      if (this.#lastRound.size <= MAX_COMPANIES) break
      this.#lastRound.delete(oldest)
    }
  }

  /** Whose mail waits now, at a scrape. A company that did not wait at the scrape before starts at zero. */
  show(companyIds: readonly string[]): void {
    this.#without.reset()
    this.#priority.reset()
    const isClaiming = this.#nowMs() - this.#claimedMs < SILENT_MS
    for (const companyId of companyIds) {
      if (!this.#waiting.has(companyId) || !this.#lastRound.has(companyId)) this.#lastRound.set(companyId, this.#round)
      if (!isClaiming) continue
      const rounds = this.#round - this.#lastRound.get(companyId)!
      this.#without.set({ company_id: companyId }, rounds)
      this.#priority.set({ company_id: companyId }, calculateRoundRobinPriority(rounds))
    }
    this.#waiting = new Set(companyIds)
  }
}
