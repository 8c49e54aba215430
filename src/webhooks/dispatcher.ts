import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Queryable } from '../db/query.ts'
import { retryWhileUnavailable, writeBatchOrSingly } from '../db/retries.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  type EventFacts,
  keepEndpoints,
  leaveEndpoints,
  loadEventFacts,
  readyDueDeliveries,
} from '../db/webhooks/claim.ts'
import { disableEndpoint } from '../db/webhooks/endpoints.ts'
import { type EndpointReport, settleDeliveries } from '../db/webhooks/settle.ts'
import { Batcher } from '../runtime/batcher.ts'
import { periodically } from '../runtime/periodic-task.ts'
import type { WakeableSleep } from '../runtime/wakeable-sleep.ts'
import { EndpointConcurrency } from './endpoint-concurrency.ts'
import { type Notified, toWebhookSettlement } from './notified.ts'

/** Between two looks when nobody wakes it. */
const IDLE_MS = 250
/** Endpoints looked at in one claim: as many as there are free slots, within these. */
const STEPS = { least: 32, most: 256 }
/** Under load, slots that become free meanwhile are filled together; a few are not worth a claim. */
const CLAIM_EVERY_MS = { busy: 20, idle: 3 }
const WORTH_A_CLAIM = 16
/** Settled e-mails wake it only so long after the last delivery: without webhooks, a claim after each would be for nothing. */
const ACTIVE_MS = 10_000
const LOG_ERRORS_EVERY_MS = 5_000
/** Without a single success. */
const DISABLE_AFTER = '5 days'
const SETTLE_BATCH = { maxItems: 256, concurrency: 2 }
const SETTLE_PATIENCE_MS = 60_000
const FIRST = '00000000-0000-0000-0000-000000000000'

export type WebhookDispatcherOptions = {
  /** One attempt to deliver, from the body to what follows from the answer. */
  notify: (delivery: ClaimedDelivery, facts: EventFacts | null) => Promise<Notified>
  db: Queryable
  log: Logger
  /** Woken when deliveries are ready. */
  ready: WakeableSleep
  /** How long an endpoint stays with a process that does not renew it. */
  holdSeconds: number
  vacuum: { count(settled: number): void; clean(): Promise<void> }
}

/** `report` null: nothing has changed for the endpoint. */
type Settlement = { notified: Notified; report: EndpointReport | null }

/** Claims what is ready and delivers it, endpoint by endpoint, so that one that hangs or fails slows nobody else. */
export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions
  readonly #holder = randomUUID()
  readonly #endpoints = new EndpointConcurrency()
  readonly #settlements: Batcher<Settlement, true>
  #periodic: (() => Promise<void>)[] = []
  #after = FIRST
  /** The walk over the endpoints has found nothing to deliver so far. */
  #foundNothing = false
  #activeUntilMs = 0
  #claimAtMs = 0
  #logErrorsAtMs = 0
  #stopped = false
  #running: Promise<void> = Promise.resolve()
  #drained: () => void = () => {}

  constructor(options: WebhookDispatcherOptions) {
    this.#options = options
    this.#settlements = new Batcher({
      ...SETTLE_BATCH,
      flush: batch =>
        retryWhileUnavailable(() => writeBatchOrSingly(batch, some => this.#settle(some)), SETTLE_PATIENCE_MS),
    })
  }

  start(): void {
    const every = (ms: number, task: () => Promise<unknown>) => periodically(ms, task, error => this.#logError(error))
    this.#running = this.#run()
    this.#periodic = [
      every(IDLE_MS, () => this.#readyDue()),
      every(IDLE_MS, () => this.#options.vacuum.clean()),
      every((this.#options.holdSeconds * 1000) / 3, () => this.#renewEndpoints()),
    ]
  }

  /** There is something to deliver. */
  wake(): void {
    this.#options.ready.wake()
  }

  /** An e-mail was settled: there may be something to deliver. */
  wakeIfActive(): void {
    if (performance.now() < this.#activeUntilMs) this.wake()
  }

  /** What is in flight ends within its time limit; the endpoints are free for others at once. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.wake()
    await Promise.all(this.#periodic.map(stop => stop()))
    await this.#running
    while (this.#endpoints.inFlight.length > 0) await new Promise<void>(resolve => (this.#drained = resolve))
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

  /** One claim and its start. Answers whether the walk over the endpoints goes on. */
  async #round(): Promise<boolean> {
    await sleep(Math.max(0, this.#claimAtMs - performance.now()))
    this.#options.ready.clear()
    const most = this.#endpoints.left()
    if (most.healthy < WORTH_A_CLAIM) return false
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
    const busy = walk.deliveries.length >= WORTH_A_CLAIM
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
        outboxId !== null && eventId !== null && body === null ? [{ outboxId, eventId }] : [],
      )
      const facts = await loadEventFacts(this.#options.db, about)
      for (const delivery of deliveries) {
        const own = delivery.eventId === null ? null : (facts.get(delivery.eventId) ?? null)
        void this.#attempt(delivery, own)
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
      if (notified.decision.kind === 'failed' && notified.decision.gone)
        await this.#disable(delivery.endpointId, 'GONE')
      await this.#settlements.add({ notified, report })
      // An endpoint that failed gets no other delivery at once.
      hasMore = report === null || report.failures === 0
      this.#logDelivery(notified)
    } catch (error) {
      this.#logError(error)
      // It is still ready and would be claimed again at once.
      await sleep(IDLE_MS)
    } finally {
      this.#endpoints.end(delivery)
      this.#drained()
      if (hasMore) this.wake()
    }
  }

  async #settle(batch: Settlement[]): Promise<true[]> {
    const reports = new Map<string, EndpointReport>()
    for (const { report } of batch)
      if (report) reports.set(report.endpointId, merged(reports.get(report.endpointId), report))
    const over = await settleDeliveries(
      this.#options.db,
      batch.map(one => toWebhookSettlement(one.notified)),
      [...reports.values()],
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

  /** Neither the URL nor the body: both may hold secrets. */
  #logDelivery({ delivery, posted, decision }: Notified): void {
    const { companyId, endpointId, deliveryId, type, outboxId, attempts } = delivery
    this.#options.log.debug(
      {
        companyId,
        webhookId: endpointId,
        deliveryId,
        type,
        outboxId,
        attempt: attempts + 1,
        status: posted.status,
        errorCode: posted.error,
        durationMs: posted.durationMs,
        outcome: decision.kind,
      },
      'Webhook',
    )
  }

  /** While Postgres is away, everything here fails several times a second, and for one reason. */
  #logError(error: unknown): void {
    if (performance.now() < this.#logErrorsAtMs) return
    this.#logErrorsAtMs = performance.now() + LOG_ERRORS_EVERY_MS
    this.#options.log.warn({ err: error }, 'Webhooks could not be processed; trying again')
  }
}

/** Of several reports about one endpoint: one success outweighs the failures. */
function merged(before: EndpointReport | undefined, report: EndpointReport): EndpointReport {
  if (!before || report.failures === 0) return report
  if (before.failures === 0) return before
  return { ...report, pauseMs: Math.max(before.pauseMs, report.pauseMs) }
}
