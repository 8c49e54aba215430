import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Queryable, retryWhileUnavailable, writeBatchOrSingly } from '../db/pool.ts'
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
import { EndpointConcurrency } from './endpoint-concurrency.ts'
import { type Notified, toWebhookSettlement } from './notified.ts'

/** How often somebody looks when nobody calls. */
const IDLE_MS = 250
/** Endpoints looked at in one claim: as many as there are places for, within these. */
const STEPS = { least: 32, most: 256 }
/** Under load, places that become free meanwhile are filled together; a few are not worth a claim. */
const CLAIM_EVERY_MS = { busy: 20, idle: 3 }
const WORTH_A_CLAIM = 16
/** How long the sending line's nudges are listened to after the last delivery. Without webhooks they cost nothing. */
const LIVELY_MS = 10_000
const COMPLAIN_EVERY_MS = 5_000
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
  /** How long an endpoint stays with a process that says nothing. */
  holdSeconds: number
  vacuum: { count(settled: number): void; clean(): Promise<void> }
}

/** `report` null: the endpoint is as well as it was. */
type Settlement = { notified: Notified; report: EndpointReport | null }

/** Claims what is ready and delivers it, endpoint by endpoint, so that one that hangs or fails slows nobody else. */
export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions
  readonly #holder = randomUUID()
  readonly #pace = new EndpointConcurrency()
  readonly #settlements: Batcher<Settlement, true>
  readonly #timers: NodeJS.Timeout[] = []
  #after = FIRST
  /** The circle so far has had nothing to deliver. */
  #barren = false
  #livelyUntilMs = 0
  #claimAtMs = 0
  #complainAtMs = 0
  #wake: () => void = () => {}
  #woken = false
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
    this.#running = this.#run()
    const every = (ms: number, act: () => Promise<unknown>) => {
      let underWay = false
      const once = async () => {
        if (underWay) return
        underWay = true
        await act().catch(error => this.#complain(error))
        underWay = false
      }
      this.#timers.push(setInterval(() => void once(), ms))
    }
    every(IDLE_MS, () => this.#readyDue())
    every(IDLE_MS, () => this.#options.vacuum.clean())
    every((this.#options.holdSeconds * 1000) / 3, () => this.#keep())
  }

  /** There is something to deliver. */
  wake(): void {
    this.#woken = true
    this.#wake()
  }

  /** There may be: an e-mail was settled. */
  nudge(): void {
    if (performance.now() < this.#livelyUntilMs) this.wake()
  }

  /** What is in flight ends within its time limit; the endpoints are free for others at once. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#wake()
    for (const timer of this.#timers) clearInterval(timer)
    await this.#running
    while (this.#pace.inFlight.length > 0) await new Promise<void>(resolve => (this.#drained = resolve))
    await leaveEndpoints(this.#options.db, this.#holder).catch(error => this.#complain(error))
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const more = await this.#round().catch(error => {
        this.#complain(error)
        return false
      })
      if (!more && !this.#stopped) await this.#sleep()
    }
  }

  /** One claim and its start. Answers whether the walk over the endpoints goes on. */
  async #round(): Promise<boolean> {
    await sleep(Math.max(0, this.#claimAtMs - performance.now()))
    this.#woken = false
    const most = this.#pace.left()
    if (most.healthy < WORTH_A_CLAIM) return false
    const { db } = this.#options
    const walk = await claimDeliveries(db, {
      holder: this.#holder,
      holdSeconds: this.#options.holdSeconds,
      after: this.#after,
      steps: Math.max(STEPS.least, Math.min(STEPS.most, most.healthy)),
      room: this.#pace.room(),
      inFlight: this.#pace.inFlight,
      most,
      companyRoom: this.#pace.companyRoom(),
    })
    const busy = walk.deliveries.length >= WORTH_A_CLAIM
    this.#claimAtMs = performance.now() + (busy ? CLAIM_EVERY_MS.busy : CLAIM_EVERY_MS.idle)
    this.#after = walk.after
    if (walk.deliveries.length + walk.postponed > 0) this.#barren = false
    if (walk.deliveries.length > 0) await this.#deliver(walk.deliveries)
    if (!walk.wrapped) return true
    // Only a whole circle without a delivery says that there is none to be had.
    const again = !this.#barren
    this.#barren = true
    return this.#woken || again
  }

  async #deliver(deliveries: ClaimedDelivery[]): Promise<void> {
    this.#livelyUntilMs = performance.now() + LIVELY_MS
    for (const delivery of deliveries) this.#pace.start(delivery)
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
      for (const delivery of deliveries) this.#pace.end(delivery)
      throw error
    }
  }

  async #attempt(delivery: ClaimedDelivery, facts: EventFacts | null): Promise<void> {
    const startedMs = performance.now()
    let more = true
    try {
      const notified = await this.#options.notify(delivery, facts)
      const report = this.#pace.recordOutcome(delivery, notified.verdict, startedMs, performance.now())
      if (notified.verdict.kind === 'failed' && notified.verdict.gone) await this.#disable(delivery.endpointId, 'GONE')
      await this.#settlements.add({ notified, report })
      // One that failed gets no other at once.
      more = report === null || report.failures === 0
      this.#say(notified)
    } catch (error) {
      this.#complain(error)
      // It is ready still and would be claimed again at once.
      await sleep(IDLE_MS)
    } finally {
      this.#pace.end(delivery)
      this.#drained()
      if (more) this.wake()
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

  async #keep(): Promise<void> {
    const { busy } = this.#pace
    if (busy.length > 0) await keepEndpoints(this.#options.db, this.#holder, busy, this.#options.holdSeconds)
  }

  #sleep(): Promise<void> {
    if (this.#woken) return Promise.resolve()
    return new Promise(resolve => {
      const timer = setTimeout(resolve, IDLE_MS)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Neither the URL nor the body: both may hold secrets. */
  #say({ delivery, posted, verdict }: Notified): void {
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
        outcome: verdict.kind,
      },
      'Webhook',
    )
  }

  /** While Postgres is away, everything here fails several times a second, and for one reason. */
  #complain(error: unknown): void {
    if (performance.now() < this.#complainAtMs) return
    this.#complainAtMs = performance.now() + COMPLAIN_EVERY_MS
    this.#options.log.warn({ err: error }, 'Webhooks could not be worked on; they are tried again')
  }
}

/** Of several reports about one endpoint: it lives if it took one. */
function merged(before: EndpointReport | undefined, report: EndpointReport): EndpointReport {
  if (!before || report.failures === 0) return report
  if (before.failures === 0) return before
  return { ...report, pauseMs: Math.max(before.pauseMs, report.pauseMs) }
}
