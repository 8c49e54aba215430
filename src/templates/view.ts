import { z } from 'zod'
import { localeSchema } from '../companies/settings.ts'
import { TEMPLATE_LIMITS, templateTypeSchema } from './limits.ts'

export const TEMPLATES_PER_COMPANY = 500
/** Older versions that are not in use are deleted. */
export const VERSIONS_PER_TEMPLATE = 50
export const STATISTICS_DAYS = 30

const instant = z.iso.datetime()
/** The exact limit is in bytes, and parseTemplate checks it. */
const content = z.string().max(TEMPLATE_LIMITS.CONTENT_BYTES)
const fields = {
  subject: z.string().max(TEMPLATE_LIMITS.SUBJECT_CHARS),
  html: content.nullable(),
  text: content.nullable(),
}
const EXAMPLE = {
  subject: 'Your order {{ order.number }}',
  html: '<p>Hello {{ user.name }}, your order {{ order.number }} is on its way.</p>',
  text: 'Hello {{ user.name }}, your order {{ order.number }} is on its way.',
}

export const newTemplateSchema = z
  .strictObject({
    type: templateTypeSchema,
    locale: localeSchema.optional().describe("The company's when absent"),
    subject: fields.subject,
    html: fields.html.optional(),
    text: fields.text.optional(),
    publish: z.boolean().default(false).describe('Put it into use at once'),
  })
  .meta({ id: 'NewTemplate', example: { type: 'order_sent', locale: 'en', ...EXAMPLE, publish: true } })

export const templateChangeSchema = z
  .strictObject({
    subject: fields.subject.optional(),
    html: fields.html.optional().describe('null removes it'),
    text: fields.text.optional().describe('null removes it'),
  })
  .meta({ id: 'TemplateChange', example: { subject: EXAMPLE.subject } })

export const templateSchema = z
  .object({
    id: z.uuid(),
    type: z.string(),
    locale: z.string(),
    starter: z.boolean().describe('Comes with the gateway; your own template of the same type replaces it'),
    published: z.int().nullable().describe('The number of the version in use'),
    draft: z.int().nullable().describe('The number of the version that has not been published'),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Template' })

const versionSummarySchema = z
  .object({
    number: z.int(),
    status: z.enum(['draft', 'published', 'replaced']),
    createdAt: instant,
    createdBy: z.string(),
    publishedAt: instant.nullable(),
  })
  .meta({ id: 'TemplateVersionSummary' })

const versionSchema = versionSummarySchema
  .extend({ ...fields, variables: z.array(z.string()).describe('The variables that it uses') })
  .meta({ id: 'TemplateVersion' })

export const templateWithVersionsSchema = templateSchema
  .extend({
    version: versionSchema.describe('The one that was asked for, or the newest'),
    versions: z.array(versionSummarySchema).describe('Newest first'),
  })
  .meta({ id: 'TemplateWithVersions' })

const owner = { companyId: z.uuid().nullable().describe('null: a starter'), companyName: z.string().nullable() }
export const templateOfCompanySchema = templateWithVersionsSchema.extend(owner).meta({ id: 'TemplateOfCompany' })
export const templateOverviewSchema = templateSchema
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

const version = z.int().min(1).max(1_000_000).optional()
export const publishSchema = z
  .strictObject({ version: version.describe('An older one returns to it; the draft when absent') })
  .meta({ id: 'PublishTemplate', example: {} })

const variables = z.record(z.string(), z.unknown()).default({})
export const previewSchema = z
  .strictObject({ version: version.describe('The newest when absent'), variables })
  .meta({ id: 'PreviewTemplate', example: { variables: { user: { name: 'Maria' }, order: { number: '1042' } } } })

export const previewAnswerSchema = z
  .object({
    number: z.int(),
    ...fields,
    text: content.describe('As it would be sent: made from the HTML where the template has none'),
    variables: z.array(z.string()),
  })
  .meta({ id: 'TemplatePreview' })

export const statisticsSchema = z
  .object({
    since: instant,
    data: z.array(
      z.object({
        type: z.string(),
        accepted: z.int(),
        sent: z.int(),
        failed: z.int().describe('Ended as a dead letter, or expired'),
        failureRate: z.number().nullable().describe('failed / (sent + failed), 0 to 1; null: none has ended'),
        retries: z.int().describe('Attempts after the first'),
      }),
    ),
  })
  .meta({ id: 'TemplateStatistics' })

export type TemplateView = z.infer<typeof templateSchema>
export type TemplateOverview = z.infer<typeof templateOverviewSchema>
export type VersionSummary = z.infer<typeof versionSummarySchema>
