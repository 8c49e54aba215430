import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { type ZodObject, type ZodType, z } from 'zod'
import { type FieldProblem, fieldProblems, type Issue, REPORT_INPUT, summarise } from '../platform/text/refusal.ts'
import { Problem, type ProblemExtras, refusalProblem } from './problem.ts'

/** Fastify validates with the Zod schemas that the OpenAPI document is generated from. */
export const validatorCompiler: FastifySchemaCompiler<ZodType> =
  ({ schema, httpPart }) =>
  data => {
    try {
      return { value: parseInput(schema, httpPart, data) }
    } catch (error) {
      if (error instanceof Problem) return { error }
      throw error
    }
  }

/** Throws the problem that names each wrong field. */
export function parseInput<S extends ZodType>(schema: S, httpPart: string | undefined, data: unknown): z.output<S> {
  const parsed = schema.safeParse(data ?? {}, REPORT_INPUT)
  if (parsed.success) return parsed.data
  throw refusalProblem(summarise(problemsIn(httpPart, parsed.error.issues)))
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

/** 404, not 422, for an id that is no UUID: it is the id of nothing. */
export function uuidParam<Name extends string>(
  { params }: FastifyRequest,
  name: Name,
  missing: ProblemExtras = {},
): string {
  const value = (params as Record<Name, string>)[name]
  if (!z.uuid().safeParse(value).success) throw new Problem('NOT_FOUND', missing)
  return value
}
