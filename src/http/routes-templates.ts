import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  type NewTemplate,
  newTemplateSchema,
  publishSchema,
  type TemplateChange,
  templateChangeSchema,
  templateSchema,
  templateWithVersionsSchema,
} from '../contracts/templates/view.ts'
import { deleteTemplate } from '../db/templates/changes.ts'
import { listTemplates } from '../db/templates/templates.ts'
import type { App } from './app.ts'
import { requireKey } from './auth.ts'
import { boundBodies, TEMPLATE_MEMORY } from './body-memory.ts'
import { TEMPLATE_BODY_LIMIT } from './limits.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import {
  authorOf,
  findChangeable,
  findReadable,
  showQuery,
  type TemplateRouteDeps,
  templateBodyRefusals,
  templateRefusals,
  withVersions,
} from './template-access.ts'
import { createFrom, publishOf, saveDraft } from './template-changes.ts'

const tags = ['Templates']
const params = z.object({ id: z.string() })
const changed = { 200: templateWithVersionsSchema, ...templateRefusals, ...problemAnswers(409) }

const listSchema = {
  summary: 'Your templates, and the starters that they do not replace',
  tags,
  response: { 200: z.object({ data: z.array(templateSchema) }).meta({ id: 'TemplateList' }), ...templateRefusals },
}
const showSchema = {
  summary: 'One template with its versions, and the content of one',
  tags,
  params,
  querystring: showQuery,
  response: { 200: templateWithVersionsSchema, ...templateRefusals, ...problemAnswers(422) },
}
const createSchema = {
  summary: 'Create a template of a type and locale; its first version is a draft unless publish is true',
  tags,
  body: newTemplateSchema,
  response: { 201: templateWithVersionsSchema, ...templateRefusals, ...templateBodyRefusals, ...problemAnswers(409) },
}
const updateSchema = {
  summary: 'Make a new draft from the newest version and these changes, in place of the draft there is',
  tags,
  params,
  body: templateChangeSchema,
  response: { ...changed, ...templateBodyRefusals },
}
const publishRouteSchema = {
  summary: 'Put the draft, or an older version, into use',
  tags,
  params,
  body: publishSchema,
  response: { ...changed, ...templateBodyRefusals },
}
const removeSchema = {
  summary: 'Delete a template with all versions; the starters of its type are used again',
  tags,
  params,
  response: { 200: z.object({ id: z.uuid(), deleted: z.literal(true) }), ...templateRefusals, ...problemAnswers(409) },
}

export function templateRoutes(app: App, deps: TemplateRouteDeps): void {
  const { db, keys, pepper } = deps
  const mayRead = requireKey(keys, pepper, 'read')
  const mayManage = requireKey(keys, pepper, 'manage')
  const mayWrite = [mayManage, boundBodies(TEMPLATE_MEMORY, request => request.key!.companyId)]
  const large = { onRequest: mayWrite, bodyLimit: TEMPLATE_BODY_LIMIT }

  app.get('/v1/templates', { onRequest: mayRead, schema: listSchema }, async request => ({
    data: await listTemplates(db.pool, request.key!.companyId),
  }))
  app.get('/v1/templates/:id', { onRequest: mayRead, schema: showSchema }, async request =>
    withVersions(await findReadable(request, db), db, (request.query as z.output<typeof showQuery>).version ?? null),
  )
  app.post('/v1/templates', { ...large, schema: createSchema }, (request, reply) => create(request, reply, deps))
  app.patch('/v1/templates/:id', { ...large, schema: updateSchema }, request => update(request, deps))
  app.post('/v1/templates/:id/publish', { onRequest: mayManage, schema: publishRouteSchema }, request =>
    publish(request, deps),
  )
  app.delete('/v1/templates/:id', { onRequest: mayManage, schema: removeSchema }, request => remove(request, deps))
}

async function create(request: FastifyRequest, reply: FastifyReply, deps: TemplateRouteDeps) {
  const created = await createFrom(request.body as NewTemplate, authorOf(request), deps)
  return reply
    .code(201)
    .header('location', `/v1/templates/${created.id}`)
    .send(await withVersions(created, deps.db))
}

async function update(request: FastifyRequest, deps: TemplateRouteDeps) {
  const author = authorOf(request)
  const { id } = await findChangeable(request, deps.db)
  return withVersions(await saveDraft(id, request.body as TemplateChange, author, deps), deps.db)
}

async function publish(request: FastifyRequest, { db }: TemplateRouteDeps) {
  const author = authorOf(request)
  const { id } = await findChangeable(request, db)
  const { version = null } = request.body as z.output<typeof publishSchema>
  return withVersions(await publishOf(id, version, author, db), db)
}

async function remove(request: FastifyRequest, { db }: TemplateRouteDeps) {
  const author = authorOf(request)
  const { id } = await findChangeable(request, db)
  if (!(await deleteTemplate(db.pool, author, id))) throw new Problem('NOT_FOUND')
  return { id, deleted: true as const }
}
