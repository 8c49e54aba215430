/** One thing that is wrong with one field. `path` as in `attachments[0].filename`. */
export type FieldProblem = { path: string; code: string; message: string }

/** Why an e-mail does not get in. HTTP statuses are the concern of http/problem.ts alone. */
export type Refusal =
  | {
      code: 'INVALID_PAYLOAD' | 'INVALID_EMAIL' | 'INVALID_TEMPLATE' | 'RECIPIENT_NOT_FOUND'
      errors: FieldProblem[]
    }
  | { code: 'FROM_NOT_ALLOWED'; errors: FieldProblem[] }
  | { code: 'RECIPIENT_SUPPRESSED'; recipient: string }

/** Zod's path ['cc', 0, 'x'] as people write it: cc[0].x */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}

const SPECIFIC = ['INVALID_EMAIL', 'INVALID_TEMPLATE'] as const

/** The answer's own code: the field problems' when they agree on a named one, otherwise INVALID_PAYLOAD. */
export function summarise(errors: FieldProblem[]): Refusal {
  const shared = SPECIFIC.find(code => errors.every(error => error.code === code))
  return { code: shared ?? 'INVALID_PAYLOAD', errors }
}

/** How a permissive batch names a member that did not get in. */
export type BatchError = { index: number; code: string; message: string }

export function batchError(index: number, refusal: Refusal): BatchError {
  if (refusal.code === 'RECIPIENT_SUPPRESSED')
    return { index, code: refusal.code, message: RECIPIENT_SUPPRESSED_MESSAGE }
  const message = refusal.errors.map(error => `${error.path}: ${error.message}`).join('; ')
  return { index, code: refusal.code, message }
}

export const RECIPIENT_SUPPRESSED_MESSAGE = 'Recipient is on suppression list'
