import { z } from 'zod'
import { countCharacters } from './characters.ts'

/**
 * What a template or its HTML can break, by names that stay. The sentences are English and the engine's own may change with its version:
 * a program that writes its own sentence decides by these.
 */
export const TEMPLATE_RULES = [
  'UNKNOWN_TAG',
  'TAG_WITHOUT_BEGINNING',
  'UNKNOWN_FILTER',
  'NOT_CLOSED',
  'INVALID_TAG',
  'INVALID_EXPRESSION',
  'NOT_A_TEXT',
  'LISTS_COMPARED',
  'SEARCHED_TOO_LONG',
  'TOO_SLOW',
  'TOO_MUCH_WORK',
  'EMPTY',
  'CONTENT_MISSING',
  'RENDERED_EMPTY',
  'INVALID_LINE',
  'TOO_MANY_TAGS',
  'TAG_TOO_LONG',
  'TAGS_TOO_LONG',
  'NESTED_TOO_DEEP',
  'NUMBER_TOO_LARGE',
  'HTML_SCRIPT',
  'HTML_EVENT_HANDLER',
  'HTML_URL_SCHEME',
  'HTML_CHARSET',
  'HTML_FORBIDDEN_ELEMENT',
  'HTML_FORBIDDEN_ATTRIBUTE',
  'HTML_META_REFRESH',
  'HTML_CSS',
  'HTML_HIDDEN_MARKUP',
  'HTML_TOO_DEEP',
  'HTML_TOO_COMPLEX',
  'HTML_NUL',
] as const

export type TemplateRule = (typeof TEMPLATE_RULES)[number]
export type HtmlCode = Extract<TemplateRule, `HTML_${string}`>

/** What can be wrong with a CSV of suppressions, as a whole or with one of its lines. */
export const CSV_RULES = [
  'CSV_UNKNOWN_COLUMN',
  'CSV_COLUMN_TWICE',
  'CSV_COLUMN_MISSING',
  'CSV_TOO_MANY_LINES',
  'CSV_LINE_TOO_LONG',
  'CSV_FIELDS',
  'CSV_QUOTE',
  'CSV_ADDRESS',
  'CSV_HASH',
  'CSV_REASON',
  'CSV_EXPIRY',
  'CSV_COMPANY',
] as const
export type CsvRule = (typeof CSV_RULES)[number]

/** Programs that write their own sentence need the limit beside the message. */
export const fieldProblemSchema = z.object({
  path: z.string().describe('Such as `attachments[0].filename`'),
  code: z.string(),
  message: z.string(),
  limit: z.number().optional().describe('The most that is allowed; with TOO_SMALL, the least'),
  unit: z
    .enum(['characters', 'items', 'bytes', 'days'])
    .optional()
    .describe('What the limit counts; without it, the value itself'),
  rule: z
    .enum([...TEMPLATE_RULES, ...CSV_RULES])
    .optional()
    .describe('Of a template, its HTML, or a CSV: which of their rules was broken'),
  name: z.string().optional().describe('What it is about, such as the tag, the filter or the variable'),
  line: z.int().optional().describe('In the template, from 1; also `column`'),
  column: z.int().optional(),
})
export type FieldProblem = z.output<typeof fieldProblemSchema>
export type Limit = Pick<FieldProblem, 'limit' | 'unit'>

/** Why an e-mail is not accepted. Only web/problem.ts translates this into HTTP statuses. */
export type Refusal =
  | {
      code:
        | 'INVALID_PAYLOAD'
        | 'INVALID_EMAIL'
        | 'INVALID_TEMPLATE'
        | 'TEMPLATE_NOT_FOUND'
        | 'TEMPLATE_VARIABLE_MISSING'
        | 'RECIPIENT_NOT_FOUND'
      errors: FieldProblem[]
    }
  | { code: 'FROM_NOT_ALLOWED'; errors: FieldProblem[] }
  | { code: 'RECIPIENT_SUPPRESSED'; recipient: string }

/** Zod's path ['cc', 0, 'x'] → cc[0].x */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}

const SPECIFIC = ['INVALID_EMAIL', 'INVALID_TEMPLATE', 'TEMPLATE_VARIABLE_MISSING'] as const

/** The code of the whole response: a specific one if every field problem has it, otherwise INVALID_PAYLOAD. */
export function summarise(errors: FieldProblem[]): Refusal {
  const shared = SPECIFIC.find(code => errors.every(error => error.code === code))
  return { code: shared ?? 'INVALID_PAYLOAD', errors }
}

/** One refused e-mail of a permissive batch. */
export type BatchError = { index: number; code: string; message: string }

export function batchError(index: number, refusal: Refusal): BatchError {
  if (refusal.code === 'RECIPIENT_SUPPRESSED')
    return { index, code: refusal.code, message: RECIPIENT_SUPPRESSED_MESSAGE }
  const message = refusal.errors.map(error => `${error.path}: ${error.message}`).join('; ')
  return { index, code: refusal.code, message }
}

export const RECIPIENT_SUPPRESSED_MESSAGE = 'Recipient is on suppression list'

/** Lets messages give the length of a value. The value itself is never repeated. */
export const REPORT_INPUT = { reportInput: true } as const

export type Issue = z.core.$ZodIssue

/** Bounds the answer to a request with very many errors. */
const MAX_PROBLEMS = 50

export function fieldProblems(issues: readonly Issue[], prefix: readonly PropertyKey[] = []): FieldProblem[] {
  return withoutFollowing(issues.slice(0, MAX_PROBLEMS))
    .flatMap(issue => fieldProblem(issue, [...prefix, ...issue.path]))
    .slice(0, MAX_PROBLEMS)
}

/** Zod checks the length of whatever has one, so a text in place of a list would also be "too long". A value of the wrong type has that problem alone. */
function withoutFollowing(issues: readonly Issue[]): Issue[] {
  const pathOf = (issue: Issue) => fieldPath(issue.path)
  const ofWrongType = new Set(issues.filter(one => one.code === 'invalid_type').map(pathOf))
  return issues.filter(one => one.code === 'invalid_type' || !ofWrongType.has(pathOf(one)))
}

function fieldProblem(issue: Issue, path: PropertyKey[]): FieldProblem[] {
  if (issue.code === 'invalid_union') {
    // Report the branch that matched best: one with a custom error, else one of the right type.
    const isOfAnotherType = (one: Issue) => one.code === 'invalid_type' && one.path.length === 0
    const branch =
      issue.errors.find(inner => inner.some(one => one.code === 'custom')) ??
      issue.errors.find(inner => !inner.some(isOfAnotherType)) ??
      issue.errors[0]
    if (branch) return fieldProblems(branch, path)
  }
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MAX_PROBLEMS).map(key => ({
      path: fieldPath([...path, key]),
      code: 'UNKNOWN_FIELD',
      message: 'is not a field of this request',
    }))
  }
  const code =
    issue.code === 'custom' ? ((issue.params?.code as string | undefined) ?? 'INVALID_PAYLOAD') : CODES[issue.code]
  return [{ path: fieldPath(path), code: code ?? 'INVALID_PAYLOAD', message: sentence(issue), ...limitOf(issue) }]
}

const CODES: Partial<Record<Issue['code'], string>> = {
  invalid_type: 'INVALID_TYPE',
  too_big: 'TOO_LARGE',
  too_small: 'TOO_SMALL',
  invalid_format: 'INVALID_FORMAT',
  invalid_value: 'INVALID_VALUE',
}

function sentence(issue: Issue): string {
  if (issue.code === 'invalid_type' && /received undefined/.test(issue.message)) return 'is required'
  return limitSentence(issue) ?? issue.message.replace(/^Invalid input: /, '').slice(0, 300)
}

/** 150 characters, 20 items, or a number. A check of our own gives it beside its code. */
function limitOf(issue: Issue): Limit {
  if (issue.code === 'custom') {
    const { limit, unit } = (issue.params ?? {}) as Limit
    return { ...(limit !== undefined && { limit }), ...(unit !== undefined && { unit }) }
  }
  if (issue.code !== 'too_big' && issue.code !== 'too_small') return {}
  const limit = Number(issue.code === 'too_big' ? issue.maximum : issue.minimum)
  const { origin } = issue as { origin: string }
  return { limit, ...(origin === 'string' && { unit: 'characters' }), ...(origin === 'array' && { unit: 'items' }) }
}

/** "must have at most 150 characters, has 163". */
function limitSentence(issue: Issue): string | null {
  if (issue.code !== 'too_big' && issue.code !== 'too_small') return null
  // A schema with its own message keeps it.
  if (!/^Too (?:big|small)/.test(issue.message)) return null
  const [bound, limit] = issue.code === 'too_big' ? ['at most', issue.maximum] : ['at least', issue.minimum]
  const { input, origin } = issue as { input?: unknown; origin: string }
  if (origin === 'string' || origin === 'array') {
    const unit = origin === 'string' ? 'character' : 'item'
    const has = typeof input === 'string' ? countCharacters(input) : (input as { length?: number } | undefined)?.length
    return `must have ${bound} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}${has === undefined ? '' : `, has ${has}`}`
  }
  return `must be ${bound} ${limit}${typeof input === 'number' ? `, is ${input}` : ''}`
}
