import { serialize } from 'parse5'
import type { HtmlCode } from '../templates/rules.ts'
import type { Inspection } from './attributes.ts'
import { declaresOtherCharset, hidesOtherCharset } from './charset.ts'
import { HtmlView } from './html-view.ts'
import { HtmlLimitReached, ParseBudget } from './parse-budget.ts'
import { refuseCharset } from './tags.ts'

export type HtmlProblem = { code: HtmlCode; message: string }

/** Comments do not nest, so a legitimate e-mail has one level; a parser sees a second one if the first is never closed. */
const MAX_CONDITIONAL_NESTING = 2

const CONDITIONAL = /<!--\s{0,20}\[if/i
/** Bounded, because an unbounded `[^\]]*` restarts at each of the 70 000 openings that fit into 512 KB. */
const CONDITIONAL_MARKERS = /<!--\s{0,20}\[if[^\]]{0,200}\]>(?:<!-->|-->)?|(?:<!--\s{0,20})?<!\[endif\]-->/gi

/**
 * The active content of the HTML, one problem per code; empty when it is harmless. See docs/content.md.
 * `linkSchemes`: of the setting LINK_SCHEMES.
 */
export function checkHtml(html: string, linkSchemes: readonly string[] = []): HtmlProblem[] {
  if (html.includes('\0')) return [{ code: 'HTML_NUL', message: 'NUL characters are not allowed' }]
  const found = new Map<HtmlCode, string>()
  const inspection: Inspection = {
    report: (code, message) => {
      if (!found.has(code)) found.set(code, message)
    },
    linkSchemes: new Set(linkSchemes),
  }
  inspectCharset(html, inspection)
  const budget = new ParseBudget(html)
  inspectWithinLimits(html, budget, inspection)
  // Outlook reads the content of conditional comments, and removing their markers may join the text around them.
  if (found.size === 0 && CONDITIONAL.test(html))
    inspectWithinLimits(html.replace(CONDITIONAL_MARKERS, ''), budget, inspection)
  return Array.from(found, ([code, message]) => ({ code, message }))
}

function inspectCharset(html: string, inspection: Inspection): void {
  // ESC switches to another character set of ISO-2022 for the text after it.
  if (html.includes('\x1b')) inspection.report('HTML_CHARSET', 'the character ESC is not allowed')
  const cdata = html.indexOf('<![CDATA[')
  if (declaresOtherCharset(html) || (cdata !== -1 && hidesOtherCharset(html.slice(cdata)))) refuseCharset(inspection)
}

function inspectWithinLimits(html: string, budget: ParseBudget, inspection: Inspection): void {
  try {
    inspectAllViews(html, budget, inspection, 0)
  } catch (error) {
    if (!(error instanceof HtmlLimitReached)) throw error
    if (error.limit === 'depth') inspection.report('HTML_TOO_DEEP', 'elements are nested too deeply')
    else inspection.report('HTML_TOO_COMPLEX', 'there are too many elements, comments or attributes')
  }
}

/** With scripting enabled <noscript> is parsed as text, without it as markup; nothing else depends on the flag. */
function inspectAllViews(html: string, budget: ParseBudget, inspection: Inspection, nesting: number): void {
  const withScripts = inspectView(html, true, budget, inspection, nesting)
  if (withScripts.sawNoscript) inspectView(html, false, budget, inspection, nesting)
}

function inspectView(
  html: string,
  scripting: boolean,
  budget: ParseBudget,
  inspection: Inspection,
  nesting: number,
): HtmlView {
  const view = new HtmlView(inspection)
  const document = view.read(html, scripting, budget)
  if (view.conditionals.length > 0 && nesting === MAX_CONDITIONAL_NESTING) throw new HtmlLimitReached('nodes')
  for (const inner of view.conditionals) inspectAllViews(inner, budget, inspection, nesting + 1)
  if (view.sawForeignContent)
    readAgain(serialize(document, { scriptingEnabled: scripting }), scripting, budget, inspection)
  return view
}

/** A sanitiser in a mail client parses and serialises the HTML before the browser parses it again. */
function readAgain(html: string, scripting: boolean, budget: ParseBudget, inspection: Inspection): void {
  new HtmlView(inspection).read(html, scripting, budget)
}
