import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { type ZodObject, type ZodType, z } from 'zod'
import { type FieldProblem, fieldPath, summarise } from '../contracts/refusal.ts'
import { refusalProblem } from './problem.ts'

/** Fastify validates with the Zod schemas that the OpenAPI document is generated from. */
export const validatorCompiler: FastifySchemaCompiler<ZodType> =
  ({ schema, httpPart }) =>
  data => {
    const parsed = schema.safeParse(data ?? {}, REPORT_INPUT)
    return parsed.success
      ? { value: parsed.data }
      : { error: refusalProblem(summarise(problemsIn(httpPart, parsed.error.issues))) }
  }

/** For all routes of this scope: a misspelt filter is refused instead of ignored. */
export function refuseUnknownQuery(app: FastifyInstance): void {
  app.addHook('onRoute', route => {
    const { querystring } = (route.schema ?? {}) as { querystring?: ZodObject }
    route.schema = { ...route.schema, querystring: querystring?.strict() ?? z.strictObject({}) }
  })
}

function problemsIn(httpPart: string | undefined, issues: readonly Issue[]): FieldProblem[] {
  const problems = fieldProblems(issues)
  if (httpPart !== 'querystring') return problems
  return problems.map(problem =>
    problem.code === 'UNKNOWN_FIELD'
      ? { ...problem, code: 'UNKNOWN_PARAMETER', message: 'is not a query parameter of this route' }
      : problem,
  )
}

/** Lets messages give the length of a value. The value itself is never repeated. */
export const REPORT_INPUT = { reportInput: true } as const

type Issue = z.core.$ZodIssue

/** Bounds the answer to a request with very many errors. */
const MAX_PROBLEMS = 50

export function fieldProblems(issues: readonly Issue[], prefix: readonly PropertyKey[] = []): FieldProblem[] {
  return issues
    .slice(0, MAX_PROBLEMS)
    .flatMap(issue => fieldProblem(issue, [...prefix, ...issue.path]))
    .slice(0, MAX_PROBLEMS)
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
  return [{ path: fieldPath(path), code: code ?? 'INVALID_PAYLOAD', message: sentence(issue) }]
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

/** "must have at most 150 characters, has 163". */
function limitSentence(issue: Issue): string | null {
  if (issue.code !== 'too_big' && issue.code !== 'too_small') return null
  // A schema with its own message keeps it.
  if (!/^Too (?:big|small)/.test(issue.message)) return null
  const [bound, limit] = issue.code === 'too_big' ? ['at most', issue.maximum] : ['at least', issue.minimum]
  const { input, origin } = issue as { input?: unknown; origin: string }
  if (origin === 'string' || origin === 'array') {
    const unit = origin === 'string' ? 'character' : 'item'
    const has = (input as { length?: number } | undefined)?.length
    return `must have ${bound} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}${has === undefined ? '' : `, has ${has}`}`
  }
  return `must be ${bound} ${limit}${typeof input === 'number' ? `, is ${input}` : ''}`
}
