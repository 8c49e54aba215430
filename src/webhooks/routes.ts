import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Author } from '../audit/audit.ts'
import type { Owner } from '../companies/keys.ts'
import { authorOf, type KeyRegistry, ownerOf, requireKey } from '../companies/require-key.ts'
import { type CipherContext, decrypt, encrypt, type KeyRing } from '../platform/encryption.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { loadEventFacts } from './claim.ts'
import { makeBody, makeWebhookSecret } from './deliver.ts'
import { type DeliveryWithFacts, listDeliveries, putTestDelivery, replayDelivery } from './deliveries.ts'
import * as changes from './endpoints.ts'
import {
  changeEndpoint,
  findEndpoint,
  findSecretCipher,
  listEndpoints,
  type NewEndpoint,
  removeEndpoint,
} from './endpoints.ts'
import { refuseWebhookUrl } from './request.ts'
import {
  DELIVERY_STATUSES,
  newWebhookSchema,
  WEBHOOK_LIMITS,
  type WebhookEndpoint,
  webhookChangeSchema,
  webhookDeliverySchema,
  webhookSchema,
  webhookWithSecretSchema,
} from './view.ts'

export type WebhookRouteDeps = {
  db: Database
  keys: KeyRegistry
  pepper: string
  webhooks: { keys: KeyRing; allowPrivate: boolean; onEnqueued: () => void }
}

export const refusals = problemAnswers(400, 401, 403, 404, 503)

/** 404 also for an endpoint of another company or mode, so that an answer does not reveal that it exists. */
export async function findOwnEndpoint(request: FastifyRequest, db: Database): Promise<WebhookEndpoint> {
  const endpoint = await findEndpoint(db.pool, ownerOf(request), uuidParam(request, 'id'))
  if (!endpoint) throw new Problem('NOT_FOUND')
  return endpoint
}

export type WebhookWithSecret = WebhookEndpoint & { secret: string }
type Wanted = Pick<NewEndpoint, 'url' | 'description' | 'eventTypes' | 'format'>

/** Also the routes of administrators: they name the owner and the author. */
export async function addEndpoint(
  owner: Owner,
  author: Author,
  wanted: Wanted,
  { db, webhooks }: Pick<WebhookRouteDeps, 'db' | 'webhooks'>,
): Promise<WebhookWithSecret> {
  const secret = makeWebhookSecret()
  const secretCipher = encrypt(secret, webhooks.keys, secretPlace(owner))
  const endpoint = { ...wanted, endpointId: db.clock.newId(), owner, secretCipher }
  const added = await changes.addEndpoint(db.pool, endpoint, WEBHOOK_LIMITS.ENDPOINTS, author)
  if (!added)
    throw new Problem('WEBHOOK_LIMIT_REACHED', {
      detail: `A company has at most ${WEBHOOK_LIMITS.ENDPOINTS} webhook endpoints of each mode; remove one first.`,
    })
  return { ...added, secret }
}

export async function renewSecret(
  owner: Owner,
  author: Author,
  endpointId: string,
  { db, webhooks }: Pick<WebhookRouteDeps, 'db' | 'webhooks'>,
): Promise<WebhookWithSecret> {
  const secret = makeWebhookSecret()
  const renewal = {
    cipher: encrypt(secret, webhooks.keys, secretPlace(owner)),
    overlapHours: WEBHOOK_LIMITS.OVERLAP_HOURS,
  }
  const endpoint = await changes.renewSecret(db.pool, owner, endpointId, renewal, author)
  if (!endpoint) throw new Problem('NOT_FOUND')
  return { ...endpoint, secret }
}

/** The signing secret in use. */
export async function readSecret(request: FastifyRequest, { db, webhooks }: WebhookRouteDeps): Promise<string> {
  const owner = ownerOf(request)
  const cipher = await findSecretCipher(db.pool, owner, uuidParam(request, 'id'))
  if (!cipher) throw new Problem('NOT_FOUND')
  return decrypt(cipher, webhooks.keys, secretPlace(owner))
}

/** The ciphertext is bound to company and column: copied elsewhere, it cannot be decrypted. */
function secretPlace({ companyId }: Owner): CipherContext {
  return { companyId, column: 'webhook_endpoints.secret' }
}

export function refuseUrl(path: string, url: string, { webhooks }: Pick<WebhookRouteDeps, 'webhooks'>): void {
  const message = refuseWebhookUrl(url, webhooks.allowPrivate)
  if (message) throw invalidField(path, message, 'INVALID_WEBHOOK_URL')
}

const tags = ['Webhooks']
const params = z.object({ id: z.string() })
const bodyRefusals = problemAnswers(413, 415, 422)

const createSchema = {
  summary: 'Register an endpoint; the answer shows its secret, once',
  tags,
  body: newWebhookSchema,
  response: { 201: webhookWithSecretSchema, ...refusals, ...bodyRefusals, ...problemAnswers(409) },
}
const listSchema = {
  summary: 'All endpoints',
  tags,
  response: { 200: z.object({ data: z.array(webhookSchema) }).meta({ id: 'WebhookList' }), ...refusals },
}
const showSchema = { summary: 'One endpoint', tags, params, response: { 200: webhookSchema, ...refusals } }
const updateSchema = {
  summary: 'Change an endpoint, disable it, or enable it again',
  tags,
  params,
  body: webhookChangeSchema,
  response: { 200: webhookSchema, ...refusals, ...bodyRefusals },
}
const removeSchema = {
  summary: 'Remove an endpoint',
  tags,
  params,
  response: { 200: z.object({ id: z.uuid(), deleted: z.literal(true) }), ...refusals },
}
const rotateSchema = {
  summary: `Make a new secret; the old one signs as well for ${WEBHOOK_LIMITS.OVERLAP_HOURS} hours`,
  tags,
  params,
  response: { 200: webhookWithSecretSchema, ...refusals },
}

export function webhookRoutes(app: App, deps: WebhookRouteDeps): void {
  const { db, keys, pepper } = deps
  const mayRead = requireKey(keys, pepper, 'read')
  const mayManage = requireKey(keys, pepper, 'manage')

  app.post('/v1/webhooks', { onRequest: mayManage, schema: createSchema }, (request, reply) =>
    create(request, reply, deps),
  )
  app.get('/v1/webhooks', { onRequest: mayRead, schema: listSchema }, async request => ({
    data: await listEndpoints(db.pool, ownerOf(request)),
  }))
  app.get('/v1/webhooks/:id', { onRequest: mayRead, schema: showSchema }, request => findOwnEndpoint(request, db))
  app.patch('/v1/webhooks/:id', { onRequest: mayManage, schema: updateSchema }, request => update(request, deps))
  app.delete('/v1/webhooks/:id', { onRequest: mayManage, schema: removeSchema }, request => remove(request, deps))
  app.post('/v1/webhooks/:id/rotate-secret', { onRequest: mayManage, schema: rotateSchema }, request =>
    renewSecret(ownerOf(request), authorOf(request), uuidParam(request, 'id'), deps),
  )
}

async function create(request: FastifyRequest, reply: FastifyReply, deps: WebhookRouteDeps) {
  const { url, description = null, eventTypes } = request.body as z.output<typeof newWebhookSchema>
  refuseUrl('url', url, deps)
  const wanted = { url, description, eventTypes, format: 'native' as const }
  return reply.code(201).send(await addEndpoint(ownerOf(request), authorOf(request), wanted, deps))
}

async function update(request: FastifyRequest, deps: WebhookRouteDeps) {
  const id = uuidParam(request, 'id')
  const change = request.body as z.output<typeof webhookChangeSchema>
  if (change.url !== undefined) refuseUrl('url', change.url, deps)
  const endpoint = await changeEndpoint(deps.db.pool, ownerOf(request), id, change, authorOf(request))
  if (!endpoint) throw new Problem('NOT_FOUND')
  return endpoint
}

async function remove(request: FastifyRequest, { db }: WebhookRouteDeps) {
  const id = uuidParam(request, 'id')
  if (!(await removeEndpoint(db.pool, ownerOf(request), id, authorOf(request)))) throw new Problem('NOT_FOUND')
  return { id, deleted: true as const }
}

export const deliveryQuery = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  cursor: z.uuid('is not a cursor of this list').optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})
export type DeliveryQuery = z.output<typeof deliveryQuery>

export const deliveryPageSchema = z
  .object({ data: z.array(webhookDeliverySchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'WebhookDeliveryList' })

export async function deliveryPage(db: Database, endpointId: string, { cursor, limit, status }: DeliveryQuery) {
  // One row more than the page shows whether there is another page.
  const filter = { before: cursor ?? null, limit: limit + 1, status: status ?? null }
  const rows = await listDeliveries(db.pool, endpointId, filter)
  const page = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return { data: page, cursor: hasMore ? page.at(-1)!.id : null, hasMore }
}

/** null: retention has deleted the e-mail that it is about. */
export async function deliveryBody(delivery: DeliveryWithFacts, db: Database): Promise<string | null> {
  if (delivery.body !== null) return delivery.body
  const { outboxId, eventId } = delivery
  if (outboxId === null || eventId === null) return makeBody(delivery, null)
  const facts = (await loadEventFacts(db.pool, [{ outboxId, eventId }])).get(eventId)
  return facts ? makeBody(delivery, facts) : null
}

export function testDelivery({ id }: WebhookEndpoint, companyId: string, { clock }: Database) {
  const data = { webhookId: id, message: 'It works.' }
  return { endpointId: id, companyId, deliveryId: clock.newId(), data }
}

export function refuseDisabled({ enabled, disabledReason }: WebhookEndpoint): void {
  if (!enabled)
    throw new Problem('WEBHOOK_DISABLED', {
      detail: `It was disabled (${disabledReason}); enable it first: PATCH {"enabled": true}.`,
    })
}

const testSchema = {
  summary: 'Send a webhook.test event',
  tags,
  params,
  response: { 202: webhookDeliverySchema, ...refusals, ...problemAnswers(409) },
}
const deliveriesSchema = {
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
  app.get('/v1/webhooks/:id/deliveries', { onRequest: mayRead, schema: deliveriesSchema }, request => list(request, db))
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
