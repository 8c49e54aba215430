import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isResendEventType, RESEND_EVENT_TYPES, type ResendEventType } from '../../contracts/resend/webhook-body.ts'
import type { WebhookEventType } from '../../contracts/webhooks/events.ts'
import type { WebhookEndpoint } from '../../contracts/webhooks/view.ts'
import { WEBHOOK_LIMITS } from '../../contracts/webhooks/view.ts'
import type { Database } from '../../db/pool.ts'
import { changeEndpoint, removeEndpoint } from '../../db/webhooks/changes.ts'
import { listEndpoints } from '../../db/webhooks/endpoints.ts'
import type { App } from '../app.ts'
import { authorOf, ownerOf, requireKey } from '../auth.ts'
import { Problem } from '../problem.ts'
import { addEndpoint, findOwnEndpoint, readSecret, refuseUrl, renewSecret } from '../webhook-endpoint.ts'
import { described, idParams } from './describe.ts'
import type { ResendRouteDeps } from './index.ts'
import { type PageQuery, pageOf, pageQuery } from './paging.ts'

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
  const found = await findOwnEndpoint(request, db)
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
  const wanted = { url: body.endpoint, description: null, eventTypes, format: 'resend' as const }
  const { id, secret } = await addEndpoint(ownerOf(request), authorOf(request), wanted, deps)
  return reply.code(201).send({ object: 'webhook', id, signing_secret: secret })
}

async function list(request: FastifyRequest, { db }: ResendRouteDeps) {
  const endpoints = await listEndpoints(db.pool, ownerOf(request))
  const own = endpoints.filter(({ format }) => format === 'resend').reverse()
  return pageOf(own.map(toWebhook), request.query as PageQuery)
}

async function get(request: FastifyRequest, deps: ResendRouteDeps) {
  const found = await findResendEndpoint(request, deps.db)
  return { object: 'webhook', ...toWebhook(found), signing_secret: await readSecret(request, deps) }
}

async function update(request: FastifyRequest, deps: ResendRouteDeps) {
  const { id } = await findResendEndpoint(request, deps.db)
  const body = request.body as z.output<typeof webhookChangeBody>
  if (body.endpoint !== undefined) refuseUrl('endpoint', body.endpoint, deps)
  const change = {
    url: body.endpoint,
    eventTypes: body.events && toEventTypes(body.events),
    enabled: body.status && body.status === 'enabled',
  }
  await changeEndpoint(deps.db.pool, ownerOf(request), id, change, authorOf(request))
  return { object: 'webhook', id }
}

async function remove(request: FastifyRequest, { db }: ResendRouteDeps) {
  const { id } = await findResendEndpoint(request, db)
  await removeEndpoint(db.pool, ownerOf(request), id, authorOf(request))
  return { object: 'webhook', id, deleted: true }
}

async function rotate(request: FastifyRequest, deps: ResendRouteDeps) {
  const { id } = await findResendEndpoint(request, deps.db)
  const { secret } = await renewSecret(ownerOf(request), authorOf(request), id, deps)
  return { object: 'webhook', id, signing_secret: secret }
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
