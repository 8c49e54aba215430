import { UndefinedVariableError } from 'liquidjs'
import { countCharacters, isBlank, problemOfLine } from '../platform/text/characters.ts'
import type { FieldProblem, TemplateRule } from '../platform/text/refusal.ts'
import { SEND_LIMITS } from '../platform/text/send-limits.ts'
import { ENGINES } from './engine.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { rootOf } from './markup.ts'
import { liquidProblem, type ParsedTemplate, type TemplatePart } from './parse.ts'

type RenderedTemplate = { subject: string; html: string | null; text: string | null }
export type RenderResult = ({ ok: true } & RenderedTemplate) | { ok: false; problems: FieldProblem[] }

/** The HTML rules are not applied here: they count for what is sent, wherever it comes from. */
export function renderTemplate(template: ParsedTemplate, variables: TemplateVariables): RenderResult {
  const unusable = problemOfVariables(variables)
  if (unusable) return { ok: false, problems: [unusable] }
  const scope = withoutNulls(variables) as object
  const result = renderParts(template, scope, ENGINES.firstError)
  if (result.ok) return result
  // Once more, to name every missing variable.
  const isMissing = result.problems.some(({ code }) => code === 'TEMPLATE_VARIABLE_MISSING')
  if (isMissing && template.namesAllErrors) return renderParts(template, scope, ENGINES.allErrors)
  return isTooSlow(result) ? renderAgain(template, scope) : result
}

const isTooSlow = (result: RenderResult) => !result.ok && result.problems.some(({ rule }) => rule === 'TOO_SLOW')

const MAX_TRIES = 5

/**
 * A process that gets no processor for a moment looks like a slow template, and on a busy machine that happens several times in a row. A
 * try in which the process hardly worked does not count.
 */
function renderAgain(template: ParsedTemplate, scope: object): RenderResult {
  for (let tries = 1; ; tries++) {
    const before = process.cpuUsage()
    const result = renderParts(template, scope, ENGINES.firstError)
    const { user, system } = process.cpuUsage(before)
    const workedMs = (user + system) / 1000
    if (!isTooSlow(result) || workedMs > TEMPLATE_LIMITS.RENDER_MS / 2 || tries === MAX_TRIES) return result
  }
}

/** How LiquidJS names its limits. */
const LIMITS: [RegExp, TemplateRule, string][] = [
  [/^template render limit exceeded/, 'TOO_SLOW', 'takes too long to render; simplify it, or give it shorter lists'],
  [
    /^memory alloc limit exceeded/,
    'TOO_MUCH_WORK',
    'makes too much of its variables; simplify it, or give it shorter lists',
  ],
]

function renderParts(template: ParsedTemplate, scope: object, engines: Engines): RenderResult {
  const endMs = performance.now() + TEMPLATE_LIMITS.RENDER_MS
  const found = new Map<string, FieldProblem>()
  const render = (part: TemplatePart): string | null => {
    const parsed = template.parts[part]
    if (!parsed) return null
    try {
      return engines[part].renderSync(parsed, scope, { renderLimit: endMs - performance.now() }) as string
    } catch (error) {
      for (const problem of problemsOf(error, part, template.variables))
        found.set(problem.path + problem.message, problem)
      return null
    }
  }
  const rendered = { subject: (render('subject') ?? '').trim(), html: render('html'), text: render('text') }
  const problems = found.size > 0 ? [...found.values()] : problemsOfResult(rendered)
  return problems.length > 0 ? { ok: false, problems } : { ok: true, ...rendered }
}

type Engines = (typeof ENGINES)['allErrors']

const MAX_PROBLEMS = 100
const SIMPLE_PATH = /^[\w.[\]"'-]{1,200}$/

function problemsOf(thrown: unknown, part: TemplatePart, variables: string[]): FieldProblem[] {
  return errorsOf(thrown)
    .slice(0, MAX_PROBLEMS)
    .map(error => (error instanceof UndefinedVariableError ? missing(error, variables) : failedPart(part, error)))
}

/** With catchAllErrors, LiquidJS throws one error that holds all of them, also in levels. */
function errorsOf(error: unknown): Error[] {
  const { errors } = error as { errors?: Error[] }
  return Array.isArray(errors) ? errors.flatMap(errorsOf) : [error as Error]
}

function failedPart(part: TemplatePart, { message }: Error): FieldProblem {
  const limit = LIMITS.find(([words]) => words.test(message))
  return failed(part, limit ? { rule: limit[1], message: limit[2] } : liquidProblem(message))
}

function missing({ token }: UndefinedVariableError, variables: string[]): FieldProblem {
  const written = token.getText()
  const name = SIMPLE_PATH.test(written) ? written : 'a variable'
  // A name inside a loop belongs to the list, which has another name in the request.
  const isGiven = variables.some(used => rootOf(used) === rootOf(name))
  return {
    path: isGiven ? `variables.${name}` : 'variables',
    code: 'TEMPLATE_VARIABLE_MISSING',
    message: `${name} is missing: the template uses it and has no default for it`,
    name,
  }
}

const failed = (path: string, found: Omit<FieldProblem, 'path' | 'code'>): FieldProblem => ({
  path,
  code: 'INVALID_TEMPLATE',
  ...found,
})

/** The limits of an e-mail that was written by hand. */
function problemsOfResult({ subject, html, text }: RenderedTemplate): FieldProblem[] {
  const problems: FieldProblem[] = []
  const inSubject = problemOfSubject(subject)
  if (inSubject)
    problems.push(failed('subject', { ...inSubject, message: `the rendered subject ${inSubject.message}` }))
  for (const [part, content] of Object.entries({ html, text })) {
    if (content === null) continue
    const bytes = Buffer.byteLength(content)
    if (isBlank(content))
      problems.push(failed(part, { message: `the rendered ${part} is empty`, rule: 'RENDERED_EMPTY' }))
    if (bytes > SEND_LIMITS.CONTENT_BYTES)
      problems.push(
        failed(part, {
          message: `the rendered ${part} must not be larger than ${SEND_LIMITS.CONTENT_BYTES} bytes, has ${bytes}`,
          limit: SEND_LIMITS.CONTENT_BYTES,
          unit: 'bytes',
        }),
      )
  }
  return problems
}

function problemOfSubject(subject: string): Omit<FieldProblem, 'path' | 'code'> | null {
  if (subject === '') return { message: 'is empty', rule: 'RENDERED_EMPTY' }
  const { SUBJECT_CHARS } = SEND_LIMITS
  const has = countCharacters(subject)
  if (has > SUBJECT_CHARS)
    return {
      message: `must not have more than ${SUBJECT_CHARS} characters, has ${has}`,
      limit: SUBJECT_CHARS,
      unit: 'characters',
    }
  const message = problemOfLine(subject)
  return message === null ? null : { message, rule: 'INVALID_LINE' }
}

type TemplateVariables = Record<string, unknown>

/** What is wrong with the variables, or null. */
function problemOfVariables(variables: TemplateVariables): FieldProblem | null {
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
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.create(null) as Record<string, unknown>
  for (const [key, inner] of Object.entries(value)) if (inner !== null) copy[key] = withoutNulls(inner)
  return copy
}
