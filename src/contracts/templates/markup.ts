import type { HtmlCode } from '../html/attributes.ts'
import type { HtmlProblem } from '../html/rules.ts'
import type { FieldProblem } from '../refusal.ts'

/** Rules that no value can satisfy or break: a value never becomes markup. The others are applied to what was rendered. */
const OF_THE_TEMPLATE: ReadonlySet<HtmlCode> = new Set<HtmlCode>([
  'HTML_SCRIPT',
  'HTML_EVENT_HANDLER',
  'HTML_FORBIDDEN_ELEMENT',
  'HTML_META_REFRESH',
])

const COMMENT = /\{%-?\s{0,20}comment\s{0,20}-?%\}[\s\S]*?\{%-?\s{0,20}endcomment\s{0,20}-?%\}/g
const OUTPUT = /\{\{[\s\S]*?\}\}/g
const TAG = /\{%[\s\S]*?%\}/g

/** The markup of a template that was parsed: every branch of it, with a word in place of each value. */
export function markupOf(html: string): string {
  return html.replace(COMMENT, '').replace(OUTPUT, 'value').replace(TAG, '')
}

/** What the HTML rules refuse in the markup itself, so that a template which could never be sent is not stored. */
export function problemsOfMarkup(found: HtmlProblem[]): FieldProblem[] {
  return found
    .filter(({ code }) => OF_THE_TEMPLATE.has(code))
    .map(({ code, message }) => ({ path: 'html', code: 'INVALID_TEMPLATE', message: `${message} (${code})` }))
}
