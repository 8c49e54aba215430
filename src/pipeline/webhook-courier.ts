import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { webhookCooldownMs } from '../contracts/webhook-schedule.ts'
import { type Queryable, together, untilItIsBack } from '../db/pool.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  keepEndpoints,
  leaveEndpoints,
  loadEventFacts,
  readyDueDeliveries,
} from '../db/webhook-claim.ts'
import { disableEndpoint } from '../db/webhook-endpoints.ts'
import { type EndpointReport, settleDeliveries } from '../db/webhook-settle.ts'
import { Batcher } from './batcher.ts'
import { type Notified, type NotifyDeps, notifyCompany, toWebhookSettlement } from './notify-company.ts'

/** How often somebody looks when nobody calls. */
const IDLE_MS = 250
/** Endpoints looked at in one claim: as many as there are places for, within these. */
const STEPS = { least: 32, most: 256 }
/** Under load, places that become free meanwhile are filled together; a few are not worth a claim. */
const CLAIM_EVERY_MS = { busy: 20, idle: 3 }
const WORTH_A_CLAIM = 16
/** In flight in this process. Those whose last attempt failed share the second, so they never take the others' places. */
const MOST = { healthy: 512, suspect: 64 }
/** In flight to one endpoint; reached by doubling from one, since nobody knows yet whether it answers. */
const MOST_PER_ENDPOINT = 8
/** Endpoints whose pace is remembered. */
const REMEMBERED = 5_000
/** How long the sending line's nudges are listened to after the last delivery. Without webhooks they cost nothing. */
const LIVELY_MS = 10_000
const SETTLE_BATCH = { maxItems: 256, concurrency: 2 }
const SETTLE_PATIENCE_MS = 60_000
const FIRST = '00000000-0000-0000-0000-000000000000'

export type CourierOptions = NotifyDeps & {
  db: Queryable
  log: Logger
  /** How long an endpoint stays with a process that says nothing. */
  holdSeconds: number
  vacuum: { count(settled: number): void; clean(): Promise<void> }
  disableAfter?: string
}

type Endpoint = { busy: number; limit: number; failures: number; failedAtMs: number }

/** Claims what is ready and delivers it, endpoint by endpoint, so that one that hangs or fails slows nobody else. */
export class Courier {
  readonly #options: CourierOptions
  readonly #holder = randomUUID()
  readonly #endpoints = new Map<string, Endpoint>()
  readonly #inFlight = new Map<string, ClaimedDelivery>()
  readonly #settlements: Batcher<{ notified: Notified; report: EndpointReport }, true>
  readonly #timers: NodeJS.Timeout[] = []
  #after = FIRST
  #livelyUntilMs = 0
  #claimAtMs = 0
  #wake: () => void = () => {}
  #woken = false
  #stopped = false
  #running: Promise<void> = Promise.resolve()
  #drained: () => void = () => {}

  constructor(options: CourierOptions) {
    this.#options = options
    this.#settlements = new Batcher({
      ...SETTLE_BATCH,
      flush: batch => untilItIsBack(() => together(batch, some => this.#settle(some)), SETTLE_PATIENCE_MS),
    })
  }

  start(): void {
    this.#running = this.#run()
    const every = (ms: number, act: () => Promise<unknown>) =>
      this.#timers.push(setInterval(() => act().catch(error => this.#complain(error)), ms))
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
    while (this.#inFlight.size > 0) await new Promise<void>(resolve => (this.#drained = resolve))
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
    await sleep(this.#claimAtMs - performance.now())
    this.#woken = false
    const most = this.#left()
    if (most.healthy < WORTH_A_CLAIM) return false
    const { db } = this.#options
    const walk = await claimDeliveries(db, {
      holder: this.#holder,
      holdSeconds: this.#options.holdSeconds,
      after: this.#after,
      steps: Math.max(STEPS.least, Math.min(STEPS.most, most.healthy)),
      room: this.#room(),
      inFlight: [...this.#inFlight.keys()],
      most,
    })
    const busy = walk.deliveries.length >= WORTH_A_CLAIM
    this.#claimAtMs = performance.now() + (busy ? CLAIM_EVERY_MS.busy : CLAIM_EVERY_MS.idle)
    const began = this.#after
    this.#after = walk.after
    if (walk.deliveries.length > 0) await this.#deliver(walk.deliveries)
    // A walk that began in the middle has not seen the endpoints before it.
    return this.#woken || !walk.wrapped || began !== FIRST
  }

  async #deliver(deliveries: ClaimedDelivery[]): Promise<void> {
    this.#livelyUntilMs = performance.now() + LIVELY_MS
    for (const delivery of deliveries) this.#board(delivery)
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
      for (const delivery of deliveries) this.#leave(delivery)
      throw error
    }
  }

  async #attempt(delivery: ClaimedDelivery, facts: Parameters<typeof notifyCompany>[1]): Promise<void> {
    const startedMs = performance.now()
    let more = true
    try {
      const notified = await notifyCompany(delivery, facts, this.#options)
      const report = this.#judge(notified, startedMs)
      if (notified.verdict.kind === 'failed' && notified.verdict.gone) await this.#disable(delivery.endpointId, 'GONE')
      await this.#settlements.add({ notified, report })
      // One that failed gets no other at once.
      more = report.failures === 0
      this.#say(notified)
    } catch (error) {
      this.#complain(error)
      // It is ready still and would be claimed again at once.
      await sleep(IDLE_MS)
    } finally {
      this.#leave(delivery)
      if (more) this.wake()
    }
  }

  /** Attempts that were under way together and failed are one failure. */
  #judge({ delivery, verdict }: Notified, startedMs: number): EndpointReport {
    const endpoint = this.#endpoint(delivery.endpointId)
    const { endpointId } = delivery
    if (verdict.kind === 'delivered') {
      endpoint.failures = 0
      endpoint.limit = Math.min(MOST_PER_ENDPOINT, endpoint.limit * 2)
      return { endpointId, failures: 0, pauseMs: 0 }
    }
    if (verdict.kind === 'failed' && verdict.ours) return { endpointId, failures: endpoint.failures, pauseMs: 0 }
    if (startedMs >= endpoint.failedAtMs || endpoint.failures === 0) endpoint.failures++
    endpoint.failedAtMs = performance.now()
    endpoint.limit = 1
    const pauseMs = Math.max(verdict.pauseMs, webhookCooldownMs(endpoint.failures))
    return { endpointId, failures: endpoint.failures, pauseMs }
  }

  async #settle(batch: { notified: Notified; report: EndpointReport }[]): Promise<true[]> {
    const reports = new Map<string, EndpointReport>()
    for (const { report } of batch) reports.set(report.endpointId, merged(reports.get(report.endpointId), report))
    const over = await settleDeliveries(
      this.#options.db,
      batch.map(one => toWebhookSettlement(one.notified)),
      [...reports.values()],
      this.#options.disableAfter ?? '5 days',
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

  #board(delivery: ClaimedDelivery): void {
    const endpoint = this.#endpoint(delivery.endpointId)
    if (endpoint.busy === 0) endpoint.failures = delivery.failures
    endpoint.busy++
    this.#inFlight.set(delivery.deliveryId, delivery)
  }

  #leave(delivery: ClaimedDelivery): void {
    this.#inFlight.delete(delivery.deliveryId)
    this.#endpoint(delivery.endpointId).busy--
    if (this.#endpoints.size > REMEMBERED) this.#forgetIdle()
    if (this.#inFlight.size === 0) this.#drained()
  }

  #endpoint(endpointId: string): Endpoint {
    const known = this.#endpoints.get(endpointId)
    if (known) return known
    const fresh = { busy: 0, limit: 1, failures: 0, failedAtMs: 0 }
    this.#endpoints.set(endpointId, fresh)
    return fresh
  }

  #forgetIdle(): void {
    for (const [id, { busy }] of this.#endpoints) if (busy === 0) this.#endpoints.delete(id)
  }

  #room(): Map<string, number> {
    const room = new Map<string, number>()
    for (const [id, { busy, limit }] of this.#endpoints) {
      if (busy > 0 || limit > 1) room.set(id, Math.max(0, limit - busy))
    }
    return room
  }

  #left(): { healthy: number; suspect: number } {
    let suspect = 0
    for (const { failures } of this.#inFlight.values()) if (failures > 0) suspect++
    const healthy = this.#inFlight.size - suspect
    return { healthy: MOST.healthy - healthy, suspect: MOST.suspect - suspect }
  }

  async #readyDue(): Promise<void> {
    if ((await readyDueDeliveries(this.#options.db)) > 0) this.wake()
  }

  async #keep(): Promise<void> {
    const busy = [...this.#endpoints].flatMap(([id, endpoint]) => (endpoint.busy > 0 ? id : []))
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

  #complain(error: unknown): void {
    this.#options.log.warn({ err: error }, 'Webhooks could not be worked on; they are tried again')
  }
}

/** Of several reports about one endpoint: it lives if it took one. */
function merged(before: EndpointReport | undefined, report: EndpointReport): EndpointReport {
  if (!before || report.failures === 0) return report
  if (before.failures === 0) return before
  return { ...report, pauseMs: Math.max(before.pauseMs, report.pauseMs) }
}
