import { serialize } from 'parse5'
import type { HtmlCode } from '../templates/rules.ts'
import { hidesCode, type Inspection } from './attributes.ts'
import { declaresOtherCharset, hidesCharset, hidesOtherCharset, xmlHasOtherCharset } from './charset.ts'
import { checkCss } from './css-rules.ts'
import {
  BoundedParser,
  type CommentToken,
  type HtmlDocument,
  type HtmlElement,
  type HtmlParent,
  rawTextOf,
  type TagToken,
} from './parse.ts'
import { HtmlLimitReached, ParseBudget } from './parse-budget.ts'
import { inspectTag, refuseCharset } from './tags.ts'

export type HtmlProblem = { code: HtmlCode; message: string }

const HTML_NAMESPACE = 'http://www.w3.org/1999/xhtml'
/** Comments do not nest, so a legitimate e-mail has one level; a parser sees a second one if the first is never closed. */
const MAX_CONDITIONAL_NESTING = 2
/** Appended to the HTML: a parser drops an unfinished tag at the end of the input, but a footer added later would finish it. */
const TAG_CLOSER = `'">`

const CONDITIONAL = /<!--\s{0,20}\[if/i
const CONDITIONAL_COMMENT = /^\s{0,20}\[if/i
/** Bounded, because an unbounded `[^\]]*` restarts at each of the 70 000 openings that fit into 512 KB. */
const CONDITIONAL_MARKERS = /<!--\s{0,20}\[if[^\]]{0,200}\]>(?:<!-->|-->)?|(?:<!--\s{0,20})?<!\[endif\]-->/gi
const PROCESSING = /^\?(?:import|xml-stylesheet)/i
const RAW_TEXT_TAGS = ['style', 'title', 'textarea', 'xmp', 'noscript', 'noembed', 'noframes', 'plaintext', 'iframe']
const RAW_TEXT: ReadonlySet<string> = new Set(RAW_TEXT_TAGS)
const RAW_TEXT_END = new RegExp(`</(?:${RAW_TEXT_TAGS.join('|')}|script)`, 'i')
const TAG_LIKE = /<[a-z!/?]/i
/** Browsers since 2025 keep these inside <select> and parse5 drops them, so they would read the rest differently. */
const AMBIGUOUS_IN_SELECT: ReadonlySet<string> = new Set([...RAW_TEXT_TAGS, 'svg', 'math'])

/** `linkSchemes`: URL schemes of the company's own apps. */
export type HtmlAllowances = { linkSchemes?: readonly string[] }

/** The active content of the HTML, one problem per code; empty when it is harmless. See docs/content.md. */
export function checkHtml(html: string, { linkSchemes = [] }: HtmlAllowances = {}): HtmlProblem[] {
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
  const scripted = inspectView(html, true, budget, inspection, nesting)
  if (scripted.sawNoscript) inspectView(html, false, budget, inspection, nesting)
}

function inspectView(
  html: string,
  scripting: boolean,
  budget: ParseBudget,
  inspection: Inspection,
  nesting: number,
): RuleParser {
  const parser = new RuleParser(scripting, budget, inspection)
  const document = parser.read(html)
  parser.inspectRawText()
  if (parser.conditionals.length > 0 && nesting === MAX_CONDITIONAL_NESTING) throw new HtmlLimitReached('nodes')
  for (const inner of parser.conditionals) inspectAllViews(inner, budget, inspection, nesting + 1)
  if (parser.sawForeignContent)
    readAgain(serialize(document, { scriptingEnabled: scripting }), scripting, budget, inspection)
  return parser
}

/** A sanitiser in a mail client parses and serialises the HTML before the browser parses it again. */
function readAgain(html: string, scripting: boolean, budget: ParseBudget, inspection: Inspection): void {
  const parser = new RuleParser(scripting, budget, inspection)
  parser.read(html)
  parser.inspectRawText()
}

class RuleParser extends BoundedParser {
  conditionals: string[] = []
  sawForeignContent = false
  sawNoscript = false
  private inspection: Inspection
  private styles: HtmlElement[] = []
  private rawText: HtmlElement[] = []
  private rawInForeign: HtmlElement[] = []
  private openForeign = 0
  private openSelects = 0

  constructor(scripting: boolean, budget: ParseBudget, inspection: Inspection) {
    super(scripting, budget)
    this.inspection = inspection
  }

  override read(html: string): HtmlDocument {
    return super.read(html + TAG_CLOSER)
  }

  override onStartTag(token: TagToken): void {
    inspectTag(token, this.openForeign > 0, this.inspection)
    if (this.openSelects > 0 && AMBIGUOUS_IN_SELECT.has(token.tagName)) {
      this.inspection.report('HTML_FORBIDDEN_ELEMENT', `<${token.tagName}> inside <select> is not allowed`)
    }
    if (token.tagName === 'noscript') this.sawNoscript = true
    super.onStartTag(token)
  }

  override onComment(token: CommentToken): void {
    const { data } = token
    if (CONDITIONAL_COMMENT.test(data)) this.conditionals.push(innerHtmlOf(data))
    else if (xmlHasOtherCharset(data) || hidesOtherCharset(data)) refuseCharset(this.inspection)
    else if (PROCESSING.test(data))
      this.inspection.report('HTML_FORBIDDEN_ELEMENT', 'processing instructions are not allowed')
    if (this.openForeign > 0 && RAW_TEXT_END.test(data)) {
      this.inspection.report('HTML_HIDDEN_MARKUP', 'a comment in SVG or MathML hides markup')
    }
    super.onComment(token)
  }

  override onItemPush(node: HtmlParent, tagId: number, isTop: boolean): void {
    super.onItemPush(node, tagId, isTop)
    if (!('tagName' in node)) return
    if (node.namespaceURI !== HTML_NAMESPACE) {
      this.openForeign++
      this.sawForeignContent = true
    }
    if (node.tagName === 'style') this.styles.push(node)
    if (node.tagName === 'select') this.openSelects++
    if (!RAW_TEXT.has(node.tagName)) return
    this.rawText.push(node)
    if (this.openForeign > 0) this.rawInForeign.push(node)
  }

  override onItemPop(node: HtmlParent, isTop: boolean): void {
    super.onItemPop(node, isTop)
    if (!('tagName' in node)) return
    if (node.namespaceURI !== HTML_NAMESPACE) this.openForeign--
    if (node.tagName === 'select') this.openSelects--
  }

  inspectRawText(): void {
    for (const style of this.styles) {
      const css = rawTextOf(style)
      if (hidesCode(css)) this.inspection.report('HTML_HIDDEN_MARKUP', '<style> hides markup')
      const reason = checkCss(css)
      if (reason !== null) this.inspection.report('HTML_CSS', `<style> with ${reason} is not allowed`)
    }
    if (this.rawText.some(element => hidesCharset(rawTextOf(element)))) refuseCharset(this.inspection)
    for (const element of this.rawInForeign) {
      if (TAG_LIKE.test(rawTextOf(element))) {
        this.inspection.report('HTML_HIDDEN_MARKUP', `<${element.tagName}> in SVG or MathML hides markup`)
      }
    }
  }
}

/** The text after `[if …]>`, or from the first tag if the condition itself contains one. */
function innerHtmlOf(conditionalComment: string): string {
  const end = conditionalComment.indexOf(']>')
  const markup = conditionalComment.indexOf('<')
  if (markup !== -1 && (end === -1 || markup < end)) return conditionalComment.slice(markup)
  return end === -1 ? '' : conditionalComment.slice(end + 2)
}
