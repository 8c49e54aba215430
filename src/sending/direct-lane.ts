import type { Logger } from 'pino'
import { inFlightAllowance } from '../contracts/fairness.ts'
import { ThroughputMeter } from '../runtime/throughput-meter.ts'
import type { HeldLeases } from './held-leases.ts'
import type { Lane, UnderLease } from './lane.ts'

export type Batch<Content> = {
  leaseId: string
  items: { outboxId: string; companyId: string }[]
  /** What the work needs to know, read after the claim so that the next claim need not wait for it. */
  contents: () => Promise<Map<string, Content>>
}

export type ClaimLimits = { size: number; ended: string[]; left: Map<string, number>; most: number }

export type DirectLaneOptions<Content> = {
  /** null: there is nothing to do. */
  claim: (limits: ClaimLimits) => Promise<Batch<Content> | null>
  work: (item: UnderLease<Content | null>) => Promise<void>
  leases: HeldLeases
  /** Provider calls at once. */
  concurrency: number
  /** How many may be claimed now at all: fewer while providers are parked. */
  mayClaim: () => number
  /** How long to sleep when there is nothing to do and nobody calls. */
  idleMs: number
  log: Logger
}

/**
 * Claimed ahead, so that hands never wait for Postgres: what is sent in this time, refilled when a third of it is free. Whoever
 * comes next waits behind it: with 20 ms a quiet company waited 22 ms longer than alone, for no more e-mails a second; with 12 ms
 * a tenth fewer were sent. At a fast provider it is several times the hands, which do not keep the batches small then.
 */
const AHEAD_MS = 14
const AHEAD_TIMES = 4
const WORTHWHILE = 1 / 3
/** Until a claim that found less than it asked for is followed by another, unless somebody calls. */
const BREATH_MS = 4
/** Answered by the provider, not yet written: at most so many times the concurrency. */
const UNSETTLED_TIMES = 8

/** Claimed work runs in this process. */
export class DirectLane<Content> implements Lane {
  readonly #options: DirectLaneOptions<Content>
  /** Claimed and not yet answered by the provider, by company. */
  readonly #own = new Map<string, number>()
  #inFlight = 0
  #unsettled = 0
  #stopping = false
  #wake: (() => void) | null = null
  #nudged = false
  /** The last claim found nothing, for want of mail and not of room: a free hand is no reason to ask again. */
  #dry = false
  #loop: Promise<void> | null = null
  #whenSettled: (() => void) | null = null
  readonly #pace = new ThroughputMeter()

  constructor(options: DirectLaneOptions<Content>) {
    this.#options = options
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  nudge(): void {
    this.#nudged = true
    this.#dry = false
    this.#wake?.()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.nudge()
    await this.#loop
    await this.#allSettled()
    await this.#options.leases.stop()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const found = await this.#claim()
      if (found === 'nothing') await this.#sleep(this.#options.idleMs)
      else if (found === 'little') await this.#takeBreath()
    }
  }

  /** Claims when a worthwhile part of the room is free: a claim for each single free hand would cost more than it brings. */
  async #claim(): Promise<'nothing' | 'little' | 'all'> {
    const { concurrency, mayClaim, leases } = this.#options
    const ahead = this.#ahead()
    const free = concurrency + ahead - this.#inFlight
    const size = Math.min(free, UNSETTLED_TIMES * concurrency - this.#unsettled, mayClaim() - this.#inFlight)
    this.#nudged = false
    if (size < 1 || (free < ahead * WORTHWHILE && this.#inFlight > 0)) return 'nothing'
    const ended = leases.takeEnded()
    try {
      const { left, most } = this.#allowances(free)
      const batch = await this.#options.claim({ size, ended, left, most })
      if (batch) {
        void this.#runBatch(batch)
        return batch.items.length < size ? 'little' : 'all'
      }
      this.#dry = !this.#nudged && [...left.values()].every(room => room > 0)
      return 'nothing'
    } catch (error) {
      leases.restoreEnded(ended)
      this.#options.log.error({ err: error }, 'Could not claim e-mails; trying again')
      return 'nothing'
    }
  }

  #ahead(): number {
    const { concurrency } = this.#options
    return Math.max(
      1,
      Math.ceil(concurrency / 10),
      Math.min(AHEAD_TIMES * concurrency, Math.ceil(this.#pace.perMs() * AHEAD_MS)),
    )
  }

  /** Only companies that have less room than any other are named. */
  #allowances(free: number): { left: Map<string, number>; most: number } {
    const most = inFlightAllowance({ own: 0, free })
    const left = new Map<string, number>()
    for (const [companyId, own] of this.#own) left.set(companyId, inFlightAllowance({ own, free }))
    return { left, most }
  }

  async #runBatch({ leaseId, items, contents }: Batch<Content>): Promise<void> {
    const { leases, log } = this.#options
    leases.hold(leaseId, items.length)
    if (this.#inFlight === 0) this.#pace.begin()
    this.#inFlight += items.length
    this.#unsettled += items.length
    for (const { companyId } of items) this.#own.set(companyId, (this.#own.get(companyId) ?? 0) + 1)
    const found = await contents().catch(error => {
      log.error({ err: error, leaseId }, 'Could not read claimed e-mails; their lease will return them')
      return null
    })
    for (const { outboxId, companyId } of items) {
      const content = found?.get(outboxId) ?? null
      const item = { outboxId, companyId, leaseId, content, release: this.#releaser(companyId) }
      if (found) this.#attempt(item)
      else this.#done(item, false)
    }
  }

  /** Nobody waits for it: a promise for each that is awaited with the others would be a tenth of what this lane costs. */
  #attempt(item: UnderLease<Content | null>): void {
    const broken = (error: unknown) => {
      this.#options.log.error(
        { err: error, outboxId: item.outboxId },
        'An attempt broke off; its lease will return the e-mail',
      )
      this.#done(item, false)
    }
    try {
      this.#options.work(item).then(() => this.#done(item, true), broken)
    } catch (error) {
      broken(error)
    }
  }

  #done(item: UnderLease<Content | null>, settled: boolean): void {
    item.release()
    this.#options.leases.done(item.leaseId, settled)
    this.#unsettled--
    if (!this.#dry) this.#wake?.()
    if (this.#unsettled === 0) this.#whenSettled?.()
  }

  async #allSettled(): Promise<void> {
    if (this.#unsettled === 0) return
    await new Promise<void>(resolve => {
      this.#whenSettled = resolve
    })
  }

  #releaser(companyId: string): () => void {
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#inFlight--
      this.#pace.count()
      const own = this.#own.get(companyId)! - 1
      if (own === 0) this.#own.delete(companyId)
      else this.#own.set(companyId, own)
      if (!this.#dry) this.#wake?.()
    }
  }

  /** There is hardly more where less was found than asked for, and whatever comes now calls: asking at once would be for nothing. */
  async #takeBreath(): Promise<void> {
    this.#dry = true
    await this.#sleep(BREATH_MS)
    this.#dry = false
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#unsettled === 0) await this.#options.leases.endNow()
    if (this.#nudged || this.#stopping) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(done, ms)
      const lane = this
      function done() {
        clearTimeout(timer)
        lane.#dry = false
        lane.#wake = null
        resolve()
      }
      this.#wake = done
    })
  }
}
