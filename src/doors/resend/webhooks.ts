import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { authorOf, ownerOf, requireKey } from '../../companies/require-key.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { invalidField, Problem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { isResendEventType, RESEND_EVENT_TYPES, type ResendEventType, resendTypeOf } from '../../webhooks/body.ts'
import { deliveryBody, findDelivery, listDeliveries } from '../../webhooks/deliveries.ts'
import {
  addEndpoint,
  changeEndpoint,
  listEndpoints,
  readSecret,
  refuseUrl,
  removeEndpoint,
  renewSecret,
  replayEvent,
  requireEndpoint,
} from '../../webhooks/endpoints.ts'
import type { WebhookEventType } from '../../webhooks/events.ts'
import { WEBHOOK_LIMITS, type WebhookDelivery, type WebhookEndpoint } from '../../webhooks/view.ts'
import { described, idParams, type PageQuery, page, pageOf, pageQuery } from './describe.ts'
import type { ResendRouteDeps } from './routes.ts'

const MAX_EVENTS = 50

const endpoint = z
  .string()
  .max(WEBHOOK_LIMITS.URL)
  .refine(text => !/[\u0000-\u001f\u007f]/.test(text), 'must not contain control characters')
const events = z
  .array(z.string().max(100))
  .min(1)
  .max(MAX_EVENTS)
  .superRefine((types, context) => {
    const unknown = types.filter(type => !isResendEventType(type))
    if (unknown.length === 0) return
    const message = `has ${unknown.join(', ')}, which the gateway does not send; it sends ${Object.keys(RESEND_EVENT_TYPES).join(', ')}`
    context.addIssue({ code: 'custom', message })
  })
const newWebhookBody = z
  .strictObject({ endpoint, events })
  .meta({ example: { endpoint: 'https://example.com/hooks', events: ['email.sent', 'email.bounced'] } })
const webhookChangeBody = z
  .strictObject({
    endpoint: endpoint.optional(),
    events: events.optional(),
    status: z.enum(['enabled', 'disabled']).optional(),
  })
  .refine(body => Object.keys(body).length > 0, 'must name at least one field to change')
  .meta({ example: { status: 'disabled' } })

/** The endpoints that were made here. Those of the native API have other bodies and are managed there. */
export function resendWebhookRoutes(app: App, deps: ResendRouteDeps): void {
  // Manage, also to read: the answer has the signing secret.
  const onRequest = requireKey(deps.keys, deps.pepper, 'manage')
  const schema = {
    create: described('Register a webhook endpoint', { body: newWebhookBody }),
    list: described('Webhook endpoints', { querystring: pageQuery }),
    get: described('One webhook endpoint with its signing secret', { params: idParams }),
    update: described('Change a webhook endpoint', { params: idParams, body: webhookChangeBody }),
    remove: described('Remove a webhook endpoint', { params: idParams }),
    rotate: described('Make a new signing secret', { params: idParams }),
  }
  app.post('/webhooks', { onRequest, schema: schema.create }, (request, reply) => create(request, reply, deps))
  app.get('/webhooks', { onRequest, schema: schema.list }, request => list(request, deps))
  app.get('/webhooks/:id', { onRequest, schema: schema.get }, request => get(request, deps))
  app.patch('/webhooks/:id', { onRequest, schema: schema.update }, request => update(request, deps))
  app.delete('/webhooks/:id', { onRequest, schema: schema.remove }, request => remove(request, deps))
  app.post('/webhooks/:id/signing-secret/rotate', { onRequest, schema: schema.rotate }, request =>
    rotate(request, deps),
  )
}

export async function findResendEndpoint(request: FastifyRequest, db: Database): Promise<WebhookEndpoint> {
  const { id } = request.params as { id: string }
  const found = await requireEndpoint(db.pool, ownerOf(request), id)
  if (found.format !== 'resend') {
    const detail = 'This endpoint was made by the native API; use /v1/webhooks.'
    throw new Problem('NOT_FOUND', { detail })
  }
  return found
}

async function create(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const body = request.body as z.output<typeof newWebhookBody>
  refuseUrl('endpoint', body.endpoint, deps)
  const eventTypes = toEventTypes(body.events)
  const wanted = { url: body.endpoint, eventTypes, format: 'resend' as const }
  const { id, secret } = await addEndpoint(deps, ownerOf(request), wanted, authorOf(request))
  return reply.code(201).send({ object: 'webhook', id, signing_secret: secret })
}

async function list(request: FastifyRequest, { db }: ResendRouteDeps) {
  const endpoints = await listEndpoints(db.pool, ownerOf(request))
  const own = endpoints.filter(({ format }) => format === 'resend').reverse()
  return pageOf(own.map(toWebhook), request.query as PageQuery)
}

async function get(request: FastifyRequest, deps: ResendRouteDeps) {
  const found = await findResendEndpoint(request, deps.db)
  return {
    object: 'webhook',
    ...toWebhook(found),
    signing_secret: await readSecret(deps, request.key!.companyId, found.id),
  }
}

async function update(request: FastifyRequest, deps: ResendRouteDeps) {
  const found = await findResendEndpoint(request, deps.db)
  const body = request.body as z.output<typeof webhookChangeBody>
  if (body.endpoint !== undefined) refuseUrl('endpoint', body.endpoint, deps)
  const change = {
    url: body.endpoint,
    eventTypes: body.events && toEventTypes(body.events),
    enabled: body.status && body.status === 'enabled',
  }
  await changeEndpoint(deps, ownerOf(request), found, change, authorOf(request))
  return { object: 'webhook', id: found.id }
}

async function remove(request: FastifyRequest, deps: ResendRouteDeps) {
  const found = await findResendEndpoint(request, deps.db)
  await removeEndpoint(deps, ownerOf(request), found, authorOf(request))
  return { object: 'webhook', id: found.id, deleted: true }
}

async function rotate(request: FastifyRequest, deps: ResendRouteDeps) {
  const found = await findResendEndpoint(request, deps.db)
  const { secret } = await renewSecret(deps, ownerOf(request), found, authorOf(request))
  return { object: 'webhook', id: found.id, signing_secret: secret }
}

function toEventTypes(types: string[]): WebhookEventType[] {
  const known = types.filter(isResendEventType)
  return [...new Set(known.flatMap((type): readonly WebhookEventType[] => RESEND_EVENT_TYPES[type]))]
}

function toWebhook({ id, createdAt, enabled, url, eventTypes }: WebhookEndpoint) {
  const events = Object.keys(RESEND_EVENT_TYPES).filter(type => eventTypes.includes(type as ResendEventType))
  const status = enabled ? ('enabled' as const) : ('disabled' as const)
  return { id, created_at: createdAt, status, endpoint: url, events }
}

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
  app.get('/webhooks/:id/events', { onRequest, schema: schema.list }, request => listEvents(request, deps))
  app.get('/webhooks/:id/events/:eventId', { onRequest, schema: schema.get }, request => getEvent(request, deps))
  app.post('/webhooks/:id/events/:eventId/replay', { onRequest, schema: schema.replay }, request =>
    replay(request, deps),
  )
}

async function listEvents(request: FastifyRequest, { db }: ResendRouteDeps) {
  const endpoint = await findResendEndpoint(request, db)
  const { limit, after } = request.query as z.output<typeof listQuery>
  const before = after === undefined ? null : deliveryIdOf(after)
  if (after !== undefined && before === null) throw invalidField('after', 'is not an id of this list', 'INVALID_CURSOR')
  // One row more than the page shows whether there is another page.
  const rows = await listDeliveries(db.pool, endpoint.id, { before, limit: limit + 1, status: null })
  return page(rows.slice(0, limit).map(toEvent), rows.length > limit)
}

async function getEvent(request: FastifyRequest, { db }: ResendRouteDeps) {
  const endpoint = await findResendEndpoint(request, db)
  const delivery = await findDelivery(db.pool, endpoint.id, eventParam(request))
  const body = delivery && (await deliveryBody(delivery, db.pool))
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
  const delivery = await replayEvent(db, request.key!.companyId, endpoint, eventParam(request), null)
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
