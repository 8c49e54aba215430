import { type AfterWebhook, webhookCooldownMs } from '../contracts/webhooks/schedule.ts'
import type { ClaimedDelivery, CompanyRoom } from '../db/webhooks/claim.ts'
import type { EndpointReport } from '../db/webhooks/settle.ts'

/** In flight in this process. Those whose last attempt failed share the second, so they never take the others' places. */
const MOST = { healthy: 512, suspect: 64 }
const MOST_PER_COMPANY = { healthy: 128, suspect: 16 }
/** In flight to one endpoint; reached by doubling from one, since nobody knows yet whether it answers. */
const MOST_PER_ENDPOINT = 8
/** Endpoints whose pace is remembered. */
const REMEMBERED = 5_000

type Endpoint = { busy: number; limit: number; failures: number; failedAtMs: number }

/** What is in flight, and how much each endpoint is trusted with. */
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
    if (this.#endpoints.size <= REMEMBERED) return
    for (const [id, { busy }] of this.#endpoints) if (busy === 0) this.#endpoints.delete(id)
  }

  /** Attempts that were under way together and failed are one failure. Null when there is nothing to write down. */
  judge(
    { endpointId, failures }: ClaimedDelivery,
    verdict: AfterWebhook,
    startedMs: number,
    nowMs: number,
  ): EndpointReport | null {
    const endpoint = this.#endpoint(endpointId)
    if (verdict.kind === 'delivered') {
      const recovered = endpoint.failures > 0 || failures > 0
      endpoint.failures = 0
      endpoint.limit = Math.min(MOST_PER_ENDPOINT, endpoint.limit * 2)
      return recovered ? { endpointId, failures: 0, pauseMs: 0 } : null
    }
    if (verdict.kind === 'failed' && verdict.ours) return null
    if (startedMs >= endpoint.failedAtMs || endpoint.failures === 0) endpoint.failures++
    endpoint.failedAtMs = nowMs
    endpoint.limit = 1
    const pauseMs = Math.max(verdict.pauseMs, webhookCooldownMs(endpoint.failures))
    return { endpointId, failures: endpoint.failures, pauseMs }
  }

  /** How many more each of these may have; any other may have one. */
  room(): Map<string, number> {
    const room = new Map<string, number>()
    for (const [id, { busy, limit }] of this.#endpoints) {
      if (busy > 0 || limit > 1) room.set(id, Math.max(0, limit - busy))
    }
    return room
  }

  /** Places left in this process. */
  left(): { healthy: number; suspect: number } {
    let suspect = 0
    for (const { failures } of this.#inFlight.values()) if (failures > 0) suspect++
    return { healthy: MOST.healthy - (this.#inFlight.size - suspect), suspect: MOST.suspect - suspect }
  }

  /** How many more each company may have. */
  companyRoom(): { healthy: CompanyRoom; suspect: CompanyRoom } {
    const held = { healthy: new Map<string, number>(), suspect: new Map<string, number>() }
    for (const { companyId, failures } of this.#inFlight.values()) {
      const own = failures > 0 ? held.suspect : held.healthy
      own.set(companyId, (own.get(companyId) ?? 0) + 1)
    }
    const left = this.left()
    return {
      healthy: roomBeside(held.healthy, left.healthy, MOST_PER_COMPANY.healthy),
      suspect: roomBeside(held.suspect, left.suspect, MOST_PER_COMPANY.suspect),
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
 * A company never holds more than it leaves free, nor more than `most`: n companies whose endpoints hang hold an n+1st of all
 * each, and one that comes now finds as many. The last ones go to companies that have none.
 */
function roomBeside(held: Map<string, number>, left: number, most: number): CompanyRoom {
  const own = [...held].map(([companyId, count]) => {
    const more = Math.min(most - count, Math.floor((left - count) / 2))
    return [companyId, Math.max(0, more)] as const
  })
  return { companies: Object.fromEntries(own), others: Math.min(most, Math.ceil(left / 2)) }
}
