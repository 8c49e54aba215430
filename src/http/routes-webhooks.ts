import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Owner } from '../contracts/api-key.ts'
import { type CipherContext, encrypt, type KeyRing } from '../contracts/encryption.ts'
import { makeWebhookSecret } from '../contracts/webhooks/signature.ts'
import {
  DELIVERY_STATUSES,
  newWebhookSchema,
  WEBHOOK_LIMITS,
  webhookChangeSchema,
  webhookDeliverySchema,
  webhookSchema,
  webhookWithSecretSchema,
} from '../contracts/webhooks/view.ts'
import type { Database } from '../db/pool.ts'
import { listDeliveries, putTestDelivery, replayDelivery } from '../db/webhooks/deliveries.ts'
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  rotateSecret,
  updateEndpoint,
  type WebhookEndpoint,
} from '../db/webhooks/endpoints.ts'
import { refuseWebhookUrl } from '../webhooks/address-check.ts'
import type { App } from './app.ts'
import { ownerOf, requireKey } from './auth.ts'
import type { KeyRegistry } from './key-registry.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'

export type WebhookRouteDeps = {
  db: Database
  keys: KeyRegistry
  pepper: string
  webhooks: { keys: KeyRing; allowPrivate: boolean; onEnqueued: () => void }
}

const params = z.object({ id: z.string() })
const deliveryParams = z.object({ id: z.string(), deliveryId: z.string() })
const refusals = problemAnswers(400, 401, 403, 404, 503)
const bodyRefusals = problemAnswers(413, 415, 422)

const listQuery = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  cursor: z.uuid('is not a cursor of this list').optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})
const listSchema = z.object({ data: z.array(webhookSchema) }).meta({ id: 'WebhookList' })
const deliveryListSchema = z
  .object({ data: z.array(webhookDeliverySchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'WebhookDeliveryList' })

export function webhookRoutes(app: App, { db, keys, pepper, webhooks }: WebhookRouteDeps): void {
  const mayRead = requireKey(keys, pepper, 'read')
  const mayManage = requireKey(keys, pepper, 'manage')
  const tags = ['Webhooks']
  const own = (request: FastifyRequest) => ownEndpoint(db, request.params, ownerOf(request))

  app.post(
    '/v1/webhooks',
    {
      onRequest: mayManage,
      schema: {
        summary: 'Register an endpoint; the answer shows its secret, once',
        tags,
        body: newWebhookSchema,
        response: { 201: webhookWithSecretSchema, ...refusals, ...bodyRefusals, ...problemAnswers(409) },
      },
    },
    async (request, reply) => {
      const body = request.body as z.output<typeof newWebhookSchema>
      refuseUrl(body.url, webhooks.allowPrivate)
      const secret = makeWebhookSecret()
      const made = await insertEndpoint(
        db.pool,
        {
          endpointId: db.clock.newId(),
          owner: ownerOf(request),
          url: body.url,
          description: body.description ?? null,
          eventTypes: body.eventTypes,
          secretCipher: encrypt(secret, webhooks.keys, secretOf(request)),
        },
        WEBHOOK_LIMITS.ENDPOINTS,
      )
      if (!made)
        throw new Problem('WEBHOOK_LIMIT_REACHED', {
          detail: `A company has at most ${WEBHOOK_LIMITS.ENDPOINTS} webhook endpoints of each mode; remove one first.`,
        })
      return reply.code(201).send({ ...made, secret })
    },
  )

  app.get(
    '/v1/webhooks',
    { onRequest: mayRead, schema: { summary: 'All endpoints', tags, response: { 200: listSchema, ...refusals } } },
    async request => ({ data: await listEndpoints(db.pool, ownerOf(request)) }),
  )

  app.get(
    '/v1/webhooks/:id',
    {
      onRequest: mayRead,
      schema: { summary: 'One endpoint', tags, params, response: { 200: webhookSchema, ...refusals } },
    },
    async request => own(request),
  )

  app.patch(
    '/v1/webhooks/:id',
    {
      onRequest: mayManage,
      schema: {
        summary: 'Change an endpoint, disable it, or enable it again',
        tags,
        params,
        body: webhookChangeSchema,
        response: { 200: webhookSchema, ...refusals, ...bodyRefusals },
      },
    },
    async request => {
      const { id } = uuidParams(request.params)
      const change = request.body as z.output<typeof webhookChangeSchema>
      if (change.url !== undefined) refuseUrl(change.url, webhooks.allowPrivate)
      const changed = await updateEndpoint(db.pool, ownerOf(request), id, change)
      if (!changed) throw new Problem('NOT_FOUND')
      return changed
    },
  )

  app.delete(
    '/v1/webhooks/:id',
    {
      onRequest: mayManage,
      schema: {
        summary: 'Remove an endpoint',
        tags,
        params,
        response: { 200: z.object({ id: z.uuid(), deleted: z.literal(true) }), ...refusals },
      },
    },
    async request => {
      const { id } = uuidParams(request.params)
      if (!(await deleteEndpoint(db.pool, ownerOf(request), id))) throw new Problem('NOT_FOUND')
      return { id, deleted: true as const }
    },
  )

  app.post(
    '/v1/webhooks/:id/rotate-secret',
    {
      onRequest: mayManage,
      schema: {
        summary: `Make a new secret; the old one signs as well for ${WEBHOOK_LIMITS.OVERLAP_HOURS} hours`,
        tags,
        params,
        response: { 200: webhookWithSecretSchema, ...refusals },
      },
    },
    async request => {
      const { id } = uuidParams(request.params)
      const secret = makeWebhookSecret()
      const cipher = encrypt(secret, webhooks.keys, secretOf(request))
      const rotated = await rotateSecret(db.pool, ownerOf(request), id, cipher, WEBHOOK_LIMITS.OVERLAP_HOURS)
      if (!rotated) throw new Problem('NOT_FOUND')
      return { ...rotated, secret }
    },
  )

  app.post(
    '/v1/webhooks/:id/test',
    {
      onRequest: mayManage,
      schema: {
        summary: 'Send a webhook.test event',
        tags,
        params,
        response: { 202: webhookDeliverySchema, ...refusals, ...problemAnswers(409) },
      },
    },
    async (request, reply) => {
      const { companyId } = request.key!
      const endpoint = await own(request)
      refuseDisabled(endpoint)
      const delivery = await putTestDelivery(db.pool, {
        endpointId: endpoint.id,
        companyId,
        deliveryId: db.clock.newId(),
        data: { webhookId: endpoint.id, message: 'It works.' },
      })
      webhooks.onEnqueued()
      return reply.code(202).send(delivery)
    },
  )

  app.get(
    '/v1/webhooks/:id/deliveries',
    {
      onRequest: mayRead,
      schema: {
        summary: 'Deliveries of the last seven days, newest first',
        tags,
        params,
        querystring: listQuery,
        response: { 200: deliveryListSchema, ...refusals, ...problemAnswers(422) },
      },
    },
    async request => {
      const endpoint = await own(request)
      const { cursor, limit, status } = request.query as z.output<typeof listQuery>
      // One more than asked for tells whether there is another page.
      const filter = { before: cursor ?? null, limit: limit + 1, status: status ?? null }
      const rows = await listDeliveries(db.pool, endpoint.id, filter)
      const page = rows.slice(0, limit)
      const hasMore = rows.length > limit
      return { data: page, cursor: hasMore ? page.at(-1)!.id : null, hasMore }
    },
  )

  app.post(
    '/v1/webhooks/:id/deliveries/:deliveryId/replay',
    {
      onRequest: mayManage,
      schema: {
        summary: 'Deliver it again, under the same webhook-id',
        tags,
        params: deliveryParams,
        response: { 202: webhookDeliverySchema, ...refusals, ...problemAnswers(409) },
      },
    },
    async (request, reply) => {
      const endpoint = await own(request)
      refuseDisabled(endpoint)
      const { deliveryId } = request.params as z.output<typeof deliveryParams>
      if (!z.uuid().safeParse(deliveryId).success) throw new Problem('NOT_FOUND')
      const delivery = await replayDelivery(db.pool, endpoint.id, deliveryId)
      if (!delivery) throw new Problem('NOT_FOUND')
      webhooks.onEnqueued()
      return reply.code(202).send(delivery)
    },
  )
}

/** Another company's endpoint, one of the other mode and one that never was look the same. */
async function ownEndpoint(db: Database, given: unknown, owner: Owner): Promise<WebhookEndpoint> {
  const endpoint = await findEndpoint(db.pool, owner, uuidParams(given).id)
  if (!endpoint) throw new Problem('NOT_FOUND')
  return endpoint
}

function uuidParams(given: unknown): { id: string } {
  const { id } = given as { id: string }
  if (!z.uuid().safeParse(id).success) throw new Problem('NOT_FOUND')
  return { id }
}

/** What the secret is sealed to. */
function secretOf(request: FastifyRequest): CipherContext {
  return { companyId: request.key!.companyId, column: 'webhook_endpoints.secret' }
}

function refuseUrl(url: string, allowPrivate: boolean): void {
  const message = refuseWebhookUrl(url, allowPrivate)
  if (message) throw new Problem('INVALID_PAYLOAD', { errors: [{ path: 'url', code: 'INVALID_WEBHOOK_URL', message }] })
}

function refuseDisabled({ enabled, disabledReason }: WebhookEndpoint): void {
  if (!enabled)
    throw new Problem('WEBHOOK_DISABLED', {
      detail: `It was disabled (${disabledReason}); enable it first: PATCH {"enabled": true}.`,
    })
}
