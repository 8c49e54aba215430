import { z } from 'zod'
import { TEMPLATE_RULES } from './templates/rules.ts'

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
  rule: z.enum(TEMPLATE_RULES).optional().describe('Of a template and its HTML: which of their rules was broken'),
  name: z.string().optional().describe('What it is about, such as the tag, the filter or the variable'),
  line: z.int().optional().describe('In the template, from 1; also `column`'),
  column: z.int().optional(),
})
export type FieldProblem = z.output<typeof fieldProblemSchema>
export type Limit = Pick<FieldProblem, 'limit' | 'unit'>

/** Why an e-mail is not accepted. Only http/problem.ts translates this into HTTP statuses. */
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
