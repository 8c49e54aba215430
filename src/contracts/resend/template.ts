import { z } from 'zod'
import type { FieldProblem } from '../refusal.ts'
import { addressSchema, SEND_LIMITS, templateTypeSchema } from '../send-body.ts'
import { TEMPLATE_LIMITS } from '../templates/limits.ts'
import type { TemplateSource } from '../templates/parse.ts'

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
