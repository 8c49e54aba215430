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
import { listEndpoints } from '../db/webhooks/endpoints.ts'
import type { App } from './app.ts'
import { authorOf, ownerOf, requireKey } from './auth.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'
import {
  addEndpoint,
  findOwnEndpoint,
  refusals,
  refuseUrl,
  renewSecret,
  type WebhookRouteDeps,
} from './webhook-endpoint.ts'

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
