import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { DELIVERY_STATUSES, webhookDeliverySchema } from '../contracts/webhooks/view.ts'
import type { Database } from '../db/pool.ts'
import { listDeliveries, putTestDelivery, replayDelivery } from '../db/webhooks/deliveries.ts'
import type { WebhookEndpoint } from '../db/webhooks/endpoints.ts'
import type { App } from './app.ts'
import { requireKey } from './auth.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'
import { findOwnEndpoint, refusals, type WebhookRouteDeps } from './webhook-endpoint.ts'

const tags = ['Webhooks']
const params = z.object({ id: z.string() })
const listQuery = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  cursor: z.uuid('is not a cursor of this list').optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})
const pageSchema = z
  .object({ data: z.array(webhookDeliverySchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'WebhookDeliveryList' })

const testSchema = {
  summary: 'Send a webhook.test event',
  tags,
  params,
  response: { 202: webhookDeliverySchema, ...refusals, ...problemAnswers(409) },
}
const listSchema = {
  summary: 'Deliveries of the last seven days, newest first',
  tags,
  params,
  querystring: listQuery,
  response: { 200: pageSchema, ...refusals, ...problemAnswers(422) },
}
const replaySchema = {
  summary: 'Deliver it again, under the same webhook-id',
  tags,
  params: z.object({ id: z.string(), deliveryId: z.string() }),
  response: { 202: webhookDeliverySchema, ...refusals, ...problemAnswers(409) },
}

export function webhookDeliveryRoutes(app: App, deps: WebhookRouteDeps): void {
  const { db, keys, pepper } = deps
  const mayRead = requireKey(keys, pepper, 'read')
  const mayManage = requireKey(keys, pepper, 'manage')

  app.post('/v1/webhooks/:id/test', { onRequest: mayManage, schema: testSchema }, (request, reply) =>
    sendTest(request, reply, deps),
  )
  app.get('/v1/webhooks/:id/deliveries', { onRequest: mayRead, schema: listSchema }, request => list(request, db))
  app.post(
    '/v1/webhooks/:id/deliveries/:deliveryId/replay',
    { onRequest: mayManage, schema: replaySchema },
    (request, reply) => replay(request, reply, deps),
  )
}

async function sendTest(request: FastifyRequest, reply: FastifyReply, { db, webhooks }: WebhookRouteDeps) {
  const endpoint = await findOwnEndpoint(request, db)
  refuseDisabled(endpoint)
  const delivery = await putTestDelivery(db.pool, {
    endpointId: endpoint.id,
    companyId: request.key!.companyId,
    deliveryId: db.clock.newId(),
    data: { webhookId: endpoint.id, message: 'It works.' },
  })
  webhooks.onEnqueued()
  return reply.code(202).send(delivery)
}

async function list(request: FastifyRequest, db: Database) {
  const endpoint = await findOwnEndpoint(request, db)
  const { cursor, limit, status } = request.query as z.output<typeof listQuery>
  // One row more than the page shows whether there is another page.
  const filter = { before: cursor ?? null, limit: limit + 1, status: status ?? null }
  const rows = await listDeliveries(db.pool, endpoint.id, filter)
  const page = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return { data: page, cursor: hasMore ? page.at(-1)!.id : null, hasMore }
}

async function replay(request: FastifyRequest, reply: FastifyReply, { db, webhooks }: WebhookRouteDeps) {
  const endpoint = await findOwnEndpoint(request, db)
  refuseDisabled(endpoint)
  const delivery = await replayDelivery(db.pool, endpoint.id, uuidParam(request, 'deliveryId'))
  if (!delivery) throw new Problem('NOT_FOUND')
  webhooks.onEnqueued()
  return reply.code(202).send(delivery)
}

export function refuseDisabled({ enabled, disabledReason }: WebhookEndpoint): void {
  if (!enabled)
    throw new Problem('WEBHOOK_DISABLED', {
      detail: `It was disabled (${disabledReason}); enable it first: PATCH {"enabled": true}.`,
    })
}
