import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  newWebhookSchema,
  WEBHOOK_LIMITS,
  webhookChangeSchema,
  webhookSchema,
  webhookWithSecretSchema,
} from '../contracts/webhooks/view.ts'
import { changeEndpoint, removeEndpoint } from '../db/webhooks/changes.ts'
import { countEndpoints, listEndpointOverviews, RATED_DELIVERIES } from '../db/webhooks/overview.ts'
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
} from './admin-company.ts'
import { findAdminEndpoint, ownerOfEndpoint } from './admin-webhook.ts'
import type { App } from './app.ts'
import { invalidField, Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { addEndpoint, refuseUrl, renewSecret, type WebhookRouteDeps } from './webhook-endpoint.ts'

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
