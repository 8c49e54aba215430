import type { Template } from 'liquidjs'
import { hasMoreCharacters } from '../platform/text/characters.ts'
import type { FieldProblem, TemplateRule } from '../platform/text/refusal.ts'
import { ENGINES } from './engine.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { variablesOf } from './markup.ts'

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
  const errorsWork = written.reduce((sum, part) => sum + part.length * countTags(part), 0)
  return {
    ok: true,
    template: { parts, variables: variablesOf(source), namesAllErrors: errorsWork <= TEMPLATE_LIMITS.ALL_ERRORS_WORK },
  }
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

type Details = Pick<FieldProblem, 'message' | 'rule' | 'name' | 'line' | 'column' | 'limit' | 'unit'>

/** LiquidJS ends its sentences with the place: `tag "x" not found, line:3, col:5`. */
const PLACE = /^([\s\S]*), line:(\d+), col:(\d+)$/
const MAX_MESSAGE_CHARS = 300
const MAX_NAME_CHARS = 100

/** How LiquidJS words what it refuses, and our own filters and operators; a group holds the name of what it is about. */
const WORDS: [RegExp, TemplateRule][] = [
  [/^tag "((?:end.*|else|elsif))" not found$/, 'TAG_WITHOUT_BEGINNING'],
  [/^tag "(.*)" not found$/, 'UNKNOWN_TAG'],
  [/^undefined filter: (.*)$/, 'UNKNOWN_FILTER'],
  [/^(?:tag |output |raw )?"?([\s\S]*?)"? not closed$/, 'NOT_CLOSED'],
  [/^illegal tag: ([\s\S]*)$/, 'INVALID_TAG'],
  [/^(?:illegal tag syntax|expected "="|duplicated else|every line of an inline comment)/, 'INVALID_TAG'],
  [/^(?:is a list or an object, not a text$|Cannot convert object to primitive)/, 'NOT_A_TEXT'],
  [/^two lists cannot be compared$/, 'LISTS_COMPARED'],
  [/^contains searches for at most/, 'SEARCHED_TOO_LONG'],
]

/** The sentence of the engine with its rule, what it is about and where, as far as they are known. */
export function liquidProblem(message: string, otherwise?: TemplateRule): Details {
  const [, words = message, line, column] = PLACE.exec(message) ?? []
  const [pattern, rule = otherwise] = WORDS.find(([pattern]) => pattern.test(words)) ?? []
  const name = pattern?.exec(words)?.[1]?.slice(0, MAX_NAME_CHARS)
  return {
    message: message.slice(0, MAX_MESSAGE_CHARS),
    ...(rule && { rule }),
    ...(name && { name }),
    ...(line && column && { line: Number(line), column: Number(column) }),
    ...(rule === 'SEARCHED_TOO_LONG' && { limit: TEMPLATE_LIMITS.SEARCHED_CHARS, unit: 'characters' as const }),
  }
}
