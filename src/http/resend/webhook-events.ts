import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { resendTypeOf } from '../../contracts/resend/webhook-body.ts'
import type { WebhookDelivery } from '../../contracts/webhooks/view.ts'
import { findDelivery, listDeliveries, replayDelivery } from '../../db/webhooks/deliveries.ts'
import type { App } from '../app.ts'
import { requireKey } from '../auth.ts'
import { invalidField, Problem } from '../problem.ts'
import { deliveryBody, refuseDisabled } from '../webhook-delivery.ts'
import { described, idParams } from './describe.ts'
import type { ResendRouteDeps } from './index.ts'
import { page } from './paging.ts'
import { findResendEndpoint } from './webhooks.ts'

/** The id of an event is the value of the header svix-id. */
const PREFIX = 'msg_'
const eventParams = z.object({ id: z.string(), eventId: z.string() })
const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  after: z.string().max(200).optional(),
})

/** A delivery of ours is an event of a webhook at Resend. */
export function resendWebhookEventRoutes(app: App, deps: ResendRouteDeps): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'manage')
  const schema = {
    list: described('Deliveries to an endpoint', { params: idParams, querystring: listQuery }),
    get: described('One delivery with its body', { params: eventParams }),
    replay: described('Deliver again', { params: eventParams }),
  }
  app.get('/webhooks/:id/events', { onRequest, schema: schema.list }, request => list(request, deps))
  app.get('/webhooks/:id/events/:eventId', { onRequest, schema: schema.get }, request => get(request, deps))
  app.post('/webhooks/:id/events/:eventId/replay', { onRequest, schema: schema.replay }, request =>
    replay(request, deps),
  )
}

async function list(request: FastifyRequest, { db }: ResendRouteDeps) {
  const endpoint = await findResendEndpoint(request, db)
  const { limit, after } = request.query as z.output<typeof listQuery>
  const before = after === undefined ? null : deliveryIdOf(after)
  if (after !== undefined && before === null) throw invalidField('after', 'is not an id of this list', 'INVALID_CURSOR')
  // One row more than the page shows whether there is another page.
  const rows = await listDeliveries(db.pool, endpoint.id, { before, limit: limit + 1, status: null })
  return page(rows.slice(0, limit).map(toEvent), rows.length > limit)
}

async function get(request: FastifyRequest, { db }: ResendRouteDeps) {
  const endpoint = await findResendEndpoint(request, db)
  const delivery = await findDelivery(db.pool, endpoint.id, eventParam(request))
  const body = delivery && (await deliveryBody(delivery, db))
  // Without a body: retention has deleted the e-mail that it is about.
  if (!delivery || body === null) throw new Problem('NOT_FOUND')
  return {
    object: 'webhook_event',
    ...toEvent(delivery),
    next_attempt_at: delivery.nextAttemptAt,
    payload: JSON.parse(body),
  }
}

async function replay(request: FastifyRequest, { db, webhooks }: ResendRouteDeps) {
  const endpoint = await findResendEndpoint(request, db)
  refuseDisabled(endpoint)
  const delivery = await replayDelivery(db.pool, endpoint.id, eventParam(request))
  if (!delivery) throw new Problem('NOT_FOUND')
  webhooks.onEnqueued()
  return { object: 'webhook_event', id: PREFIX + delivery.id }
}

function toEvent({ id, type, createdAt, status, attempts }: WebhookDelivery) {
  return { id: PREFIX + id, type: resendTypeOf(type), created_at: createdAt, status: statusOf(status, attempts) }
}

function statusOf(status: WebhookDelivery['status'], attempts: number) {
  if (status === 'delivered') return 'success'
  if (status === 'failed') return 'failed'
  return attempts > 0 ? 'attempting' : 'pending'
}

function eventParam(request: FastifyRequest): string {
  const id = deliveryIdOf((request.params as z.output<typeof eventParams>).eventId)
  if (id === null) throw new Problem('NOT_FOUND')
  return id
}

function deliveryIdOf(eventId: string): string | null {
  const id = eventId.startsWith(PREFIX) ? eventId.slice(PREFIX.length) : eventId
  return z.uuid().safeParse(id).success ? id : null
}
