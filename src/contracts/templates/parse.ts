import type { Template } from 'liquidjs'
import type { FieldProblem } from '../refusal.ts'
import { ENGINES } from './engine.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { usedVariables } from './used-variables.ts'

/** As it is written and stored: Liquid (https://liquidjs.com) with a part of its tags and filters; see docs/templates.md. */
export type TemplateSource = { subject: string; html: string | null; text: string | null }

export type TemplatePart = 'subject' | 'html' | 'text'
export type ParsedTemplate = {
  parts: Record<TemplatePart, Template[] | null>
  /** The variables that it uses, such as `user.name`. */
  variables: string[]
  /** Whether every missing variable can be named, and not only the first. */
  namesAllErrors: boolean
}

export type ParseResult = { ok: true; template: ParsedTemplate } | { ok: false; problems: FieldProblem[] }

export function parseTemplate(source: TemplateSource): ParseResult {
  const problems: FieldProblem[] = []
  const parse = (part: TemplatePart): Template[] | null => {
    const written = source[part]
    if (written === null) return null
    const message = problemOfSize(part, written) ?? problemOfTags(written)
    if (message === null) return parsePart(part, written, problems)
    problems.push(problem(part, message))
    return null
  }
  const parts = { subject: parse('subject'), html: parse('html'), text: parse('text') }
  if (source.html === null && source.text === null) problems.push(problem('html', 'html or text is required'))
  if (problems.length > 0) return { ok: false, problems }
  const written = [source.subject, source.html ?? '', source.text ?? '']
  const variables = [...new Set(written.flatMap(usedVariables))].sort()
  const errorsWork = written.reduce((sum, part) => sum + part.length * countTags(part), 0)
  return { ok: true, template: { parts, variables, namesAllErrors: errorsWork <= TEMPLATE_LIMITS.ALL_ERRORS_WORK } }
}

const problem = (path: string, message: string): FieldProblem => ({ path, code: 'INVALID_TEMPLATE', message })

function parsePart(part: TemplatePart, written: string, problems: FieldProblem[]): Template[] | null {
  try {
    return ENGINES.firstError[part].parse(written)
  } catch (error) {
    problems.push(problem(part, (error as Error).message.slice(0, MAX_MESSAGE_CHARS)))
    return null
  }
}

const MAX_MESSAGE_CHARS = 300

function problemOfSize(part: TemplatePart, written: string): string | null {
  const { SUBJECT_CHARS, CONTENT_BYTES } = TEMPLATE_LIMITS
  if (written === '') return 'must not be empty'
  if (part === 'subject')
    return written.length > SUBJECT_CHARS ? `must not have more than ${SUBJECT_CHARS} characters` : null
  return written.length > CONTENT_BYTES || Buffer.byteLength(written) > CONTENT_BYTES
    ? `must not be larger than ${CONTENT_BYTES} bytes`
    : null
}

const TAG = /\{[{%]-?\s{0,20}(\w{0,20})/g
const countTags = (written: string) => written.split(/\{[{%]/).length - 1
const OPENING: ReadonlySet<string> = new Set(['if', 'unless', 'case', 'for'])

/** Counted before the parser sees it, because it works recursively and in memory. */
function problemOfTags(written: string): string | null {
  const { TAGS, TAG_CHARS, ALL_TAGS_CHARS, NESTING } = TEMPLATE_LIMITS
  let tags = 0
  let chars = 0
  let nesting = 0
  for (const { 0: opening, 1: name, index } of written.matchAll(TAG)) {
    if (++tags > TAGS) return `must not have more than ${TAGS} tags`
    const end = written.indexOf(opening[1] === '{' ? '}}' : '%}', index + 2)
    // Not closed: the parser says where.
    if (end === -1) return null
    if (end - index > TAG_CHARS) return `a tag must not be longer than ${TAG_CHARS} characters`
    chars += end - index
    if (chars > ALL_TAGS_CHARS) return `all tags must not have more than ${ALL_TAGS_CHARS} characters`
    if (opening[1] === '{') continue
    if (OPENING.has(name!)) nesting++
    else if (name!.startsWith('end') && nesting > 0) nesting--
    if (nesting > NESTING) return `tags must not be nested deeper than ${NESTING} levels`
  }
  return null
}
