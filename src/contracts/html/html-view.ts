import { hidesCode, type Inspection } from './attributes.ts'
import { hidesCharset, hidesOtherCharset, xmlHasOtherCharset } from './charset.ts'
import { checkCss } from './css-rules.ts'
import {
  boundedTreeAdapter,
  type HtmlDocument,
  type HtmlElement,
  type HtmlObserver,
  rawTextOf,
  refuseManyAttributes,
} from './parse.ts'
import type { ParseBudget } from './parse-budget.ts'
import { parseWithStartTags, type StartTag } from './start-tags.ts'
import { inspectTag, refuseCharset } from './tags.ts'

const HTML_NAMESPACE = 'http://www.w3.org/1999/xhtml'
/** Appended to the HTML: a parser drops an unfinished tag at the end of the input, but a footer added later would finish it. */
const TAG_CLOSER = `'">`

const CONDITIONAL_COMMENT = /^\s{0,20}\[if/i
const PROCESSING = /^\?(?:import|xml-stylesheet)/i
const RAW_TEXT_TAGS = ['style', 'title', 'textarea', 'xmp', 'noscript', 'noembed', 'noframes', 'plaintext', 'iframe']
const RAW_TEXT: ReadonlySet<string> = new Set(RAW_TEXT_TAGS)
const RAW_TEXT_END = new RegExp(`</(?:${RAW_TEXT_TAGS.join('|')}|script)`, 'i')
const TAG_LIKE = /<[a-z!/?]/i
/** Browsers since 2025 keep these inside <select> and parse5 drops them, so they would read the rest differently. */
const AMBIGUOUS_IN_SELECT: ReadonlySet<string> = new Set([...RAW_TEXT_TAGS, 'svg', 'math'])

/** The HTML as one client parses it, inspected while it is parsed. */
export class HtmlView implements HtmlObserver {
  conditionals: string[] = []
  sawForeignContent = false
  sawNoscript = false
  private inspection: Inspection
  private styles: HtmlElement[] = []
  private rawText: HtmlElement[] = []
  private rawInForeign: HtmlElement[] = []
  private openForeign = 0
  private openSelects = 0

  constructor(inspection: Inspection) {
    this.inspection = inspection
  }

  read(html: string, scripting: boolean, budget: ParseBudget): HtmlDocument {
    const document = parseWithStartTags(html + TAG_CLOSER, scripting, boundedTreeAdapter(budget, this), tag =>
      this.startTag(tag),
    )
    this.inspectRawText()
    return document
  }

  private startTag(tag: StartTag): void {
    inspectTag(tag, this.openForeign > 0, this.inspection)
    if (this.openSelects > 0 && AMBIGUOUS_IN_SELECT.has(tag.tagName)) {
      this.inspection.report('HTML_FORBIDDEN_ELEMENT', `<${tag.tagName}> inside <select> is not allowed`)
    }
    if (tag.tagName === 'noscript') this.sawNoscript = true
    refuseManyAttributes(tag.attrs)
  }

  comment(text: string): void {
    if (CONDITIONAL_COMMENT.test(text)) this.conditionals.push(innerHtmlOf(text))
    else if (xmlHasOtherCharset(text) || hidesOtherCharset(text)) refuseCharset(this.inspection)
    else if (PROCESSING.test(text))
      this.inspection.report('HTML_FORBIDDEN_ELEMENT', 'processing instructions are not allowed')
    if (this.openForeign > 0 && RAW_TEXT_END.test(text)) {
      this.inspection.report('HTML_HIDDEN_MARKUP', 'a comment in SVG or MathML hides markup')
    }
  }

  elementOpened(element: HtmlElement): void {
    if (element.namespaceURI !== HTML_NAMESPACE) {
      this.openForeign++
      this.sawForeignContent = true
    }
    if (element.tagName === 'style') this.styles.push(element)
    if (element.tagName === 'select') this.openSelects++
    if (!RAW_TEXT.has(element.tagName)) return
    this.rawText.push(element)
    if (this.openForeign > 0) this.rawInForeign.push(element)
  }

  elementClosed(element: HtmlElement): void {
    if (element.namespaceURI !== HTML_NAMESPACE) this.openForeign--
    if (element.tagName === 'select') this.openSelects--
  }

  private inspectRawText(): void {
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
