import type { Logger } from 'pino'
import type { ClaimLimits } from '../../outbox/claim.ts'
import { inFlightAllowance } from '../../platform/fairness.ts'
import type { WakeableSleep } from '../../platform/sleep.ts'
import { uuidv7 } from '../../platform/text/uuid.ts'
import { ThroughputMeter } from '../../platform/throughput-meter.ts'
import type { HeldLeases } from './held-leases.ts'
import type { Lane, UnderLease } from './lane.ts'

export type Batch<Email> = {
  leaseId: string
  items: { outboxId: string; companyId: string }[]
  /** Read after the claim, so that the next claim does not wait for it. */
  emails: () => Promise<Map<string, Email>>
}

/** With the id that the new lease gets. */
export type LeaseLimits = ClaimLimits & { leaseId: string }

export type DirectLaneOptions<Email> = {
  /** null: nothing is ready. */
  claim: (limits: LeaseLimits) => Promise<Batch<Email> | null>
  /** Attempts and settles one e-mail. */
  work: (item: UnderLease<Email | null>) => Promise<void>
  leases: HeldLeases
  /** How many provider calls may be under way at once. */
  concurrency: number
  /** How many may be in flight in this process now: fewer while providers are parked. */
  maxInFlight: () => number
  /** Woken when e-mails may have become ready. */
  ready: WakeableSleep
  /** How long to sleep when nothing is ready and nobody wakes it. */
  idleMs: number
  log: Logger
}

/**
 * E-mails are claimed before slots are free, so that slots never wait for Postgres: as many as are sent in this time. Whatever becomes
 * ready next waits behind them: with 20 ms a quiet company waited 22 ms longer than alone, for no more e-mails a second; with 12 ms
 * a tenth fewer were sent.
 */
const PREFETCH_MS = 14
const MAX_PREFETCH_PER_SLOT = 4
/** No claim while a smaller share of the prefetched e-mails is used up. */
const MIN_FREE_SHARE = 1 / 3
/** How long the lane sleeps after a claim that found less than it asked for, unless it is woken. */
const AFTER_SHORT_CLAIM_MS = 4
/** E-mails that the provider has answered and that are not settled yet: at most so many times the concurrency. */
const MAX_UNSETTLED_TIMES = 8

/** The direct lane: the process that claims e-mails also sends them. */
export class DirectLane<Email> implements Lane {
  readonly #options: DirectLaneOptions<Email>
  /** How many e-mails of each company are claimed and not yet answered by the provider. */
  readonly #inFlightByCompany = new Map<string, number>()
  #inFlight = 0
  #unsettled = 0
  #stopping = false
  /** The last claim emptied the ready table: a free slot does not end the sleep, only e-mails that may be ready do. */
  #sleepsUntilReady = false
  #loop: Promise<void> | null = null
  #whenSettled: (() => void) | null = null
  readonly #throughput = new ThroughputMeter()

  constructor(options: DirectLaneOptions<Email>) {
    this.#options = options
  }

  start(): void {
    if (this.#loop) return
    this.#options.leases.start()
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#options.ready.wake()
    await this.#loop
    await this.#allSettled()
    await this.#options.leases.stop()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#options.ready.clear()
      const found = await this.#claim()
      // A short batch: nothing more is ready, or companies have all that they may have in flight.
      if (found === 'short') await this.#sleepUntilReady(AFTER_SHORT_CLAIM_MS)
      else if (found !== 'full') await this.#sleep(this.#options.idleMs)
    }
  }

  /** Claims when a worthwhile part of the slots is free: a claim for every single free slot would cost more than it brings. */
  async #claim(): Promise<'no-room' | 'none-ready' | 'failed' | 'short' | 'full'> {
    const { concurrency, maxInFlight, leases, ready } = this.#options
    const prefetch = this.#prefetch()
    const free = concurrency + prefetch - this.#inFlight
    const size = Math.min(free, MAX_UNSETTLED_TIMES * concurrency - this.#unsettled, maxInFlight() - this.#inFlight)
    if (size < 1 || (free < prefetch * MIN_FREE_SHARE && this.#inFlight > 0)) return 'no-room'
    const endedLeases = leases.takeEnded()
    const claimedAtMs = Date.now()
    const leaseId = uuidv7()
    try {
      const { allowances, defaultAllowance } = this.#allowances(free)
      const batch = await this.#options.claim({ leaseId, size, endedLeases, allowances, defaultAllowance })
      if (batch) {
        void this.#runBatch(batch, claimedAtMs)
        return batch.items.length < size ? 'short' : 'full'
      }
      const isCapped = [...allowances.values()].some(room => room < 1)
      this.#sleepsUntilReady = !ready.woken && !isCapped
      return 'none-ready'
    } catch (error) {
      leases.restoreEnded(endedLeases)
      leases.returnUncertain(leaseId)
      this.#options.log.error({ err: error }, 'Could not claim e-mails; trying again')
      return 'failed'
    }
  }

  #prefetch(): number {
    const { concurrency } = this.#options
    return Math.max(
      1,
      Math.ceil(concurrency / 10),
      Math.min(MAX_PREFETCH_PER_SLOT * concurrency, Math.ceil(this.#throughput.perMs() * PREFETCH_MS)),
    )
  }

  /** Only companies that have e-mails in flight are named: any other has `defaultAllowance`. */
  #allowances(free: number): { allowances: Map<string, number>; defaultAllowance: number } {
    const defaultAllowance = inFlightAllowance({ own: 0, free })
    const allowances = new Map<string, number>()
    for (const [companyId, own] of this.#inFlightByCompany) allowances.set(companyId, inFlightAllowance({ own, free }))
    return { allowances, defaultAllowance }
  }

  async #runBatch({ leaseId, items, emails }: Batch<Email>, claimedAtMs: number): Promise<void> {
    const { leases, log } = this.#options
    leases.track(leaseId, items.length)
    if (this.#inFlight === 0) this.#throughput.begin()
    this.#inFlight += items.length
    this.#unsettled += items.length
    for (const { companyId } of items) this.#countInFlight(companyId, 1)
    const found = await emails().catch(error => {
      log.error({ err: error, leaseId }, 'Could not read claimed e-mails; their lease will return them')
      return null
    })
    for (const { outboxId, companyId } of items) {
      const email = found?.get(outboxId) ?? null
      const leaveFlight = this.#leaveFlightOnce(companyId)
      const item = { outboxId, companyId, leaseId, claimedAtMs, email, leaveFlight }
      if (found) void this.#work(item)
      else this.#done(item, false)
    }
  }

  async #work(item: UnderLease<Email | null>): Promise<void> {
    let settled = false
    try {
      await this.#options.work(item)
      settled = true
    } catch (error) {
      const { outboxId } = item
      this.#options.log.error(
        { err: error, outboxId },
        'An attempt failed unexpectedly; its lease will return the e-mail',
      )
    }
    this.#done(item, settled)
  }

  #done(item: UnderLease<Email | null>, settled: boolean): void {
    item.leaveFlight()
    this.#options.leases.done(item.leaseId, settled)
    this.#unsettled--
    this.#roomIsFree()
    if (this.#unsettled === 0) this.#whenSettled?.()
  }

  async #allSettled(): Promise<void> {
    if (this.#unsettled === 0) return
    await new Promise<void>(resolve => {
      this.#whenSettled = resolve
    })
  }

  /** Only the first call counts. */
  #leaveFlightOnce(companyId: string): () => void {
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#inFlight--
      this.#throughput.count()
      this.#countInFlight(companyId, -1)
      this.#roomIsFree()
    }
  }

  #countInFlight(companyId: string, change: 1 | -1): void {
    const count = (this.#inFlightByCompany.get(companyId) ?? 0) + change
    if (count === 0) this.#inFlightByCompany.delete(companyId)
    else this.#inFlightByCompany.set(companyId, count)
  }

  #roomIsFree(): void {
    if (!this.#sleepsUntilReady) this.#options.ready.interrupt()
  }

  async #sleepUntilReady(ms: number): Promise<void> {
    this.#sleepsUntilReady = true
    await this.#sleep(ms)
  }

  async #sleep(ms: number): Promise<void> {
    // No claim will come soon that could end the leases.
    if (this.#unsettled === 0) await this.#options.leases.endNow()
    if (!this.#stopping) await this.#options.ready.sleep(ms)
    this.#sleepsUntilReady = false
  }
}
