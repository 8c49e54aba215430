import { z } from 'zod'
import type { WebhookEndpoint } from '../contracts/webhooks/view.ts'
import { DELIVERY_STATUSES, webhookDeliverySchema } from '../contracts/webhooks/view.ts'
import type { Database } from '../db/pool.ts'
import { loadEventFacts } from '../db/webhooks/claim.ts'
import { type DeliveryWithFacts, listDeliveries } from '../db/webhooks/deliveries.ts'
import { makeBody } from '../pipeline/notify.ts'
import { Problem } from './problem.ts'

export const deliveryQuery = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  cursor: z.uuid('is not a cursor of this list').optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})
export type DeliveryQuery = z.output<typeof deliveryQuery>

export const deliveryPageSchema = z
  .object({ data: z.array(webhookDeliverySchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'WebhookDeliveryList' })

export async function deliveryPage(db: Database, endpointId: string, { cursor, limit, status }: DeliveryQuery) {
  // One row more than the page shows whether there is another page.
  const filter = { before: cursor ?? null, limit: limit + 1, status: status ?? null }
  const rows = await listDeliveries(db.pool, endpointId, filter)
  const page = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return { data: page, cursor: hasMore ? page.at(-1)!.id : null, hasMore }
}

/** null: retention has deleted the e-mail that it is about. */
export async function deliveryBody(delivery: DeliveryWithFacts, db: Database): Promise<string | null> {
  if (delivery.body !== null) return delivery.body
  const { outboxId, eventId } = delivery
  if (outboxId === null || eventId === null) return makeBody(delivery, null)
  const facts = (await loadEventFacts(db.pool, [{ outboxId, eventId }])).get(eventId)
  return facts ? makeBody(delivery, facts) : null
}

export function testDelivery({ id }: WebhookEndpoint, companyId: string, { clock }: Database) {
  const data = { webhookId: id, message: 'It works.' }
  return { endpointId: id, companyId, deliveryId: clock.newId(), data }
}

export function refuseDisabled({ enabled, disabledReason }: WebhookEndpoint): void {
  if (!enabled)
    throw new Problem('WEBHOOK_DISABLED', {
      detail: `It was disabled (${disabledReason}); enable it first: PATCH {"enabled": true}.`,
    })
}
