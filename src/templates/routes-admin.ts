import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
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
} from '../companies/company-of-request.ts'
import type { Database } from '../platform/postgres/pool.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { boundBodies, TEMPLATE_BODY_LIMIT, TEMPLATE_MEMORY } from '../web/body.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { deleteTemplate } from './changes.ts'
import {
  createFrom,
  publishOf,
  refuseStarter,
  saveDraft,
  showQuery,
  type TemplateChangeDeps,
  withVersions,
} from './routes.ts'
import { type FoundTemplate, findAnyTemplate, listTemplateOverviews } from './templates.ts'
import {
  newTemplateSchema,
  publishSchema,
  templateChangeSchema,
  templateSchema,
  templateWithVersionsSchema,
} from './view.ts'

const STATISTICS_DAYS = 30

const owner = { companyId: z.uuid().nullable().describe('null: a starter'), companyName: z.string().nullable() }
const overviewSchema = templateSchema
  .extend({
    ...owner,
    figures: z
      .object({ accepted: z.int(), sent: z.int(), failed: z.int(), retries: z.int() })
      .nullable()
      .describe(
        `Live e-mails of the type in the last ${STATISTICS_DAYS} days; null: a starter, in the list of every company`,
      ),
  })
  .meta({ id: 'TemplateOverview' })
const pageSchema = z
  .object({ data: z.array(overviewSchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'TemplateOverviewList' })
const listQuery = z.object({
  companyId: z.uuid().optional().describe('Its own, and the starters that they do not replace'),
  text: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^\0]*$/, 'must not contain NUL')
    .optional()
    .describe('A part of the type'),
  cursor: z.uuid('is not a cursor of this list').optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
})
const params = z.object({ templateId: z.string().max(100) })
const fullSchema = templateWithVersionsSchema.extend(owner).meta({ id: 'TemplateOfCompany' })
const newBody = newTemplateSchema
  .extend({ reason: reasonSchema })
  .meta({ id: 'NewTemplateByAdmin', example: newTemplateSchema.meta()!.example })
const changeBody = templateChangeSchema
  .extend({ reason: reasonSchema })
  .meta({ id: 'TemplateChangeByAdmin', example: templateChangeSchema.meta()!.example })
const publishBody = publishSchema.extend({ reason: reasonSchema }).meta({ id: 'PublishTemplateByAdmin', example: {} })
const changing = { ...adminRefusals, ...adminBodyRefusals }

const listSchema = {
  summary: 'Templates with what became of their e-mails',
  ...adminDescription,
  querystring: listQuery,
  response: { 200: pageSchema, ...adminRefusals },
}
const showSchema = {
  summary: 'One template with its versions, and the content of one',
  ...adminDescription,
  params,
  querystring: showQuery,
  response: { 200: fullSchema, ...adminRefusals },
}
const createSchema = {
  summary: 'Create a template for a company',
  ...adminDescription,
  params: companyParams,
  body: newBody,
  response: { 201: fullSchema, ...changing },
}
const changeSchema = {
  summary: 'Make a new draft from the newest version and these changes, in place of the draft there is',
  ...adminDescription,
  params,
  body: changeBody,
  response: { 200: fullSchema, ...changing },
}
const publishRouteSchema = {
  summary: 'Put the draft, or an older version, into use',
  ...adminDescription,
  params,
  body: publishBody,
  response: { 200: fullSchema, ...changing },
}
const removeSchema = {
  summary: 'Delete a template with all versions; the starters of its type are used again',
  ...adminDescription,
  params,
  body: onlyReason,
  response: { 200: z.object({ id: z.uuid(), deleted: z.literal(true) }), ...changing },
}

export function adminTemplateRoutes(app: App, deps: AdminRouteDeps & TemplateChangeDeps): void {
  const { db, onRequest } = deps
  const options = { onRequest, config: ADMINISTRATORS }
  const large = {
    ...options,
    onRequest: [onRequest, boundBodies(TEMPLATE_MEMORY, request => request.admin!)],
    bodyLimit: TEMPLATE_BODY_LIMIT,
  }
  const path = '/admin/templates/:templateId'

  app.get('/admin/templates', { onRequest, schema: listSchema }, request => list(request, deps))
  app.get(path, { onRequest, schema: showSchema }, async request => {
    const template = await findAdminTemplate(request, db)
    return withVersions(template, db, (request.query as z.output<typeof showQuery>).version ?? null)
  })
  app.post('/admin/companies/:companyId/templates', { ...large, schema: createSchema }, (request, reply) =>
    create(request, reply, deps),
  )
  app.patch(path, { ...large, schema: changeSchema }, request => change(request, deps))
  app.post(`${path}/publish`, { ...options, schema: publishRouteSchema }, request => publish(request, deps))
  app.post(`${path}/remove`, { ...options, schema: removeSchema }, request => remove(request, deps))
}

async function list(request: FastifyRequest, { db }: AdminRouteDeps) {
  const { companyId = null, text = null, cursor, limit } = request.query as z.output<typeof listQuery>
  const after = cursor === undefined ? null : await findAnyTemplate(db.pool, cursor)
  if (cursor !== undefined && !after) throw invalidField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
  const filter = { companyId, text, after, sinceDays: STATISTICS_DAYS, limit: limit + 1 }
  const rows = await listTemplateOverviews(db.pool, filter)
  const data = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return { data, cursor: hasMore ? data.at(-1)!.id : null, hasMore }
}

async function create(request: FastifyRequest, reply: FastifyReply, { db, accept }: TemplateChangeDeps) {
  const { companyId, name } = await knownCompany(request, db)
  const { reason: _, ...wanted } = request.body as z.output<typeof newBody>
  const created = await createFrom(wanted, { companyId, ...adminAuthor(request) }, { db, accept })
  return reply
    .code(201)
    .header('location', `/admin/templates/${created.id}`)
    .send({ ...(await withVersions(created, db)), companyId, companyName: name })
}

async function change(request: FastifyRequest, { db, accept }: TemplateChangeDeps) {
  const { id, companyId, companyName } = await changeableTemplate(request, db)
  const { reason: _, ...wanted } = request.body as z.output<typeof changeBody>
  const changed = await saveDraft(id, wanted, { companyId, ...adminAuthor(request) }, { db, accept })
  return { ...(await withVersions(changed, db)), companyId, companyName }
}

async function publish(request: FastifyRequest, { db }: AdminRouteDeps) {
  const { id, companyId, companyName } = await changeableTemplate(request, db)
  const { version = null } = request.body as z.output<typeof publishBody>
  const published = await publishOf(id, version, { companyId, ...adminAuthor(request) }, db)
  return { ...(await withVersions(published, db, published.published)), companyId, companyName }
}

async function remove(request: FastifyRequest, { db }: AdminRouteDeps) {
  const { id, companyId } = await changeableTemplate(request, db)
  if (!(await deleteTemplate(db.pool, { companyId, ...adminAuthor(request) }, id))) throw new Problem('NOT_FOUND')
  return { id, deleted: true as const }
}

/** Of any company, or a starter. */
export async function findAdminTemplate(request: FastifyRequest, db: Database): Promise<FoundTemplate> {
  const template = await findAnyTemplate(db.pool, uuidParam(request, 'templateId'))
  if (!template) throw new Problem('NOT_FOUND', { detail: 'There is no such template.' })
  return template
}

/** One that belongs to a company. */
export async function changeableTemplate(request: FastifyRequest, db: Database) {
  const template = await findAdminTemplate(request, db)
  refuseStarter(template)
  return { ...template, companyId: template.companyId! }
}
