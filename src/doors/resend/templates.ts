import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireKey } from '../../companies/require-key.ts'
import { formatAddress } from '../../platform/text/addresses.ts'
import { createdOrProblem, createTemplate, deleteTemplate, publishVersion } from '../../templates/changes.ts'
import { authorOf, refuseUnusable } from '../../templates/routes.ts'
import { boundBodies, TEMPLATE_BODY_LIMIT, TEMPLATE_MEMORY } from '../../web/body.ts'
import { Problem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { described, idParams, type PageQuery, pageOf, pageQuery } from './describe.ts'
import type { ResendRouteDeps } from './routes.ts'
import {
  findResendTemplate,
  insertResendSource,
  listResendTemplates,
  problemsOfTemplate,
  type ResendTemplate,
  type ResendTemplateRow,
  resendTemplateSchema,
  translateTemplate,
} from './stored-templates.ts'

export function resendTemplateRoutes(app: App, deps: ResendRouteDeps): void {
  const mayRead = requireKey(deps.keys, deps.pepper, 'read')
  const mayManage = requireKey(deps.keys, deps.pepper, 'manage')
  const mayWrite = [mayManage, boundBodies(TEMPLATE_MEMORY, request => request.key!.companyId)]
  const schema = {
    create: described('Create a template, as a draft', { body: resendTemplateSchema }),
    list: described('Templates', { querystring: pageQuery }),
    get: described('One template, by its id or alias', { params: idParams }),
    publish: described('Put the draft of a template into use', { params: idParams }),
    remove: described('Delete a template', { params: idParams }),
  }
  app.post(
    '/templates',
    { onRequest: mayWrite, bodyLimit: TEMPLATE_BODY_LIMIT, schema: schema.create },
    (request, reply) => create(request, reply, deps),
  )
  app.get('/templates', { onRequest: mayRead, schema: schema.list }, async request => {
    const templates = await listResendTemplates(deps.db.pool, request.key!.companyId)
    return pageOf(templates.map(toListItem), request.query as PageQuery)
  })
  app.get('/templates/:id', { onRequest: mayRead, schema: schema.get }, async request =>
    toTemplate(await findOwn(request, deps)),
  )
  app.post('/templates/:id/publish', { onRequest: mayManage, schema: schema.publish }, request =>
    publish(request, deps),
  )
  app.delete('/templates/:id', { onRequest: mayManage, schema: schema.remove }, request => remove(request, deps))
}

async function create(request: FastifyRequest, reply: FastifyReply, { db, accept }: ResendRouteDeps) {
  const author = authorOf(request.principal!, request.key!.companyId)
  const body = request.body as ResendTemplate
  const problems = problemsOfTemplate(body)
  if (problems.length > 0) throw new Problem('INVALID_TEMPLATE', { errors: problems })
  const source = translateTemplate(body)
  await refuseUnusable(source, author.companyId, accept.html)
  const type = body.alias ?? typeOf(body.name)
  const outcome = await createTemplate(
    db.pool,
    author,
    { ...source, type, locale: null, publish: false },
    (tx, templateId) => insertResendSource(tx, templateId, toSource(body)),
  )
  const id = createdOrProblem(outcome, `There is a template with the alias ${type}.`)
  return reply.code(201).send({ object: 'template', id })
}

/** `Order confirmation` → `order-confirmation-1f2e3d4c`. Names need not be unique, types are. */
function typeOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 50)
    .replace(/-$/, '')
  return `${words || 'template'}-${randomBytes(4).toString('hex')}`
}

function toSource({ name, from, reply_to, subject, html, text, variables }: ResendTemplate) {
  return {
    name,
    from: from ? formatAddress(from) : null,
    replyTo: reply_to?.map(formatAddress) ?? null,
    subject,
    html,
    text: text || null,
    variables: variables ?? [],
  }
}

async function publish(request: FastifyRequest, deps: ResendRouteDeps) {
  const author = authorOf(request.principal!, request.key!.companyId)
  const { id } = await findOwn(request, deps)
  // null: there is no draft, so the newest version is in use already.
  await publishVersion(deps.db.pool, author, id, null)
  return { object: 'template', id }
}

async function remove(request: FastifyRequest, deps: ResendRouteDeps) {
  const author = authorOf(request.principal!, request.key!.companyId)
  const { id } = await findOwn(request, deps)
  await deleteTemplate(deps.db.pool, author, id)
  return { object: 'template', id, deleted: true }
}

async function findOwn(request: FastifyRequest, { db }: ResendRouteDeps): Promise<ResendTemplateRow> {
  const { id } = request.params as { id: string }
  const found = id.includes('\0') ? null : await findResendTemplate(db.pool, request.key!.companyId, id)
  if (!found) throw new Problem('NOT_FOUND', { detail: 'Template not found' })
  return found
}

function toListItem(template: ResendTemplateRow) {
  const { id, name, alias, isPublished, publishedAt, createdAt, updatedAt } = template
  return {
    id,
    name,
    status: isPublished ? ('published' as const) : ('draft' as const),
    published_at: publishedAt,
    created_at: createdAt,
    updated_at: updatedAt,
    alias,
  }
}

function toTemplate(template: ResendTemplateRow) {
  const { createdAt: created_at, updatedAt: updated_at } = template
  return {
    object: 'template',
    ...toListItem(template),
    subject: template.subject,
    html: template.html ?? '',
    text: template.text,
    from: template.from,
    reply_to: template.replyTo,
    variables: template.variables?.map(variable => ({ ...variable, created_at, updated_at })) ?? null,
    has_unpublished_versions: template.hasDraft,
    current_version_id: template.versionId,
  }
}
