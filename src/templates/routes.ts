import { z } from 'zod'
import { templateStatistics } from '../companies/statistics.ts'
import type { HtmlChecker } from '../platform/html/check.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { type FieldProblem, fieldProblemSchema, summarise } from '../platform/text/refusal.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { isTestKey, type Principal, performedBy } from '../web/access.ts'
import { boundBodies, TEMPLATE_BODY_LIMIT, TEMPLATE_MEMORY, VARIABLES_BODY_LIMIT } from '../web/body.ts'
import { invalidField, Problem, refusalProblem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import {
  addDraft,
  createdOrProblem,
  createTemplate,
  deleteTemplate,
  publishVersion,
  type TemplateAuthor,
} from './changes.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { markupOf, problemsOfMarkup, variablesOf } from './markup.ts'
import { parseTemplate, type TemplateSource } from './parse.ts'
import { renderTemplate } from './render.ts'
import {
  findAnyTemplate,
  findVersion,
  listTemplateOverviews,
  listTemplates,
  listVersions,
  requireTemplate,
  requireVersion,
} from './templates.ts'
import {
  newTemplateSchema,
  previewAnswerSchema,
  previewSchema,
  publishSchema,
  STATISTICS_DAYS,
  statisticsSchema,
  type TemplateView,
  templateChangeSchema,
  templateOfCompanySchema,
  templateOverviewSchema,
  templateSchema,
  templateWithVersionsSchema,
} from './view.ts'

export type TemplateRouteDeps = { db: Database; accept: { html: HtmlChecker } }

const DAY_MS = 24 * 3_600_000

const tag = 'Templates'
const path = (rest = '') => ({
  key: `/v1/templates/:id${rest}`,
  admin: `/admin/companies/:companyId/templates/:id${rest}`,
})

export function templateRoutes({ db, accept }: TemplateRouteDeps) {
  const reserve = boundBodies(TEMPLATE_MEMORY, ({ principal }) =>
    principal?.kind === 'key' ? principal.companyId : principal!.name,
  )
  const large = { bytes: TEMPLATE_BODY_LIMIT, reserve }

  return {
    list: route(
      {
        method: 'GET',
        path: '/v1/templates',
        access: { key: 'read' },
        tag,
        summary: 'Your templates, and the starters that they do not replace',
        response: z.object({ data: z.array(templateSchema) }).meta({ id: 'TemplateList' }),
      },
      async (_, { companyId }) => ({ data: await listTemplates(db.pool, companyId) }),
    ),

    listOverviews: route(
      {
        method: 'GET',
        path: '/admin/templates',
        access: { admin: 'viewer' },
        summary: 'Templates with what became of their e-mails',
        query: overviewQuery,
        response: overviewPageSchema,
      },
      async ({ query: { companyId = null, text = null, cursor, limit } }) => {
        const after = cursor === undefined ? null : await findAnyTemplate(db.pool, cursor)
        if (cursor !== undefined && !after)
          throw invalidField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
        const filter = { companyId, text, after, limit: limit + 1 }
        const rows = await listTemplateOverviews(db.pool, filter)
        const data = rows.slice(0, limit)
        const hasMore = rows.length > limit
        return { data, cursor: hasMore ? data.at(-1)!.id : null, hasMore }
      },
    ),

    show: route(
      {
        method: 'GET',
        path: '/v1/templates/:id',
        access: { key: 'read' },
        tag,
        summary: 'One template with its versions, and the content of one',
        params,
        query: showQuery,
        response: templateWithVersionsSchema,
      },
      async ({ params: { id }, query: { version } }, { companyId }) =>
        withVersions(await requireTemplate(db, companyId, id), db, version),
    ),

    showAny: route(
      {
        method: 'GET',
        path: '/admin/templates/:templateId',
        access: { admin: 'viewer' },
        summary: 'One template with its versions, and the content of one',
        params: z.object({ templateId: z.string().max(100) }),
        query: showQuery,
        response: templateOfCompanySchema,
      },
      async ({ params: { templateId }, query: { version } }) => {
        const template = isUuid(templateId) ? await findAnyTemplate(db.pool, templateId) : null
        if (!template) throw new Problem('NOT_FOUND', { detail: 'There is no such template.' })
        return withVersions(template, db, version)
      },
    ),

    create: route(
      {
        method: 'POST',
        path: { key: '/v1/templates', admin: '/admin/companies/:companyId/templates' },
        access: { key: 'manage', admin: 'administrator' },
        tag,
        summary: 'Create a template of a type and locale; its first version is a draft unless publish is true',
        body: newTemplateSchema,
        response: { 201: templateWithVersionsSchema },
        refusals: [409],
        largeBody: large,
      },
      async ({ body }, { principal, companyId, status, header }) => {
        const author = authorOf(principal, companyId)
        const { type, locale = null, subject, html = null, text = null, publish } = body
        await refuseUnusable({ subject, html, text }, companyId, accept.html)
        const outcome = await createTemplate(db.pool, author, { type, locale, subject, html, text, publish })
        const id = createdOrProblem(outcome, `There is a template ${type} in this locale; change it instead.`)
        status(201)
        header('location', `/${principal.kind === 'key' ? 'v1' : 'admin'}/templates/${id}`)
        return withVersions(await requireTemplate(db, companyId, id), db)
      },
    ),

    change: route(
      {
        method: 'PATCH',
        path: path(),
        access: { key: 'manage', admin: 'administrator' },
        tag,
        summary: 'Make a new draft from the newest version and these changes, in place of the draft there is',
        params,
        body: templateChangeSchema,
        response: templateWithVersionsSchema,
        refusals: [409],
        largeBody: large,
      },
      async ({ params, body }, { principal, companyId }) => {
        const author = authorOf(principal, companyId)
        const { id } = await requireOwnTemplate(db, companyId, params.id)
        const newest = await findVersion(db.pool, id, null)
        const { subject = newest!.subject, html = newest!.html, text = newest!.text } = body
        await refuseUnusable({ subject, html, text }, companyId, accept.html)
        if ((await addDraft(db.pool, author, id, { subject, html, text })) === null) throw new Problem('NOT_FOUND')
        return withVersions(await requireTemplate(db, companyId, id), db)
      },
    ),

    publish: route(
      {
        method: 'POST',
        path: path('/publish'),
        access: { key: 'manage', admin: 'administrator' },
        tag,
        summary: 'Put the draft, or an older version, into use',
        params,
        body: publishSchema,
        response: templateWithVersionsSchema,
        refusals: [409],
      },
      async ({ params, body: { version = null } }, { principal, companyId }) => {
        const author = authorOf(principal, companyId)
        const { id } = await requireOwnTemplate(db, companyId, params.id)
        if ((await publishVersion(db.pool, author, id, version)) === null)
          throw new Problem('NOTHING_TO_PUBLISH', {
            detail: version === null ? 'The template has no draft.' : `The template has no version ${version}.`,
          })
        return withVersions(await requireTemplate(db, companyId, id), db)
      },
    ),

    remove: route(
      {
        method: 'DELETE',
        path: path(),
        access: { key: 'manage', admin: 'administrator' },
        tag,
        summary: 'Delete a template with all versions; the starters of its type are used again',
        params,
        response: z.object({ id: z.uuid(), deleted: z.literal(true) }),
        refusals: [409],
      },
      async ({ params }, { principal, companyId }) => {
        const author = authorOf(principal, companyId)
        const { id } = await requireOwnTemplate(db, companyId, params.id)
        if (!(await deleteTemplate(db.pool, author, id))) throw new Problem('NOT_FOUND')
        return { id, deleted: true as const }
      },
    ),

    preview: route(
      {
        method: 'POST',
        path: '/v1/templates/:id/preview',
        access: { key: 'read' },
        tag,
        summary: 'Render a version with variables; nothing is sent',
        params,
        body: previewSchema,
        response: previewAnswerSchema,
        largeBody: { bytes: VARIABLES_BODY_LIMIT, reserve },
      },
      async ({ params, body }, { companyId }) => {
        const rendered = await renderVersion(await requireTemplate(db, companyId, params.id), db, body)
        if (rendered.html === null) return { ...rendered, text: rendered.text! }
        const problems = await accept.html.check(rendered.html, companyId)
        const errors = problems.map(({ code, message }) => ({ path: 'html', code, message }))
        if (errors.length > 0) throw new Problem('INVALID_TEMPLATE', { errors })
        return { ...rendered, text: rendered.text ?? (await accept.html.textOf(rendered.html, companyId)) }
      },
    ),

    previewDraft: route(
      {
        method: 'POST',
        path: '/admin/templates/preview',
        access: { admin: 'viewer' },
        summary: 'Render what an editor holds, saved or not; nothing is stored or sent',
        body: draftBody,
        response: draftAnswer,
        largeBody: large,
      },
      async ({ body: { variables, ...source } }) => {
        const parsed = parseTemplate(source)
        if (!parsed.ok) return { rendered: null, variables: variablesOf(source), problems: parsed.problems }
        const answer = { variables: parsed.template.variables, problems: [] as FieldProblem[] }
        const result = renderTemplate(parsed.template, variables)
        if (!result.ok) return { ...answer, rendered: null, problems: result.problems }
        const { subject, html, text } = result
        const problems = html === null ? [] : await accept.html.check(html, 'preview')
        return {
          ...answer,
          rendered: { subject, html, text },
          problems: problems.map(({ code, message }) => ({ path: 'html', code, message, rule: code })),
        }
      },
    ),

    statistics: route(
      {
        method: 'GET',
        path: '/v1/templates/statistics',
        access: { key: 'read' },
        tag,
        summary: 'What became of the e-mails of each template; live e-mails only, up to a minute ago',
        query: statisticsQuery,
        response: statisticsSchema,
      },
      async ({ query }, { principal, companyId }) => {
        if (isTestKey(principal))
          throw new Problem('INSUFFICIENT_SCOPE', { detail: 'Statistics are of live e-mails: a live key is needed.' })
        const { since = new Date(db.clock.now().getTime() - STATISTICS_DAYS * DAY_MS).toISOString() } = query
        const rows = await templateStatistics(db.pool, companyId, since)
        return { since, data: rows.map(row => ({ ...row, failureRate: rateOf(row) })) }
      },
    ),
  }
}

const params = z.object({ id: z.string() })
const showQuery = z.object({
  version: z.coerce.number().int().min(1).max(1_000_000).optional().describe('The newest when absent'),
})
const overviewQuery = z.object({
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
const overviewPageSchema = z
  .object({ data: z.array(templateOverviewSchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'TemplateOverviewList' })

const content = z.string().max(TEMPLATE_LIMITS.CONTENT_BYTES).nullable()
const draftBody = z
  .strictObject({
    subject: z.string().max(TEMPLATE_LIMITS.SUBJECT_CHARS),
    html: content.default(null),
    text: content.default(null),
    variables: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ id: 'PreviewDraft', example: { subject: 'Hello {{ name }}', text: 'Hi', variables: { name: 'Maria' } } })
const draftAnswer = z
  .object({
    rendered: z
      .object({ subject: z.string(), html: content, text: content })
      .nullable()
      .describe('null: it cannot be rendered; the problems say why'),
    variables: z.array(z.string()).describe('The variables that it uses'),
    problems: z.array(fieldProblemSchema),
  })
  .meta({ id: 'DraftPreview' })
const statisticsQuery = z.object({
  since: rangeEndSchema.optional().describe(`To the hour; ${STATISTICS_DAYS} days ago when absent`),
})

/** With the content of one version: this one, or the newest. */
async function withVersions<T extends TemplateView>(template: T, db: Database, number?: number) {
  const version = await requireVersion(template, db, number)
  const versions = await listVersions(db.pool, template.id)
  return { ...template, version: { ...version, variables: variablesOf(version) }, versions }
}

/** Live and test mail share templates, so a test key may use them and not change them. */
export function authorOf(principal: Principal, companyId: string): TemplateAuthor {
  if (isTestKey(principal))
    throw new Problem('INSUFFICIENT_SCOPE', { detail: 'Live and test e-mails share templates: a live key is needed.' })
  return { companyId, performedBy: performedBy(principal) }
}

/** One that can be changed: a starter belongs to everybody. */
async function requireOwnTemplate(db: Database, companyId: string, id: string): Promise<TemplateView> {
  const template = await requireTemplate(db, companyId, id)
  if (template.starter)
    throw new Problem('TEMPLATE_IS_STARTER', {
      detail: `Create your own template with the type ${template.type}: it replaces the starters of this type.`,
    })
  return template
}

export async function refuseUnusable(source: TemplateSource, companyId: string, html: HtmlChecker): Promise<void> {
  const parsed = parseTemplate(source)
  if (!parsed.ok) throw new Problem('INVALID_TEMPLATE', { errors: parsed.problems })
  if (source.html === null) return
  const errors = problemsOfMarkup(await html.check(markupOf(source.html), companyId))
  if (errors.length > 0) throw new Problem('INVALID_TEMPLATE', { errors })
}

export async function renderVersion(
  template: TemplateView,
  db: Database,
  { version, variables }: z.output<typeof previewSchema>,
) {
  const source = await requireVersion(template, db, version)
  const parsed = parseTemplate(source)
  if (!parsed.ok) throw refusalProblem(summarise(parsed.problems))
  const result = renderTemplate(parsed.template, variables)
  if (!result.ok) throw refusalProblem(summarise(result.problems))
  const { subject, html, text } = result
  return { number: source.number, subject, html, text, variables: parsed.template.variables }
}

function rateOf({ sent, failed }: { sent: number; failed: number }): number | null {
  return sent + failed === 0 ? null : failed / (sent + failed)
}
