import type { Template } from 'liquidjs'
import { hasMoreCharacters } from '../characters.ts'
import type { FieldProblem } from '../refusal.ts'
import { ENGINES } from './engine.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { liquidProblem } from './liquid-problem.ts'
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
    const found = problemOfSize(part, written) ?? problemOfTags(written)
    if (found === null) return parsePart(part, written, problems)
    problems.push({ path: part, code: 'INVALID_TEMPLATE', ...found })
    return null
  }
  const parts = { subject: parse('subject'), html: parse('html'), text: parse('text') }
  if (source.html === null && source.text === null)
    problems.push({
      path: 'html',
      code: 'INVALID_TEMPLATE',
      message: 'html or text is required',
      rule: 'CONTENT_MISSING',
    })
  if (problems.length > 0) return { ok: false, problems }
  const written = [source.subject, source.html ?? '', source.text ?? '']
  const variables = [...new Set(written.flatMap(usedVariables))].sort()
  const errorsWork = written.reduce((sum, part) => sum + part.length * countTags(part), 0)
  return { ok: true, template: { parts, variables, namesAllErrors: errorsWork <= TEMPLATE_LIMITS.ALL_ERRORS_WORK } }
}

type Found = Omit<FieldProblem, 'path' | 'code'>

function parsePart(part: TemplatePart, written: string, problems: FieldProblem[]): Template[] | null {
  try {
    return ENGINES.firstError[part].parse(written)
  } catch (error) {
    const { message } = error as Error
    problems.push({ path: part, code: 'INVALID_TEMPLATE', ...liquidProblem(message, 'INVALID_EXPRESSION') })
    return null
  }
}

function problemOfSize(part: TemplatePart, written: string): Found | null {
  const { SUBJECT_CHARS, CONTENT_BYTES } = TEMPLATE_LIMITS
  if (written === '') return { message: 'must not be empty', rule: 'EMPTY' }
  if (part === 'subject') {
    if (!hasMoreCharacters(written, SUBJECT_CHARS)) return null
    const message = `must not have more than ${SUBJECT_CHARS} characters`
    return { message, limit: SUBJECT_CHARS, unit: 'characters' }
  }
  if (written.length <= CONTENT_BYTES && Buffer.byteLength(written) <= CONTENT_BYTES) return null
  return { message: `must not be larger than ${CONTENT_BYTES} bytes`, limit: CONTENT_BYTES, unit: 'bytes' }
}

const TAG = /\{[{%]-?\s*(\w{0,20})/g
const countTags = (written: string) => written.split(/\{[{%]/).length - 1
const OPENING: ReadonlySet<string> = new Set(['if', 'unless', 'case', 'for'])

/**
 * Counted before the parser sees it, because it works recursively and in memory. Every opening counts, also in a raw section: one that is
 * not closed must not end the count, since in a raw section it is no error.
 */
function problemOfTags(written: string): Found | null {
  const { TAGS, TAG_CHARS, ALL_TAGS_CHARS, NESTING } = TEMPLATE_LIMITS
  let tags = 0
  let chars = 0
  let nesting = 0
  const neverClosed = new Set<string>()
  for (const { 0: opening, 1: name, index } of written.matchAll(TAG)) {
    if (++tags > TAGS) return { message: `must not have more than ${TAGS} tags`, rule: 'TOO_MANY_TAGS', limit: TAGS }
    const closing = opening[1] === '{' ? '}}' : '%}'
    if (neverClosed.has(closing)) continue
    const end = written.indexOf(closing, index + 2)
    if (end === -1) {
      neverClosed.add(closing)
      continue
    }
    if (end - index > TAG_CHARS) {
      const message = `a tag must not be longer than ${TAG_CHARS} characters`
      return { message, rule: 'TAG_TOO_LONG', limit: TAG_CHARS, unit: 'characters' }
    }
    chars += end - index
    if (chars > ALL_TAGS_CHARS) {
      const message = `all tags must not have more than ${ALL_TAGS_CHARS} characters`
      return { message, rule: 'TAGS_TOO_LONG', limit: ALL_TAGS_CHARS, unit: 'characters' }
    }
    if (opening[1] === '{') continue
    if (OPENING.has(name!)) nesting++
    else if (name!.startsWith('end') && nesting > 0) nesting--
    if (nesting > NESTING) {
      const message = `tags must not be nested deeper than ${NESTING} levels`
      return { message, rule: 'NESTED_TOO_DEEP', limit: NESTING }
    }
  }
  return null
}
