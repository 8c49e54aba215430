import type { HtmlProblem } from '../html/rules.ts'
import type { FieldProblem } from '../refusal.ts'
import type { HtmlCode } from './rules.ts'
import { tokensOf } from './tokens.ts'

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
