import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { webhookDeliverySchema } from '../contracts/webhooks/view.ts'
import type { Database } from '../db/pool.ts'
import { putTestDelivery, replayDelivery } from '../db/webhooks/deliveries.ts'
import type { App } from './app.ts'
import { requireKey } from './auth.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'
import {
  type DeliveryQuery,
  deliveryPage,
  deliveryPageSchema,
  deliveryQuery,
  refuseDisabled,
  testDelivery,
} from './webhook-delivery.ts'
import { findOwnEndpoint, refusals, type WebhookRouteDeps } from './webhook-endpoint.ts'

const tags = ['Webhooks']
const params = z.object({ id: z.string() })
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
  querystring: deliveryQuery,
  response: { 200: deliveryPageSchema, ...refusals, ...problemAnswers(422) },
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
  const delivery = await putTestDelivery(db.pool, testDelivery(endpoint, request.key!.companyId, db))
  webhooks.onEnqueued()
  return reply.code(202).send(delivery)
}

async function list(request: FastifyRequest, db: Database) {
  const endpoint = await findOwnEndpoint(request, db)
  return deliveryPage(db, endpoint.id, request.query as DeliveryQuery)
}

async function replay(request: FastifyRequest, reply: FastifyReply, { db, webhooks }: WebhookRouteDeps) {
  const endpoint = await findOwnEndpoint(request, db)
  refuseDisabled(endpoint)
  const delivery = await replayDelivery(db.pool, endpoint.id, uuidParam(request, 'deliveryId'))
  if (!delivery) throw new Problem('NOT_FOUND')
  webhooks.onEnqueued()
  return reply.code(202).send(delivery)
}
