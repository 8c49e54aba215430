import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  type NewTemplate,
  newTemplateSchema,
  publishSchema,
  TEMPLATES_PER_COMPANY,
  type TemplateChange,
  templateChangeSchema,
  templateSchema,
  templateWithVersionsSchema,
} from '../contracts/templates/view.ts'
import { addDraft, createTemplate, deleteTemplate, publishVersion } from '../db/templates/changes.ts'
import { findTemplate, findVersion, listTemplates } from '../db/templates/templates.ts'
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
  refuseUnusable,
  type TemplateRouteDeps,
  templateBodyRefusals,
  templateRefusals,
  withVersions,
} from './template-access.ts'

const tags = ['Templates']
const params = z.object({ id: z.string() })
const changed = { 200: templateWithVersionsSchema, ...templateRefusals, ...problemAnswers(409) }

const showQuery = z.object({
  version: z.coerce.number().int().min(1).max(1_000_000).optional().describe('The newest when absent'),
})

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

async function create(request: FastifyRequest, reply: FastifyReply, { db, accept }: TemplateRouteDeps) {
  const author = authorOf(request)
  const { type, locale = null, subject, html = null, text = null, publish } = request.body as NewTemplate
  await refuseUnusable({ subject, html, text }, author.companyId, accept.html)
  const template = { type, locale, subject, html, text, publish }
  const outcome = await createTemplate(db.pool, author, template, TEMPLATES_PER_COMPANY)
  if (outcome.kind === 'exists')
    throw new Problem('TEMPLATE_EXISTS', { detail: `There is a template ${type} in this locale; change it instead.` })
  if (outcome.kind === 'limit')
    throw new Problem('TEMPLATE_LIMIT_REACHED', { detail: `A company has at most ${TEMPLATES_PER_COMPANY} templates.` })
  const created = await findTemplate(db.pool, author.companyId, outcome.id)
  return reply
    .code(201)
    .header('location', `/v1/templates/${outcome.id}`)
    .send(await withVersions(created!, db))
}

async function update(request: FastifyRequest, { db, accept }: TemplateRouteDeps) {
  const author = authorOf(request)
  const { id } = await findChangeable(request, db)
  const newest = await findVersion(db.pool, id, null)
  const { subject = newest!.subject, html = newest!.html, text = newest!.text } = request.body as TemplateChange
  await refuseUnusable({ subject, html, text }, author.companyId, accept.html)
  if ((await addDraft(db.pool, author, id, { subject, html, text })) === null) throw new Problem('NOT_FOUND')
  return withVersions(await findReadable(request, db), db)
}

async function publish(request: FastifyRequest, { db }: TemplateRouteDeps) {
  const author = authorOf(request)
  const { id } = await findChangeable(request, db)
  const { version = null } = request.body as z.output<typeof publishSchema>
  if ((await publishVersion(db.pool, author, id, version)) === null)
    throw new Problem('NOTHING_TO_PUBLISH', {
      detail: version === null ? 'The template has no draft.' : `The template has no version ${version}.`,
    })
  return withVersions(await findReadable(request, db), db)
}

async function remove(request: FastifyRequest, { db }: TemplateRouteDeps) {
  const author = authorOf(request)
  const { id } = await findChangeable(request, db)
  if (!(await deleteTemplate(db.pool, author, id))) throw new Problem('NOT_FOUND')
  return { id, deleted: true as const }
}
