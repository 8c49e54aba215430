import type { FieldProblem } from '../refusal.ts'
import { TEMPLATE_LIMITS } from './limits.ts'

export type TemplateVariables = Record<string, unknown>

/** What is wrong with the variables, or null. */
export function problemOfVariables(variables: TemplateVariables): FieldProblem | null {
  const { VARIABLES_BYTES, VARIABLES_DEPTH } = TEMPLATE_LIMITS
  const refuse = (found: Pick<FieldProblem, 'message' | 'rule' | 'limit'>) => ({
    path: 'variables',
    code: 'INVALID_PAYLOAD',
    ...found,
  })
  if (isDeeperThan(variables, VARIABLES_DEPTH))
    return refuse({
      message: `must not be nested deeper than ${VARIABLES_DEPTH} levels`,
      rule: 'NESTED_TOO_DEEP',
      limit: VARIABLES_DEPTH,
    })
  if (someValue(variables, value => typeof value === 'number' && !Number.isFinite(value)))
    return refuse({
      message: 'must not have a number that is too large, such as 1e400; give it as a text',
      rule: 'NUMBER_TOO_LARGE',
    })
  const bytes = Buffer.byteLength(JSON.stringify(variables))
  if (bytes <= VARIABLES_BYTES) return null
  const message = `must not be larger than ${VARIABLES_BYTES} bytes, has ${bytes}`
  return { path: 'variables', code: 'TOO_LARGE', message, limit: VARIABLES_BYTES, unit: 'bytes' }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some(inner => isDeeperThan(inner, levels - 1))
}

/** Their depth has been checked. */
function someValue(value: unknown, is: (value: unknown) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return is(value)
  return Object.values(value).some(inner => someValue(inner, is))
}

/**
 * A copy without prototypes, and without nulls: a variable that is null counts as missing, so that nobody is greeted with nothing
 * in place of a name.
 */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.create(null) as Record<string, unknown>
  for (const [key, inner] of Object.entries(value)) if (inner !== null) copy[key] = withoutNulls(inner)
  return copy
}
