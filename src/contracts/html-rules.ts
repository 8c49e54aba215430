import { serialize } from 'parse5'
import { checkCss } from './css-rules.ts'
import { type HtmlCode, hidesCode, type Inspection } from './html-attributes.ts'
import { declaresOtherCharset, hidesCharset, hidesOtherCharset, xmlHasOtherCharset } from './html-charset.ts'
import {
  BoundedParser,
  type CommentToken,
  type HtmlBudget,
  type HtmlDocument,
  type HtmlElement,
  HtmlLimitReached,
  type HtmlParent,
  rawTextOf,
  type TagToken,
} from './html-parse.ts'
import { inspectTag, refuseCharset } from './html-tags.ts'

export type HtmlProblem = { code: HtmlCode; message: string }

const HTML_NAMESPACE = 'http://www.w3.org/1999/xhtml'
/** Comments do not nest, so an honest e-mail has one level; a parser sees a second one where the first never ends. */
const MAX_CONDITIONAL_NESTING = 2
/** Text to a finished document. An unfinished tag is dropped at the end of input, but a footer added later finishes it. */
const TAG_CLOSER = `'">`

const CONDITIONAL = /<!--\s{0,20}\[if/i
const CONDITIONAL_COMMENT = /^\s{0,20}\[if/i
/** Bounded, because an unbounded `[^\]]*` restarts at each of 70 000 openings that 512 KB can hold. */
const CONDITIONAL_MARKERS = /<!--\s{0,20}\[if[^\]]{0,200}\]>(?:<!-->|-->)?|(?:<!--\s{0,20})?<!\[endif\]-->/gi
const PROCESSING = /^\?(?:import|xml-stylesheet)/i
const RAW_TEXT_TAGS = ['style', 'title', 'textarea', 'xmp', 'noscript', 'noembed', 'noframes', 'plaintext', 'iframe']
const RAW_TEXT: ReadonlySet<string> = new Set(RAW_TEXT_TAGS)
const RAW_TEXT_END = new RegExp(`</(?:${RAW_TEXT_TAGS.join('|')}|script)`, 'i')
const TAG_LIKE = /<[a-z!/?]/i
/** Browsers since 2025 keep these inside <select>, parse5 drops them: the two would read the rest differently. */
const AMBIGUOUS_IN_SELECT: ReadonlySet<string> = new Set([...RAW_TEXT_TAGS, 'svg', 'math'])

/** `linkSchemes`: those of the company's own apps. */
export type HtmlAllowances = { linkSchemes?: readonly string[] }

/** What must not leave the gateway, one problem per code; empty when the HTML only shows things. */
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
  inspectWithinLimits(html, inspection)
  // Outlook takes the conditional comments for part of the page, which may join what they separate.
  if (found.size === 0 && CONDITIONAL.test(html)) inspectWithinLimits(html.replace(CONDITIONAL_MARKERS, ''), inspection)
  return Array.from(found, ([code, message]) => ({ code, message }))
}

function inspectCharset(html: string, inspection: Inspection): void {
  // It starts the other character sets of ISO-2022, in which what follows is read.
  if (html.includes('\x1b')) inspection.report('HTML_CHARSET', 'the character ESC is not allowed')
  const cdata = html.indexOf('<![CDATA[')
  if (declaresOtherCharset(html) || (cdata !== -1 && hidesOtherCharset(html.slice(cdata)))) refuseCharset(inspection)
}

function inspectWithinLimits(html: string, inspection: Inspection): void {
  try {
    inspectAsEveryReader(html, { nodes: 0 }, inspection, 0)
  } catch (error) {
    if (!(error instanceof HtmlLimitReached)) throw error
    if (error.limit === 'depth') inspection.report('HTML_TOO_DEEP', 'elements are nested too deeply')
    else inspection.report('HTML_TOO_COMPLEX', 'there are too many elements, comments or attributes')
  }
}

/** With scripts a browser takes <noscript> for text, without them for markup; nothing else depends on the flag. */
function inspectAsEveryReader(html: string, budget: HtmlBudget, inspection: Inspection, nesting: number): void {
  const scripted = inspectView(html, true, budget, inspection, nesting)
  if (scripted.sawNoscript) inspectView(html, false, budget, inspection, nesting)
}

function inspectView(
  html: string,
  scripting: boolean,
  budget: HtmlBudget,
  inspection: Inspection,
  nesting: number,
): RuleParser {
  const parser = new RuleParser(scripting, budget, inspection)
  const document = parser.read(html)
  parser.inspectRawText()
  if (parser.conditionals.length > 0 && nesting === MAX_CONDITIONAL_NESTING) throw new HtmlLimitReached('nodes')
  for (const inner of parser.conditionals) inspectAsEveryReader(inner, budget, inspection, nesting + 1)
  if (parser.sawForeignContent) readAgain(serialize(document, { scriptingEnabled: scripting }), scripting, inspection)
  return parser
}

/** A sanitiser between us and the reader parses, writes, and lets the browser parse again. */
function readAgain(html: string, scripting: boolean, inspection: Inspection): void {
  const parser = new RuleParser(scripting, { nodes: 0 }, inspection)
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

  constructor(scripting: boolean, budget: HtmlBudget, inspection: Inspection) {
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

/** What follows `[if …]>`, or the condition too when it has markup of its own. */
function innerHtmlOf(conditionalComment: string): string {
  const end = conditionalComment.indexOf(']>')
  const markup = conditionalComment.indexOf('<')
  if (markup !== -1 && (end === -1 || markup < end)) return conditionalComment.slice(markup)
  return end === -1 ? '' : conditionalComment.slice(end + 2)
}
