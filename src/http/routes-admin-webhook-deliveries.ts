import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { webhookDeliverySchema } from '../contracts/webhooks/view.ts'
import { replayEvent, sendTestEvent } from '../db/webhooks/changes.ts'
import { findDelivery } from '../db/webhooks/deliveries.ts'
import { adminAuthor, adminBodyRefusals, adminDescription, adminRefusals, onlyReason } from './admin-company.ts'
import { findAdminEndpoint } from './admin-webhook.ts'
import type { App } from './app.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'
import type { AdminWebhookDeps } from './routes-admin-webhooks.ts'
import {
  type DeliveryQuery,
  deliveryBody,
  deliveryPage,
  deliveryPageSchema,
  deliveryQuery,
  refuseDisabled,
  testDelivery,
} from './webhook-delivery.ts'

const params = z.object({ webhookId: z.string().max(100) })
const deliveryParams = params.extend({ deliveryId: z.string().max(100) })
const exchangeSchema = webhookDeliverySchema
  .extend({
    request: z.object({
      url: z.string(),
      webhookId: z.string().describe('The header webhook-id'),
      body: z.string().nullable().describe('null: retention has deleted the e-mail that it is about'),
    }),
  })
  .meta({ id: 'WebhookExchange' })

const listSchema = {
  summary: 'Deliveries to an endpoint in the last seven days, newest first',
  ...adminDescription,
  params,
  querystring: deliveryQuery,
  response: { 200: deliveryPageSchema, ...adminRefusals },
}
const showSchema = {
  summary: 'One delivery with its request and the last answer',
  ...adminDescription,
  params: deliveryParams,
  response: { 200: exchangeSchema, ...adminRefusals },
}
const testSchema = {
  summary: 'Send a webhook.test event',
  ...adminDescription,
  params,
  body: onlyReason,
  response: { 202: webhookDeliverySchema, ...adminRefusals, ...adminBodyRefusals },
}
const replaySchema = { ...testSchema, summary: 'Deliver it again, under the same webhook-id', params: deliveryParams }

export function adminWebhookDeliveryRoutes(app: App, deps: AdminWebhookDeps): void {
  const path = '/admin/webhooks/:webhookId'
  const { onRequest } = deps
  app.get(`${path}/deliveries`, { onRequest, schema: listSchema }, async request => {
    const { id } = await findAdminEndpoint(request, deps.db)
    return deliveryPage(deps.db, id, request.query as DeliveryQuery)
  })
  app.get(`${path}/deliveries/:deliveryId`, { onRequest, schema: showSchema }, request => show(request, deps))
  app.post(`${path}/test`, { onRequest, schema: testSchema }, (request, reply) => test(request, reply, deps))
  app.post(`${path}/deliveries/:deliveryId/replay`, { onRequest, schema: replaySchema }, (request, reply) =>
    replay(request, reply, deps),
  )
}

async function show(request: FastifyRequest, { db }: AdminWebhookDeps) {
  const { id, url } = await findAdminEndpoint(request, db)
  const found = await findDelivery(db.pool, id, uuidParam(request, 'deliveryId'))
  if (!found) throw new Problem('NOT_FOUND', { detail: 'There is no such delivery; they are kept for seven days.' })
  const sent = { url, webhookId: `msg_${found.id}`, body: await deliveryBody(found, db) }
  // The schema leaves out what the body is made of.
  return { ...webhookDeliverySchema.parse(found), request: sent }
}

async function test(request: FastifyRequest, reply: FastifyReply, { db, webhooks }: AdminWebhookDeps) {
  const endpoint = await findAdminEndpoint(request, db)
  refuseDisabled(endpoint)
  const wanted = testDelivery(endpoint, endpoint.companyId, db)
  const delivery = await sendTestEvent(db.pool, wanted, adminAuthor(request))
  webhooks.onEnqueued()
  return reply.code(202).send(delivery)
}

async function replay(request: FastifyRequest, reply: FastifyReply, { db, webhooks }: AdminWebhookDeps) {
  const endpoint = await findAdminEndpoint(request, db)
  refuseDisabled(endpoint)
  const wanted = {
    endpointId: endpoint.id,
    companyId: endpoint.companyId,
    deliveryId: uuidParam(request, 'deliveryId'),
  }
  const delivery = await replayEvent(db.pool, wanted, adminAuthor(request))
  if (!delivery) throw new Problem('NOT_FOUND', { detail: 'There is no such delivery; they are kept for seven days.' })
  webhooks.onEnqueued()
  return reply.code(202).send(delivery)
}
