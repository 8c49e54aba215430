import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  ADMINISTRATORS,
  adminAuthor,
  adminBodyRefusals,
  adminDescription,
  adminRefusals,
  companyParams,
  knownCompany,
  onlyReason,
  reasonSchema,
} from '../companies/company-of-request.ts'
import type { Owner } from '../companies/keys.ts'
import type { Database } from '../platform/postgres/pool.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { findDelivery } from './deliveries.ts'
import { changeEndpoint, removeEndpoint, replayEvent, sendTestEvent } from './endpoints.ts'
import { countEndpoints, type EndpointOverview, listEndpointOverviews, RATED_DELIVERIES } from './overview.ts'
import {
  addEndpoint,
  type DeliveryQuery,
  deliveryBody,
  deliveryPage,
  deliveryPageSchema,
  deliveryQuery,
  refuseDisabled,
  refuseUrl,
  renewSecret,
  testDelivery,
  type WebhookRouteDeps,
} from './routes.ts'
import {
  newWebhookSchema,
  WEBHOOK_LIMITS,
  webhookChangeSchema,
  webhookDeliverySchema,
  webhookSchema,
  webhookWithSecretSchema,
} from './view.ts'

export type AdminWebhookDeps = AdminRouteDeps & Pick<WebhookRouteDeps, 'webhooks'>

const instant = z.iso.datetime()
const overviewSchema = webhookSchema
  .extend({
    companyId: z.uuid(),
    companyName: z.string(),
    waiting: z.int().describe('Deliveries that are ready, or due for another attempt later; counted up to 1000'),
    recent: z
      .object({
        delivered: z.int(),
        failed: z.int(),
        retrying: z.int().describe('Every attempt so far failed, and another one follows'),
        lastDeliveredAt: instant.nullable(),
        lastFailure: z.object({ at: instant, status: z.int().nullable(), error: z.string().nullable() }).nullable(),
      })
      .describe(`Of its latest ${RATED_DELIVERIES} deliveries`),
  })
  .meta({ id: 'WebhookOverview' })
const listQuery = z.object({
  companyId: z.uuid().optional(),
  state: z.enum(['enabled', 'failing', 'disabled']).optional(),
  cursor: z.uuid('is not a cursor of this list').optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})
const pageSchema = z
  .object({
    counts: z.object({ enabled: z.int(), failing: z.int(), disabled: z.int() }).describe('Of all companies'),
    data: z.array(overviewSchema),
    cursor: z.string().nullable(),
    hasMore: z.boolean(),
  })
  .meta({ id: 'WebhookOverviewList' })
const params = z.object({ webhookId: z.string().max(100) })
const newBody = newWebhookSchema
  .extend({ test: z.boolean().default(false).describe('Gets events of test e-mails only'), reason: reasonSchema })
  .meta({ id: 'NewWebhookByAdmin', example: { url: 'https://example.com/hooks' } })
const changeBody = webhookChangeSchema
  .safeExtend({ reason: reasonSchema })
  .meta({ id: 'WebhookChangeByAdmin', example: { enabled: true } })
const changing = { ...adminRefusals, ...adminBodyRefusals }

const listSchema = {
  summary: 'Webhook endpoints of every company: how many of their latest deliveries succeeded, and the last failure',
  ...adminDescription,
  querystring: listQuery,
  response: { 200: pageSchema, ...adminRefusals },
}
const showSchema = {
  summary: 'One webhook endpoint',
  ...adminDescription,
  params,
  response: { 200: overviewSchema, ...adminRefusals },
}
const createSchema = {
  summary: 'Register an endpoint for a company; the answer shows its secret, once',
  ...adminDescription,
  params: companyParams,
  body: newBody,
  response: { 201: webhookWithSecretSchema, ...changing },
}
const changeSchema = {
  summary: 'Change an endpoint, disable it, or enable it again',
  ...adminDescription,
  params,
  body: changeBody,
  response: { 200: webhookSchema, ...changing },
}
const removeSchema = {
  summary: 'Remove an endpoint',
  ...adminDescription,
  params,
  body: onlyReason,
  response: { 200: z.object({ id: z.uuid(), deleted: z.literal(true) }), ...changing },
}
const rotateSchema = {
  summary: `Make a new secret, shown once; the old one signs as well for ${WEBHOOK_LIMITS.OVERLAP_HOURS} hours`,
  ...adminDescription,
  params,
  body: onlyReason,
  response: { 200: webhookWithSecretSchema, ...changing },
}

export function adminWebhookRoutes(app: App, deps: AdminWebhookDeps): void {
  const { onRequest } = deps
  const options = { onRequest, config: ADMINISTRATORS }
  app.get('/admin/webhooks', { onRequest, schema: listSchema }, request => list(request, deps))
  app.get('/admin/webhooks/:webhookId', { onRequest, schema: showSchema }, request =>
    findAdminEndpoint(request, deps.db),
  )
  app.post('/admin/companies/:companyId/webhooks', { ...options, schema: createSchema }, (request, reply) =>
    create(request, reply, deps),
  )
  app.patch('/admin/webhooks/:webhookId', { ...options, schema: changeSchema }, request => change(request, deps))
  app.post('/admin/webhooks/:webhookId/remove', { ...options, schema: removeSchema }, request => remove(request, deps))
  app.post('/admin/webhooks/:webhookId/rotate-secret', { ...options, schema: rotateSchema }, async request => {
    const endpoint = await findAdminEndpoint(request, deps.db)
    return renewSecret(ownerOfEndpoint(endpoint), adminAuthor(request), endpoint.id, deps)
  })
}

async function list(request: FastifyRequest, { db }: AdminWebhookDeps) {
  const { companyId = null, state = null, cursor, limit } = request.query as z.output<typeof listQuery>
  const none = { companyId: null, webhookId: null, state: null, after: null }
  const [last] =
    cursor === undefined ? [] : await listEndpointOverviews(db.pool, { ...none, webhookId: cursor, limit: 1 })
  if (cursor !== undefined && !last) throw invalidField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
  const filter = { ...none, companyId, state, after: last ?? null, limit: limit + 1 }
  const [rows, counts] = await Promise.all([listEndpointOverviews(db.pool, filter), countEndpoints(db.pool)])
  const data = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return { counts, data, cursor: hasMore ? data.at(-1)!.id : null, hasMore }
}

async function create(request: FastifyRequest, reply: FastifyReply, deps: AdminWebhookDeps) {
  const { companyId } = await knownCompany(request, deps.db)
  const { url, description = null, eventTypes, test } = request.body as z.output<typeof newBody>
  refuseUrl('url', url, deps)
  const wanted = { url, description, eventTypes, format: 'native' as const }
  return reply.code(201).send(await addEndpoint({ companyId, test }, adminAuthor(request), wanted, deps))
}

async function change(request: FastifyRequest, deps: AdminWebhookDeps) {
  const endpoint = await findAdminEndpoint(request, deps.db)
  const { reason: _, ...wanted } = request.body as z.output<typeof changeBody>
  if (wanted.url !== undefined) refuseUrl('url', wanted.url, deps)
  const owner = ownerOfEndpoint(endpoint)
  const changed = await changeEndpoint(deps.db.pool, owner, endpoint.id, wanted, adminAuthor(request))
  if (!changed) throw new Problem('NOT_FOUND')
  return changed
}

async function remove(request: FastifyRequest, { db }: AdminWebhookDeps) {
  const endpoint = await findAdminEndpoint(request, db)
  const { id } = endpoint
  if (!(await removeEndpoint(db.pool, ownerOfEndpoint(endpoint), id, adminAuthor(request))))
    throw new Problem('NOT_FOUND')
  return { id, deleted: true as const }
}

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

const deliveriesSchema = {
  summary: 'Deliveries to an endpoint in the last seven days, newest first',
  ...adminDescription,
  params,
  querystring: deliveryQuery,
  response: { 200: deliveryPageSchema, ...adminRefusals },
}
const deliverySchema = {
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
  app.get(`${path}/deliveries`, { onRequest, schema: deliveriesSchema }, async request => {
    const { id } = await findAdminEndpoint(request, deps.db)
    return deliveryPage(deps.db, id, request.query as DeliveryQuery)
  })
  app.get(`${path}/deliveries/:deliveryId`, { onRequest, schema: deliverySchema }, request => show(request, deps))
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

/** Of any company. */
export async function findAdminEndpoint(request: FastifyRequest, db: Database): Promise<EndpointOverview> {
  const webhookId = uuidParam(request, 'webhookId')
  const [endpoint] = await listEndpointOverviews(db.pool, {
    companyId: null,
    webhookId,
    state: null,
    after: null,
    limit: 1,
  })
  if (!endpoint) throw new Problem('NOT_FOUND', { detail: 'There is no such webhook endpoint.' })
  return endpoint
}

export const ownerOfEndpoint = ({ companyId, test }: EndpointOverview): Owner => ({ companyId, test })
