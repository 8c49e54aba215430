import type { FieldProblem } from '../refusal.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import type { TemplateRule } from './rules.ts'

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
