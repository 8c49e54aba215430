import type { z } from 'zod'
import { countCharacters } from './characters.ts'
import { type FieldProblem, fieldPath, type Limit } from './refusal.ts'

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
