import { z } from 'zod'
import { addressSchema } from '../../outbox/send-body.ts'
import { fragment, iso, type Queryable, sql } from '../../platform/postgres/query.ts'
import type { FieldProblem } from '../../platform/text/refusal.ts'
import { SEND_LIMITS } from '../../platform/text/send-limits.ts'
import { TEMPLATE_LIMITS, templateTypeSchema } from '../../templates/limits.ts'
import type { TemplateSource } from '../../templates/parse.ts'

/** A template as it was written for the Resend-compatible API. */
type ResendSource = {
  name: string
  from: string | null
  replyTo: string[] | null
  subject: string
  html: string
  text: string | null
  variables: ResendVariable[]
}

export async function insertResendSource(tx: Queryable, templateId: string, source: ResendSource): Promise<void> {
  await sql(tx, 'insert-resend-template')`
    insert into resend_templates (template_id, name, from_address, reply_to, subject, html, text, variables)
     values (${templateId}, ${source.name}, ${source.from}, ${source.replyTo}, ${source.subject}, ${source.html}, ${source.text}, ${JSON.stringify(source.variables)})`
}

export type ResendTemplateRow = {
  id: string
  name: string
  alias: string
  from: string | null
  replyTo: string[] | null
  subject: string
  html: string | null
  text: string | null
  variables: ResendVariable[] | null
  /** Of the newest version. */
  versionId: string
  isPublished: boolean
  hasDraft: boolean
  publishedAt: string | null
  createdAt: string
  updatedAt: string
}

/**
 * The newest version; as it was written, unless the native API has changed the template since. A template of the native API is
 * named by its type.
 */
const ROWS = fragment`
  select t.template_id as id, coalesce(r.name, t.type) as name, t.type as alias,
    r.from_address as "from", r.reply_to, r.variables, v.version_id,
    case when v.number = 1 then coalesce(r.subject, v.subject) else v.subject end as subject,
    case when v.number = 1 then coalesce(r.html, v.html) else v.html end as html,
    case when v.number = 1 and r.template_id is not null then r.text else v.text end as text,
    t.published_number is not null as "isPublished", v.published_at is null as "hasDraft",
    (select ${iso('p.published_at')} from template_versions p where p.template_id = t.template_id and p.number = t.published_number) as "publishedAt",
    ${iso('t.created_at')} as "createdAt", ${iso('t.updated_at')} as "updatedAt"
  from templates t left join resend_templates r using (template_id)
  cross join lateral (select * from template_versions v where v.template_id = t.template_id order by v.number desc limit 1) v`

/** The company's own, newest first. */
export async function listResendTemplates(db: Queryable, companyId: string): Promise<ResendTemplateRow[]> {
  return sql<ResendTemplateRow>(db, 'list-resend-templates')`
    ${ROWS} where t.company_id = ${companyId} order by t.created_at desc, t.template_id`
}

/** By its id, or by its type, which is the alias. */
export async function findResendTemplate(
  db: Queryable,
  companyId: string,
  idOrAlias: string,
): Promise<ResendTemplateRow | null> {
  const [row] = await sql<ResendTemplateRow>(db, 'find-resend-template')`
    ${ROWS} where t.company_id = ${companyId} and (t.template_id::text = ${idOrAlias} or t.type = ${idOrAlias}) order by t.locale limit 1`
  return row ?? null
}

export type TemplateToSend = {
  id: string
  type: string
  locale: string
  from: string | null
  replyTo: string[] | null
  variables: ResendVariable[] | null
}

/** What the sender of an e-mail has to know of the templates that it names by id or type. */
export async function findTemplatesToSend(
  db: Queryable,
  companyId: string,
  idsOrAliases: string[],
): Promise<TemplateToSend[]> {
  if (idsOrAliases.length === 0) return []
  return sql<TemplateToSend>(db, 'find-templates-to-send')`
    select t.template_id as id, t.type, t.locale, r.from_address as "from", r.reply_to, r.variables
     from templates t left join resend_templates r using (template_id)
     where t.company_id = ${companyId} and (t.template_id::text = any(${idsOrAliases}) or t.type = any(${idsOrAliases})) order by t.locale`
}

const KEY = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/
const KEY_RULE = 'must be letters, digits and _, at most 50, and not begin with a digit'
/** Words of the template language, which cannot be names. */
const WORDS: ReadonlySet<string> = new Set(['nil', 'null', 'true', 'false', 'empty', 'blank'])
const isKey = (text: string) => KEY.test(text) && !WORDS.has(text)
const MAX_VARIABLES = 50

const variable = z
  .strictObject({
    key: z.string().refine(isKey, KEY_RULE),
    type: z.enum(['string', 'number']),
    fallback_value: z.union([z.string().max(500), z.number()]).nullish(),
  })
  .refine(({ type, fallback_value }) => (fallback_value ?? null) === null || typeof fallback_value === type, {
    path: ['fallback_value'],
    message: 'must be of the type of the variable',
  })
  .transform(({ key, type, fallback_value }): ResendVariable => ({ key, type, fallback_value: fallback_value ?? null }))

export type ResendVariable = { key: string; type: 'string' | 'number'; fallback_value: string | number | null }

const EXAMPLE = {
  name: 'Order confirmation',
  alias: 'order-confirmation',
  subject: 'Your order {{{NUMBER}}}',
  html: '<p>Hello {{{NAME}}}, your order {{{NUMBER}}} is on its way.</p>',
  variables: [
    { key: 'NAME', type: 'string', fallback_value: 'friend' },
    { key: 'NUMBER', type: 'number' },
  ],
}

export const resendTemplateSchema = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .refine(text => !/[\u0000-\u001f\u007f]/.test(text), 'must not contain control characters'),
    alias: templateTypeSchema.nullish(),
    from: addressSchema.nullish(),
    reply_to: z
      .union([addressSchema, z.array(addressSchema).min(1).max(SEND_LIMITS.REPLY_TO)])
      .transform(given => [given].flat())
      .nullish(),
    subject: z.string().min(1).max(TEMPLATE_LIMITS.SUBJECT_CHARS),
    html: z.string().min(1).max(TEMPLATE_LIMITS.CONTENT_BYTES),
    text: z.string().max(TEMPLATE_LIMITS.CONTENT_BYTES).nullish(),
    variables: z.array(variable).max(MAX_VARIABLES).nullish(),
  })
  .meta({ id: 'ResendTemplate', example: EXAMPLE })

export type ResendTemplate = z.output<typeof resendTemplateSchema>

type Written = Pick<ResendTemplate, 'subject' | 'html' | 'text' | 'variables'>

/**
 * `{{{NAME}}}` becomes `{{ NAME }}` of our template language, with the fallback as its default. Values are escaped in HTML, which
 * Resend's are not. All other braces are plain text there and stay so here.
 */
export function translateTemplate({ subject, html, text, variables }: Written): TemplateSource {
  const fallbacks = new Map((variables ?? []).map(one => [one.key, one.fallback_value]))
  const translate = (part: string) => translatePart(part, fallbacks)
  return { subject: translate(subject), html: translate(html), text: text ? translate(text) : null }
}

const VARIABLE = /\{\{\{\s{0,10}(\w{1,50})\s{0,10}\}\}\}/
/** Split with a group: every second piece is a name. */
function translatePart(part: string, fallbacks: Map<string, string | number | null>): string {
  return part
    .split(VARIABLE)
    .map((piece, index) => (index % 2 === 0 ? plainText(piece) : output(piece, fallbacks.get(piece) ?? null)))
    .join('')
}

function output(name: string, fallback: string | number | null): string {
  return fallback === null ? `{{ ${name} }}` : `{{ ${name} | default: ${literal(fallback)} }}`
}

/** Every character that could end the text or the tag is written as its code. */
function literal(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const codes = value.replace(/[^A-Za-z0-9 .,;:!?-]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `"${codes}"`
}

const plainText = (piece: string) => piece.replace(/\{(?=[{%])/g, '{{ "\\u007b" }}')

/** What a template cannot be: a name in triple braces that is none. */
export function problemsOfTemplate({ subject, html, text }: Written): FieldProblem[] {
  return Object.entries({ subject, html, text: text ?? '' }).flatMap(([path, part]) => {
    const names = part.split(VARIABLE).filter((_, index) => index % 2 === 1)
    const left = part.split(VARIABLE).some((piece, index) => index % 2 === 0 && piece.includes('{{{'))
    if (!left && names.every(isKey)) return []
    const message = `has {{{…}}} without the name of a variable, which ${KEY_RULE}`
    return [{ path, code: 'INVALID_TEMPLATE', message }]
  })
}

/** Values of a type that the template does not declare, or that Resend does not have. A missing one is named when it is rendered. */
export function problemsOfVariables(given: Record<string, unknown>, declared: ResendVariable[]): FieldProblem[] {
  const types = new Map<string, string>(declared.map(({ key, type }) => [key, type]))
  return Object.entries(given)
    .filter(([key, value]) => !(types.has(key) ? [types.get(key)] : ['string', 'number']).includes(typeof value))
    .map(([key]) => ({
      path: `template.variables.${key}`,
      code: 'INVALID_TYPE',
      message: `must be a ${types.get(key) ?? 'string or a number'}`,
    }))
}
