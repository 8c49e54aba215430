import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Batcher } from '../platform/batcher.ts'
import { periodically } from '../platform/periodic-task.ts'
import type { Queryable } from '../platform/postgres/query.ts'
import { retryWhileUnavailable, writeBatchOrSingly } from '../platform/postgres/retries.ts'
import type { WakeableSleep } from '../platform/sleep.ts'
import {
  type ClaimedDelivery,
  type CompanyRoom,
  claimDeliveries,
  type EventFacts,
  keepEndpoints,
  leaveEndpoints,
  loadEventFacts,
  readyDueDeliveries,
} from './claim.ts'
import { logDelivery, type Notified, toWebhookSettlement } from './deliver.ts'
import { disableEndpoint } from './endpoints.ts'
import { type DeliveryDecision, webhookCooldownMs } from './schedule.ts'
import { type EndpointReport, settleDeliveries } from './settle.ts'

/** How long the dispatcher sleeps when nothing is ready and nobody wakes it. */
const IDLE_MS = 250
/** Endpoints that one claim looks at: as many as there are free slots, within these limits. */
const STEPS = { least: 32, most: 256 }
/** The time between two claims: under load, slots that become free in this time are filled by one claim. */
const CLAIM_EVERY_MS = { busy: 20, idle: 3 }
/** No claim while fewer slots are free. */
const MIN_FREE_SLOTS = 16
/** A claim that found so many deliveries was one under load. */
const BUSY_DELIVERIES = 16
/** A settled e-mail wakes the dispatcher only so long after the last delivery: without webhooks, a claim after each e-mail would find nothing. */
const ACTIVE_MS = 10_000
const LOG_ERRORS_EVERY_MS = 5_000
/** An endpoint that has failed so long without a single success is disabled. */
const DISABLE_AFTER = '5 days'
const SETTLE_BATCH = { maxItems: 256, concurrency: 2 }
const SETTLE_RETRY_FOR_MS = 60_000
/** The walk over the endpoints begins after this id. */
const FIRST = '00000000-0000-0000-0000-000000000000'

export type WebhookDispatcherOptions = {
  /** One attempt to deliver, from the body to what follows from the answer. */
  notify: (delivery: ClaimedDelivery, facts: EventFacts | null) => Promise<Notified>
  db: Queryable
  log: Logger
  /** A retry has its body already; with tracing, the e-mail's trace is looked up as well. */
  loadsFactsOfRetries?: boolean
  /** Woken when deliveries are ready. */
  ready: WakeableSleep
  /** How long an endpoint stays with a process that does not renew it. */
  holdSeconds: number
  vacuum: { count(settled: number): void; clean(): Promise<void> }
}

/** `report` null: nothing has changed for the endpoint. */
type EndedDelivery = { notified: Notified; report: EndpointReport | null }

/** Claims what is ready and delivers it, endpoint by endpoint, so that one that hangs or fails slows nobody else. */
export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions
  readonly #holder = randomUUID()
  readonly #endpoints = new EndpointConcurrency()
  readonly #settlements: Batcher<EndedDelivery, true>
  #periodic: (() => Promise<void>)[] = []
  #stopRenewing: () => Promise<void> = async () => {}
  #after = FIRST
  /** The walk over the endpoints has found nothing to deliver so far. */
  #foundNothing = false
  #activeUntilMs = 0
  #claimAtMs = 0
  #logErrorsAtMs = 0
  #stopped = false
  #running: Promise<void> = Promise.resolve()
  readonly #attempts = new Set<Promise<void>>()

  constructor(options: WebhookDispatcherOptions) {
    this.#options = options
    this.#settlements = new Batcher({
      ...SETTLE_BATCH,
      flush: batch =>
        retryWhileUnavailable(() => writeBatchOrSingly(batch, some => this.#settle(some)), SETTLE_RETRY_FOR_MS),
    })
  }

  start(): void {
    const every = (ms: number, task: () => Promise<unknown>) => periodically(ms, task, error => this.#logError(error))
    this.#running = this.#run()
    this.#periodic = [every(IDLE_MS, () => this.#readyDue()), every(IDLE_MS, () => this.#options.vacuum.clean())]
    this.#stopRenewing = every((this.#options.holdSeconds * 1000) / 3, () => this.#renewEndpoints())
  }

  /** Call it when there is something to deliver. */
  wake(): void {
    this.#options.ready.wake()
  }

  /** Call it when an e-mail was settled: there may be something to deliver. */
  wakeIfActive(): void {
    if (performance.now() < this.#activeUntilMs) this.wake()
  }

  /** Waits for the deliveries in flight, which have a time limit, and then leaves the endpoints to other processes. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.wake()
    await Promise.all(this.#periodic.map(stop => stop()))
    await this.#running
    await Promise.all(this.#attempts)
    await this.#stopRenewing()
    await leaveEndpoints(this.#options.db, this.#holder).catch(error => this.#logError(error))
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const more = await this.#round().catch(error => {
        this.#logError(error)
        return false
      })
      if (!more && !this.#stopped) await this.#options.ready.sleep(IDLE_MS)
    }
  }

  /** Claims once and starts what it claimed. Returns whether the walk over the endpoints goes on. */
  async #round(): Promise<boolean> {
    await sleep(Math.max(0, this.#claimAtMs - performance.now()))
    this.#options.ready.clear()
    const most = this.#endpoints.left()
    if (most.healthy < MIN_FREE_SLOTS) return false
    const { db } = this.#options
    const walk = await claimDeliveries(db, {
      holder: this.#holder,
      holdSeconds: this.#options.holdSeconds,
      after: this.#after,
      steps: Math.max(STEPS.least, Math.min(STEPS.most, most.healthy)),
      room: this.#endpoints.room(),
      inFlight: this.#endpoints.inFlight,
      most,
      companyRoom: this.#endpoints.companyRoom(),
    })
    const busy = walk.deliveries.length >= BUSY_DELIVERIES
    this.#claimAtMs = performance.now() + (busy ? CLAIM_EVERY_MS.busy : CLAIM_EVERY_MS.idle)
    this.#after = walk.after
    if (walk.deliveries.length + walk.postponed > 0) this.#foundNothing = false
    if (walk.deliveries.length > 0) await this.#deliver(walk.deliveries)
    if (!walk.wrapped) return true
    // Only a whole walk without a delivery shows that nothing is ready.
    const again = !this.#foundNothing
    this.#foundNothing = true
    return this.#options.ready.woken || again
  }

  async #deliver(deliveries: ClaimedDelivery[]): Promise<void> {
    this.#activeUntilMs = performance.now() + ACTIVE_MS
    for (const delivery of deliveries) this.#endpoints.start(delivery)
    try {
      const about = deliveries.flatMap(({ outboxId, eventId, body }) =>
        outboxId !== null && eventId !== null && (body === null || this.#options.loadsFactsOfRetries)
          ? [{ outboxId, eventId }]
          : [],
      )
      const facts = await loadEventFacts(this.#options.db, about)
      for (const delivery of deliveries) {
        const own = delivery.eventId === null ? null : (facts.get(delivery.eventId) ?? null)
        const attempt = this.#attempt(delivery, own)
        this.#attempts.add(attempt)
        void attempt.finally(() => this.#attempts.delete(attempt))
      }
    } catch (error) {
      for (const delivery of deliveries) this.#endpoints.end(delivery)
      throw error
    }
  }

  async #attempt(delivery: ClaimedDelivery, facts: EventFacts | null): Promise<void> {
    const startedMs = performance.now()
    let hasMore = true
    try {
      const notified = await this.#options.notify(delivery, facts)
      const report = this.#endpoints.recordOutcome(delivery, notified.decision, startedMs, performance.now())
      await this.#settlements.add({ notified, report })
      // After the answer is written: housekeeping fails what still waits for a disabled endpoint, without an answer.
      if (notified.decision.kind === 'failed' && notified.decision.gone)
        await this.#disable(delivery.endpointId, 'GONE')
      // An endpoint that failed gets no other delivery at once.
      hasMore = report === null || report.failures === 0
      logDelivery(this.#options.log, notified)
    } catch (error) {
      this.#logError(error)
      // The delivery is still ready: without a pause, it would be claimed again at once.
      await sleep(IDLE_MS)
    } finally {
      this.#endpoints.end(delivery)
      if (hasMore) this.wake()
    }
  }

  async #settle(batch: EndedDelivery[]): Promise<true[]> {
    const over = await settleDeliveries(
      this.#options.db,
      batch.map(one => toWebhookSettlement(one.notified)),
      mergeReports(batch.flatMap(({ report }) => report ?? [])),
      DISABLE_AFTER,
    )
    this.#options.vacuum.count(batch.length)
    for (const endpointId of over) await this.#disable(endpointId, 'FAILING')
    return batch.map(() => true)
  }

  async #disable(endpointId: string, reason: 'GONE' | 'FAILING'): Promise<void> {
    const disabled = await disableEndpoint(this.#options.db, endpointId, reason)
    if (!disabled) return
    const { companyId } = disabled
    this.#options.log.warn({ companyId, webhookId: endpointId, reason }, 'A webhook endpoint was disabled')
    this.wake()
  }

  async #readyDue(): Promise<void> {
    if ((await readyDueDeliveries(this.#options.db)) > 0) this.wake()
  }

  async #renewEndpoints(): Promise<void> {
    const { busy } = this.#endpoints
    if (busy.length > 0) await keepEndpoints(this.#options.db, this.#holder, busy, this.#options.holdSeconds)
  }

  /** One line in a while: while Postgres is away, everything here fails several times a second, for one reason. */
  #logError(error: unknown): void {
    if (performance.now() < this.#logErrorsAtMs) return
    this.#logErrorsAtMs = performance.now() + LOG_ERRORS_EVERY_MS
    this.#options.log.warn({ err: error }, 'Webhooks could not be processed; trying again')
  }
}

/**
 * Deliveries in flight in this process. `suspect`: to endpoints whose last attempt failed, with a limit of their own, so that they do
 * not use the slots of the others.
 */
const MAX_IN_FLIGHT = { healthy: 512, suspect: 64 }
const MAX_PER_COMPANY = { healthy: 128, suspect: 16 }
/** To one endpoint. Starts with one and doubles with each success, because an unknown endpoint may not answer. */
const MAX_PER_ENDPOINT = 8
/** Above this the limits of idle endpoints are dropped. */
const MAX_TRACKED = 5_000

type Endpoint = { busy: number; limit: number; failures: number; failedAtMs: number }

/** The deliveries in flight, and the concurrency limit of each endpoint. */
export class EndpointConcurrency {
  readonly #endpoints = new Map<string, Endpoint>()
  readonly #inFlight = new Map<string, ClaimedDelivery>()

  get inFlight(): string[] {
    return [...this.#inFlight.keys()]
  }

  /** Endpoints with something in flight. */
  get busy(): string[] {
    return [...this.#endpoints].flatMap(([id, endpoint]) => (endpoint.busy > 0 ? id : []))
  }

  start(delivery: ClaimedDelivery): void {
    const endpoint = this.#endpoint(delivery.endpointId)
    if (endpoint.busy === 0) endpoint.failures = delivery.failures
    endpoint.busy++
    this.#inFlight.set(delivery.deliveryId, delivery)
  }

  end({ endpointId, deliveryId }: ClaimedDelivery): void {
    this.#inFlight.delete(deliveryId)
    this.#endpoint(endpointId).busy--
    if (this.#endpoints.size <= MAX_TRACKED) return
    for (const [id, { busy }] of this.#endpoints) if (busy === 0) this.#endpoints.delete(id)
  }

  /** Failures of attempts that ran at the same time count once. null: nothing to write to the database. */
  recordOutcome(
    { endpointId, failures }: ClaimedDelivery,
    outcome: DeliveryDecision,
    startedMs: number,
    nowMs: number,
  ): EndpointReport | null {
    const endpoint = this.#endpoint(endpointId)
    if (outcome.kind === 'delivered') {
      const recovered = endpoint.failures > 0 || failures > 0
      endpoint.failures = 0
      endpoint.limit = Math.min(MAX_PER_ENDPOINT, endpoint.limit * 2)
      return recovered ? { endpointId, failures: 0, pauseMs: 0 } : null
    }
    if (outcome.ourFault) return null
    if (startedMs >= endpoint.failedAtMs || endpoint.failures === 0) endpoint.failures++
    endpoint.failedAtMs = nowMs
    endpoint.limit = 1
    const pauseMs = Math.max(outcome.pauseMs, webhookCooldownMs(endpoint.failures))
    return { endpointId, failures: endpoint.failures, pauseMs }
  }

  /** Free slots by endpoint; an endpoint that is not listed has one. */
  room(): Map<string, number> {
    const room = new Map<string, number>()
    for (const [id, { busy, limit }] of this.#endpoints) {
      if (busy > 0 || limit > 1) room.set(id, Math.max(0, limit - busy))
    }
    return room
  }

  /** Free slots of this process. */
  left(): { healthy: number; suspect: number } {
    let suspect = 0
    for (const { failures } of this.#inFlight.values()) if (failures > 0) suspect++
    return {
      healthy: MAX_IN_FLIGHT.healthy - (this.#inFlight.size - suspect),
      suspect: MAX_IN_FLIGHT.suspect - suspect,
    }
  }

  /** Free slots by company. */
  companyRoom(): { healthy: CompanyRoom; suspect: CompanyRoom } {
    const used = { healthy: new Map<string, number>(), suspect: new Map<string, number>() }
    for (const { companyId, failures } of this.#inFlight.values()) {
      const own = failures > 0 ? used.suspect : used.healthy
      own.set(companyId, (own.get(companyId) ?? 0) + 1)
    }
    const left = this.left()
    return {
      healthy: roomByCompany(used.healthy, left.healthy, MAX_PER_COMPANY.healthy),
      suspect: roomByCompany(used.suspect, left.suspect, MAX_PER_COMPANY.suspect),
    }
  }

  #endpoint(endpointId: string): Endpoint {
    const known = this.#endpoints.get(endpointId)
    if (known) return known
    const fresh = { busy: 0, limit: 1, failures: 0, failedAtMs: 0 }
    this.#endpoints.set(endpointId, fresh)
    return fresh
  }
}

/**
 * A company gets at most as many slots as it leaves free, and at most `max`: n companies whose endpoints hang use 1/(n+1) of the
 * slots each, and the next company finds as many. The last slots go to companies that have none.
 */
function roomByCompany(used: Map<string, number>, left: number, max: number): CompanyRoom {
  const own = [...used].map(([companyId, count]) => {
    const more = Math.min(max - count, Math.floor((left - count) / 2))
    return [companyId, Math.max(0, more)] as const
  })
  return { companies: Object.fromEntries(own), others: Math.min(max, Math.ceil(left / 2)) }
}

/** One report for each endpoint: one success outweighs the failures. */
export function mergeReports(reports: EndpointReport[]): EndpointReport[] {
  const merged = new Map<string, EndpointReport>()
  for (const report of reports) merged.set(report.endpointId, mergeTwo(merged.get(report.endpointId), report))
  return [...merged.values()]
}

function mergeTwo(before: EndpointReport | undefined, report: EndpointReport): EndpointReport {
  if (!before || report.failures === 0) return report
  if (before.failures === 0) return before
  return { ...report, pauseMs: Math.max(before.pauseMs, report.pauseMs) }
}
