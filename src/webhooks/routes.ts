import { z } from 'zod'
import type { Author } from '../audit/audit.ts'
import { requireKnownCompany } from '../companies/company-of-request.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { isTestKey, type Principal, performedBy } from '../web/access.ts'
import { invalidField, Problem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import { deliveryBody, findDelivery, listDeliveries } from './deliveries.ts'
import {
  addEndpoint,
  changeEndpoint,
  type EndpointOwner,
  listEndpoints,
  refuseUrl,
  removeEndpoint,
  renewSecret,
  replayEvent,
  requireEndpoint,
  sendTestEvent,
  type WebhookDeps,
} from './endpoints.ts'
import { countEndpoints, listEndpointOverviews, webhookOverviewSchema } from './overview.ts'
import {
  DELIVERY_STATUSES,
  newWebhookSchema,
  WEBHOOK_LIMITS,
  webhookChangeSchema,
  webhookDeliverySchema,
  webhookSchema,
  webhookWithSecretSchema,
} from './view.ts'

const tag = 'Webhooks'
const path = (rest = '') => ({
  key: `/v1/webhooks/:id${rest}`,
  admin: `/admin/companies/:companyId/webhooks/:id${rest}`,
})

export function webhookRoutes(deps: WebhookDeps) {
  const { db, webhooks } = deps

  return {
    create: route(
      {
        method: 'POST',
        path: '/v1/webhooks',
        access: { key: 'manage' },
        tag,
        summary: 'Register an endpoint; the answer shows its secret, once',
        body: newWebhookSchema,
        response: { 201: webhookWithSecretSchema },
        refusals: [409],
      },
      ({ body }, { principal, companyId, status }) => {
        refuseUrl('url', body.url, deps)
        status(201)
        return addEndpoint(
          deps,
          { companyId, test: isTestKey(principal) },
          { ...body, format: 'native' },
          authorOf(principal),
        )
      },
    ),

    createForCompany: route(
      {
        method: 'POST',
        path: '/admin/companies/:companyId/webhooks',
        access: { admin: 'administrator' },
        summary: 'Register an endpoint for a company; the answer shows its secret, once',
        params: z.object({ companyId: z.string().max(100) }),
        body: newWebhookByAdmin,
        response: { 201: webhookWithSecretSchema },
        refusals: [409],
      },
      async ({ params, body: { test, ...wanted } }, { principal, status }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        refuseUrl('url', wanted.url, deps)
        status(201)
        return addEndpoint(deps, { companyId, test }, { ...wanted, format: 'native' }, authorOf(principal))
      },
    ),

    list: route(
      {
        method: 'GET',
        path: '/v1/webhooks',
        access: { key: 'read' },
        tag,
        summary: 'All endpoints',
        response: z.object({ data: z.array(webhookSchema) }).meta({ id: 'WebhookList' }),
      },
      async (_, { principal, companyId }) => ({
        data: await listEndpoints(db.pool, { companyId, test: isTestKey(principal) }),
      }),
    ),

    listOverviews: route(
      {
        method: 'GET',
        path: '/admin/webhooks',
        access: { admin: 'viewer' },
        summary:
          'Webhook endpoints of every company: how many of their latest deliveries succeeded, and the last failure',
        query: overviewQuery,
        response: overviewPageSchema,
      },
      async ({ query: { companyId, state, cursor, limit } }) => {
        const [after] =
          cursor === undefined ? [] : await listEndpointOverviews(db.pool, { webhookId: cursor, limit: 1 })
        if (cursor !== undefined && !after)
          throw invalidField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
        const filter = { companyId, state, after, limit: limit + 1 }
        const [rows, counts] = await Promise.all([listEndpointOverviews(db.pool, filter), countEndpoints(db.pool)])
        return { counts, ...pageOf(rows, limit) }
      },
    ),

    show: route(
      {
        method: 'GET',
        path: '/v1/webhooks/:id',
        access: { key: 'read' },
        tag,
        summary: 'One endpoint',
        params: endpointParams,
        response: webhookSchema,
      },
      ({ params }, { principal, companyId }) => requireEndpoint(db.pool, ownerOf(principal, companyId), params.id),
    ),

    showOverview: route(
      {
        method: 'GET',
        path: '/admin/webhooks/:webhookId',
        access: { admin: 'viewer' },
        summary: 'One webhook endpoint',
        params: z.object({ webhookId: z.string().max(100) }),
        response: webhookOverviewSchema,
      },
      async ({ params: { webhookId } }) => {
        const [endpoint] = isUuid(webhookId) ? await listEndpointOverviews(db.pool, { webhookId, limit: 1 }) : []
        if (!endpoint) throw new Problem('NOT_FOUND', { detail: 'There is no such webhook endpoint.' })
        return endpoint
      },
    ),

    change: route(
      {
        method: 'PATCH',
        path: path(),
        access: { key: 'manage', admin: 'administrator' },
        tag,
        summary: 'Change an endpoint, disable it, or enable it again',
        params: endpointParams,
        body: webhookChangeSchema,
        response: webhookSchema,
      },
      async ({ params, body }, { principal, companyId }) => {
        if (body.url !== undefined) refuseUrl('url', body.url, deps)
        const owner = ownerOf(principal, companyId)
        const endpoint = await requireEndpoint(db.pool, owner, params.id)
        return changeEndpoint(deps, owner, endpoint, body, authorOf(principal))
      },
    ),

    remove: route(
      {
        method: 'DELETE',
        path: path(),
        access: { key: 'manage', admin: 'administrator' },
        tag,
        summary: 'Remove an endpoint',
        params: endpointParams,
        response: z.object({ id: z.uuid(), deleted: z.literal(true) }),
      },
      async ({ params }, { principal, companyId }) => {
        const owner = ownerOf(principal, companyId)
        const endpoint = await requireEndpoint(db.pool, owner, params.id)
        await removeEndpoint(deps, owner, endpoint, authorOf(principal))
        return { id: endpoint.id, deleted: true as const }
      },
    ),

    rotateSecret: route(
      {
        method: 'POST',
        path: path('/rotate-secret'),
        access: { key: 'manage', admin: 'administrator' },
        tag,
        summary: `Make a new secret; the old one signs as well for ${WEBHOOK_LIMITS.OVERLAP_HOURS} hours`,
        params: endpointParams,
        response: webhookWithSecretSchema,
      },
      async ({ params }, { principal, companyId }) => {
        const owner = ownerOf(principal, companyId)
        const endpoint = await requireEndpoint(db.pool, owner, params.id)
        return renewSecret(deps, owner, endpoint, authorOf(principal))
      },
    ),

    test: route(
      {
        method: 'POST',
        path: path('/test'),
        access: { key: 'manage', admin: 'support' },
        tag,
        summary: 'Send a webhook.test event',
        params: endpointParams,
        response: { 202: webhookDeliverySchema },
        refusals: [409],
      },
      async ({ params }, { principal, companyId, status }) => {
        const endpoint = await requireEndpoint(db.pool, ownerOf(principal, companyId), params.id)
        const delivery = await sendTestEvent(db, companyId, endpoint, administrator(principal))
        webhooks.onEnqueued()
        status(202)
        return delivery
      },
    ),

    listDeliveries: route(
      {
        method: 'GET',
        path: path('/deliveries'),
        access: { key: 'read', admin: 'viewer' },
        tag,
        summary: 'Deliveries of the last seven days, newest first',
        params: endpointParams,
        query: deliveryQuery,
        response: deliveryPageSchema,
      },
      async ({ params, query: { cursor = null, limit, status = null } }, { principal, companyId }) => {
        const { id } = await requireEndpoint(db.pool, ownerOf(principal, companyId), params.id)
        return pageOf(await listDeliveries(db.pool, id, { before: cursor, limit: limit + 1, status }), limit)
      },
    ),

    showDelivery: route(
      {
        method: 'GET',
        path: '/admin/companies/:companyId/webhooks/:id/deliveries/:deliveryId',
        access: { admin: 'viewer' },
        summary: 'One delivery with its request and the last answer',
        params: deliveryParams.extend({ companyId: z.string().max(100) }),
        response: exchangeSchema,
      },
      async ({ params: { companyId, id, deliveryId } }, { principal }) => {
        const company = await requireKnownCompany(db, companyId)
        const { url } = await requireEndpoint(db.pool, ownerOf(principal, company.companyId), id)
        const delivery = isUuid(deliveryId) ? await findDelivery(db.pool, id, deliveryId) : null
        if (!delivery)
          throw new Problem('NOT_FOUND', { detail: 'There is no such delivery; they are kept for seven days.' })
        const request = { url, webhookId: `msg_${delivery.id}`, body: await deliveryBody(delivery, db.pool) }
        // The schema leaves out what the body is made of.
        return { ...webhookDeliverySchema.parse(delivery), request }
      },
    ),

    replay: route(
      {
        method: 'POST',
        path: path('/deliveries/:deliveryId/replay'),
        access: { key: 'manage', admin: 'support' },
        tag,
        summary: 'Deliver it again, under the same webhook-id',
        params: deliveryParams,
        response: { 202: webhookDeliverySchema },
        refusals: [409],
      },
      async ({ params: { id, deliveryId } }, { principal, companyId, status }) => {
        const endpoint = await requireEndpoint(db.pool, ownerOf(principal, companyId), id)
        const delivery = await replayEvent(db, companyId, endpoint, deliveryId, administrator(principal))
        webhooks.onEnqueued()
        status(202)
        return delivery
      },
    ),
  }
}

const newWebhookByAdmin = newWebhookSchema
  .extend({ test: z.boolean().default(false).describe('Gets events of test e-mails only') })
  .meta({ id: 'NewWebhookByAdmin', example: { url: 'https://example.com/hooks' } })

const cursor = z.uuid('is not a cursor of this list').optional()
const limit = z.coerce.number().int().min(1).max(100).default(50)
const overviewQuery = z.object({
  companyId: z.uuid().optional(),
  state: z.enum(['enabled', 'failing', 'disabled']).optional(),
  cursor,
  limit,
})
const overviewPageSchema = z
  .object({
    counts: z.object({ enabled: z.int(), failing: z.int(), disabled: z.int() }).describe('Of all companies'),
    data: z.array(webhookOverviewSchema),
    cursor: z.string().nullable(),
    hasMore: z.boolean(),
  })
  .meta({ id: 'WebhookOverviewList' })

const endpointParams = z.object({ id: z.string() })
const deliveryParams = endpointParams.extend({ deliveryId: z.string() })
const deliveryQuery = z.object({ status: z.enum(DELIVERY_STATUSES).optional(), cursor, limit })
const deliveryPageSchema = z
  .object({ data: z.array(webhookDeliverySchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'WebhookDeliveryList' })
const exchangeSchema = webhookDeliverySchema
  .extend({
    request: z.object({
      url: z.string(),
      webhookId: z.string().describe('The header webhook-id'),
      body: z.string().nullable().describe('null: retention has deleted the e-mail that it is about'),
    }),
  })
  .meta({ id: 'WebhookExchange' })

/** A key sees the endpoints of its mode, everybody else those of both. */
const ownerOf = (principal: Principal, companyId: string): EndpointOwner => ({
  companyId,
  test: principal.kind === 'key' ? principal.test : null,
})

const authorOf = (principal: Principal): Author => ({ performedBy: performedBy(principal) })
const administrator = (principal: Principal) => (principal.kind === 'key' ? null : authorOf(principal))

/** One row more than the page has was read: it shows whether there is another page. */
function pageOf<Row extends { id: string }>(rows: Row[], limit: number) {
  const data = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return { data, cursor: hasMore ? data.at(-1)!.id : null, hasMore }
}
