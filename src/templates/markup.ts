import type { HtmlProblem } from '../platform/html/rules.ts'
import type { FieldProblem, HtmlCode } from '../platform/text/refusal.ts'
import type { TemplateSource } from './parse.ts'

const QUOTED = /"[^"]*"|'[^']*'/g
/** Names after `|` are filters; names before `:` or after a dot belong to something else. */
const PATH = /(?<![\w.|-]|\|\s{1,20})[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[\d+\])*(?!\s{0,20}:)(?![\w-])/g
const WORDS: ReadonlySet<string> = new Set(
  'if elsif else unless case when for in and or not contains true false nil null empty blank assign break continue reversed'.split(
    ' ',
  ),
)
const LOCAL = /^(?:for|assign)\s+([\w-]+)/

/** The names of the variables that a template uses, such as `user.name`. (The analysis of LiquidJS takes seconds for 10 000.) */
export function usedVariables(written: string): string[] {
  const names = new Set<string>()
  const locals = new Set(['forloop'])
  for (const { kind, content } of tokensOf(written)) {
    if (kind !== 'output' && kind !== 'tag') continue
    if (kind === 'tag' && (content.startsWith('end') || content.startsWith('#'))) continue
    const local = kind === 'tag' ? LOCAL.exec(content)?.[1] : undefined
    if (local !== undefined) locals.add(local)
    for (const [path] of content.replace(QUOTED, '""').matchAll(PATH)) if (!WORDS.has(path)) names.add(path)
  }
  return [...names].filter(name => !locals.has(rootOf(name))).sort()
}

/** Of all its parts. */
export const variablesOf = ({ subject, html, text }: TemplateSource): string[] =>
  [...new Set([subject, html ?? '', text ?? ''].flatMap(usedVariables))].sort()

export const rootOf = (path: string) => path.split(/[.[]/, 1)[0]!

/** Rules that no value can satisfy or break: a value never becomes markup. The others are applied to what was rendered. */
const OF_THE_TEMPLATE: ReadonlySet<HtmlCode> = new Set<HtmlCode>([
  'HTML_SCRIPT',
  'HTML_EVENT_HANDLER',
  'HTML_FORBIDDEN_ELEMENT',
  'HTML_META_REFRESH',
])

/** The markup of a template that was parsed: every branch of it, with a word in place of each value. */
export function markupOf(html: string): string {
  let markup = ''
  for (const { kind, content } of tokensOf(html)) {
    if (kind === 'text' || kind === 'raw') markup += content
    else if (kind === 'output') markup += 'value'
  }
  return markup
}

/** What the HTML rules refuse in the markup itself, so that a template which could never be sent is not stored. */
export function problemsOfMarkup(found: HtmlProblem[]): FieldProblem[] {
  return found
    .filter(({ code }) => OF_THE_TEMPLATE.has(code))
    .map(({ code, message }) => ({
      path: 'html',
      code: 'INVALID_TEMPLATE',
      message: `${message} (${code})`,
      rule: code,
    }))
}

/** `text` holds no tags; neither does `raw`, the content of a raw section, which goes out as it is written. */
export type TemplateToken = { kind: 'text' | 'output' | 'tag' | 'raw' | 'comment'; content: string }

const OPENING = /\{[{%]/g
/** Sections whose content is no part of the template. */
const SECTION_ENDS = { raw: /\{%-?\s*endraw\s*-?%\}/g, comment: /\{%-?\s*endcomment\s*-?%\}/g }

/**
 * The parts of a template in their order; what is never closed ends them. In one pass from left to right: a lazy regular expression
 * starts again at every opening, and takes seconds for 100 000 openings that nothing closes.
 */
export function* tokensOf(written: string): Generator<TemplateToken> {
  let done = 0
  for (;;) {
    const open = indexFrom(OPENING, written, done)
    const isTag = written[open + 1] === '%'
    const close = open === -1 ? -1 : written.indexOf(isTag ? '%}' : '}}', open + 2)
    if (close === -1) {
      yield { kind: 'text', content: written.slice(done) }
      return
    }
    yield { kind: 'text', content: written.slice(done, open) }
    const content = written
      .slice(open + 2, close)
      .replace(/^-/, '')
      .replace(/-$/, '')
      .trim()
    done = close + 2
    if (isTag && (content === 'raw' || content === 'comment')) {
      const end = SECTION_ENDS[content]
      const endsAt = indexFrom(end, written, done)
      if (endsAt === -1) return
      yield { kind: content, content: written.slice(done, endsAt) }
      done = end.lastIndex
    } else yield { kind: isTag ? 'tag' : 'output', content }
  }
}

/** Leaves `lastIndex` behind what was found. */
function indexFrom(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? -1
}
