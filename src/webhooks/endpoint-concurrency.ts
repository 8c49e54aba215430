import { type DeliveryDecision, webhookCooldownMs } from '../contracts/webhooks/schedule.ts'
import type { ClaimedDelivery, CompanyRoom } from '../db/webhooks/claim.ts'
import type { EndpointReport } from '../db/webhooks/settle.ts'

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
