import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { requireKey } from '../companies/require-key.ts'
import type { SendRouteDeps } from '../pipeline/accept/routes.ts'
import type { HtmlChecker } from '../platform/html/check.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { boundBodies, TEMPLATE_BODY_LIMIT, TEMPLATE_MEMORY } from '../web/body.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { addDraft, createTemplate, deleteTemplate, publishVersion, type TemplateAuthor } from './changes.ts'
import { markupOf, problemsOfMarkup, usedVariables } from './markup.ts'
import { parseTemplate, type TemplateSource } from './parse.ts'
import { findTemplate, findVersion, listTemplates, listVersions, type Version } from './templates.ts'
import {
  type NewTemplate,
  newTemplateSchema,
  publishSchema,
  TEMPLATES_PER_COMPANY,
  type TemplateChange,
  type TemplateView,
  templateChangeSchema,
  templateSchema,
  templateWithVersionsSchema,
} from './view.ts'

export type TemplateRouteDeps = SendRouteDeps & { db: Database }

export const showQuery = z.object({
  version: z.coerce.number().int().min(1).max(1_000_000).optional().describe('The newest when absent'),
})

export const templateRefusals = problemAnswers(400, 401, 403, 404, 503)
export const templateBodyRefusals = problemAnswers(413, 415, 422)

/** 404 also for a template of another company, so that an answer does not reveal that it exists. */
export async function findReadable(request: FastifyRequest, db: Database): Promise<TemplateView> {
  const template = await findTemplate(db.pool, request.key!.companyId, uuidParam(request, 'id'))
  if (!template) throw new Problem('NOT_FOUND')
  return template
}

export async function findChangeable(request: FastifyRequest, db: Database): Promise<TemplateView> {
  const template = await findReadable(request, db)
  refuseStarter(template)
  return template
}

/** A starter belongs to everybody. */
export function refuseStarter({ starter, type }: TemplateView): void {
  if (!starter) return
  throw new Problem('TEMPLATE_IS_STARTER', {
    detail: `Create your own template with the type ${type}: it replaces the starters of this type.`,
  })
}

/** Live and test mail share templates, so a test key may use them and not change them. */
export function authorOf({ key }: FastifyRequest): TemplateAuthor {
  const { keyId, companyId, mode } = key!
  if (mode === 'test')
    throw new Problem('INSUFFICIENT_SCOPE', { detail: 'Live and test e-mails share templates: a live key is needed.' })
  return { companyId, performedBy: `key ${keyId}` }
}

/** With the content of one version: this one, or the newest. */
export async function withVersions(template: TemplateView, db: Database, number: number | null = null) {
  const version = await requireVersion(template, db, number)
  const variables = [version.subject, version.html ?? '', version.text ?? ''].flatMap(usedVariables)
  return {
    ...template,
    version: { ...version, variables: [...new Set(variables)].sort() },
    versions: await listVersions(db.pool, template.id),
  }
}

export async function requireVersion({ id }: TemplateView, db: Database, number: number | null): Promise<Version> {
  const version = await findVersion(db.pool, id, number)
  if (!version) throw invalidField('version', 'is not a version of this template', 'INVALID_VALUE')
  return version
}

export async function refuseUnusable(source: TemplateSource, companyId: string, html: HtmlChecker): Promise<void> {
  const parsed = parseTemplate(source)
  if (!parsed.ok) throw new Problem('INVALID_TEMPLATE', { errors: parsed.problems })
  if (source.html === null) return
  const errors = problemsOfMarkup(await html.check(markupOf(source.html), companyId))
  if (errors.length > 0) throw new Problem('INVALID_TEMPLATE', { errors })
}

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

export type TemplateChangeDeps = { db: Database; accept: { html: HtmlChecker } }

/** The changes of templates that API keys and administrators make. */
export async function createFrom(
  body: NewTemplate,
  author: TemplateAuthor,
  { db, accept }: TemplateChangeDeps,
): Promise<TemplateView> {
  const { type, locale = null, subject, html = null, text = null, publish } = body
  await refuseUnusable({ subject, html, text }, author.companyId, accept.html)
  const template = { type, locale, subject, html, text, publish }
  const outcome = await createTemplate(db.pool, author, template, TEMPLATES_PER_COMPANY)
  if (outcome.kind === 'exists')
    throw new Problem('TEMPLATE_EXISTS', { detail: `There is a template ${type} in this locale; change it instead.` })
  if (outcome.kind === 'limit')
    throw new Problem('TEMPLATE_LIMIT_REACHED', { detail: `A company has at most ${TEMPLATES_PER_COMPANY} templates.` })
  return findOrProblem(outcome.id, author, db)
}

/** From the newest version and these changes. */
export async function saveDraft(
  id: string,
  change: TemplateChange,
  author: TemplateAuthor,
  { db, accept }: TemplateChangeDeps,
): Promise<TemplateView> {
  const newest = await findVersion(db.pool, id, null)
  const { subject = newest!.subject, html = newest!.html, text = newest!.text } = change
  await refuseUnusable({ subject, html, text }, author.companyId, accept.html)
  if ((await addDraft(db.pool, author, id, { subject, html, text })) === null) throw new Problem('NOT_FOUND')
  return findOrProblem(id, author, db)
}

/** version null: the draft. */
export async function publishOf(
  id: string,
  version: number | null,
  author: TemplateAuthor,
  db: Database,
): Promise<TemplateView> {
  if ((await publishVersion(db.pool, author, id, version)) === null)
    throw new Problem('NOTHING_TO_PUBLISH', {
      detail: version === null ? 'The template has no draft.' : `The template has no version ${version}.`,
    })
  return findOrProblem(id, author, db)
}

async function findOrProblem(id: string, { companyId }: TemplateAuthor, db: Database): Promise<TemplateView> {
  const template = await findTemplate(db.pool, companyId, id)
  if (!template) throw new Problem('NOT_FOUND')
  return template
}
