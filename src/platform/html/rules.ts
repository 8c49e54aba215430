import { type DefaultTreeAdapterMap, Parser, serialize, type Token } from 'parse5'
import type { HtmlCode } from '../text/refusal.ts'
import {
  type Attribute,
  checkCss,
  hidesCode,
  type Inspection,
  inspectAttribute,
  localName,
  refuseUrl,
} from './attributes.ts'
import {
  ALLOWED_CHARSETS,
  contentHasOtherCharset,
  declaresOtherCharset,
  hidesCharset,
  hidesOtherCharset,
  isAllowedCharset,
  xmlHasOtherCharset,
} from './charset.ts'
import {
  boundedTreeAdapter,
  type HtmlDocument,
  type HtmlElement,
  HtmlLimitReached,
  type HtmlObserver,
  type HtmlTreeAdapter,
  ParseBudget,
  rawTextOf,
  refuseManyAttributes,
} from './parse.ts'
import { isHarmlessUrl } from './urls.ts'

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

const FORBIDDEN_ELEMENTS: ReadonlySet<string> = new Set(
  'iframe frame frameset fencedframe portal layer ilayer vmlframe object embed applet base import handler listener'.split(
    ' ',
  ),
)
/** Of SVG, and t:set of Internet Explorer. */
const ANIMATIONS: ReadonlySet<string> = new Set(
  'animate set animatetransform animatemotion animatecolor animation'.split(' '),
)
const ANIMATED_VALUES = 'values from to by'.split(' ')

const SIMPLE_NAME = /^[a-z][a-z0-9]*$/
const REFUSED_META = /^(?:refresh|set-cookie2?|link|location|window-target)$/
const REFUSED_LINK = /^(?:import|modulepreload|serviceworker)$/
const REFUSED_PRELOAD = /^(?:script|.*worker|document|embed|object|i?frame)$/
const ANIMATED_CODE = /(?:^|:)(?:href|src|style|innerhtml|outerhtml|on[a-z]+)$/

/** Called for every start tag of the tokenizer, also for those that the tree builder drops: another client may keep them. */
export function inspectTag(tag: StartTag, inForeignContent: boolean, inspection: Inspection): void {
  const element = elementName(tag.tagName)
  inspectElement(element, inspection)
  if (tag.tagName === 'comment') inspection.report('HTML_FORBIDDEN_ELEMENT', '<comment> is not allowed')
  if (tag.attrs.length === 0) return
  INSPECTIONS.get(element)?.(tag.attrs, inspection)
  const charset = tag.attrs.find(attribute => attribute.name === 'charset')
  if (charset && !isAllowedCharset(charset.value)) refuseCharset(inspection)
  if (ANIMATIONS.has(element)) inspectAnimation(element, tag.attrs, inspection)
  const inForeign = inForeignContent || element === 'svg' || element === 'math'
  for (const attribute of tag.attrs) {
    inspectAttribute(element, attribute, inForeign, inspection)
    if (hidesCharset(attribute.value)) refuseCharset(inspection)
    // `<b <script>` is one broken tag for a browser and two tags for older mail clients.
    if (attribute.name.startsWith('<')) inspectElement(attribute.name.slice(1), inspection)
  }
}

function inspectElement(element: string, inspection: Inspection): void {
  if (element === 'script') inspection.report('HTML_SCRIPT', '<script> is not allowed')
  else if (FORBIDDEN_ELEMENTS.has(element)) inspection.report('HTML_FORBIDDEN_ELEMENT', `<${element}> is not allowed`)
}

const INSPECTIONS: ReadonlyMap<string, (attrs: Attribute[], inspection: Inspection) => void> = new Map([
  ['meta', inspectMeta],
  ['link', inspectLink],
  ['style', inspectStyleType],
  ['param', inspectParam],
  ['xml', inspectXmlIsland],
])

function inspectMeta(attrs: Attribute[], inspection: Inspection): void {
  const directive = squash(valueIn(attrs, 'http-equiv'))
  if (REFUSED_META.test(directive))
    inspection.report('HTML_META_REFRESH', `<meta http-equiv=${directive}> is not allowed`)
  if (contentHasOtherCharset(valueIn(attrs, 'content'))) refuseCharset(inspection)
}

export function refuseCharset(inspection: Inspection): void {
  inspection.report('HTML_CHARSET', `a charset other than ${ALLOWED_CHARSETS} is not allowed`)
}

function inspectLink(attrs: Attribute[], inspection: Inspection): void {
  const relations = valueIn(attrs, 'rel').toLowerCase().split(/\s+/)
  const loadsScript = relations.includes('preload') && REFUSED_PRELOAD.test(squash(valueIn(attrs, 'as')))
  if (loadsScript || relations.some(relation => REFUSED_LINK.test(relation))) {
    inspection.report('HTML_FORBIDDEN_ELEMENT', '<link> that loads a script or a document is not allowed')
  }
}

function inspectStyleType(attrs: Attribute[], inspection: Inspection): void {
  if (/script/i.test(valueIn(attrs, 'type')))
    inspection.report('HTML_SCRIPT', '<style> with a script type is not allowed')
}

function inspectParam(attrs: Attribute[], inspection: Inspection): void {
  if (!isHarmlessUrl(valueIn(attrs, 'value'), 'none')) refuseUrl('value', 'param', inspection)
}

/** Word writes <xml> with its settings inside; only data islands of Internet Explorer have a src. */
function inspectXmlIsland(attrs: Attribute[], inspection: Inspection): void {
  if (valueIn(attrs, 'src') !== '') inspection.report('HTML_FORBIDDEN_ELEMENT', '<xml src> is not allowed')
}

function inspectAnimation(element: string, attrs: Attribute[], inspection: Inspection): void {
  if (ANIMATED_CODE.test(squash(valueIn(attrs, 'attributename')))) {
    inspection.report('HTML_FORBIDDEN_ELEMENT', `<${element}> that changes a link or a handler is not allowed`)
  }
  for (const name of ANIMATED_VALUES) {
    for (const url of valueIn(attrs, name).split(';'))
      if (!isHarmlessUrl(url, 'none')) refuseUrl(name, element, inspection)
  }
}

/** Some clients run `<script\v>` and `<x:script>` as a script. */
function elementName(tagName: string): string {
  return SIMPLE_NAME.test(tagName) ? tagName : localName(/^[\w:.-]*/.exec(tagName)![0])
}

const valueIn = (attrs: Attribute[], name: string) => attrs.find(attribute => attribute.name === name)?.value ?? ''
const squash = (value: string) => value.replace(/[\s\p{C}]/gu, '').toLowerCase()

export type StartTag = Token.TagToken
type OnStartTag = (tag: StartTag) => void

/**
 * Reports every start tag before the tree is built. Some create no element, such as a <td> without a table, a form inside a form and what
 * stands inside <select>: a tree adapter does not see them, but a client that puts the HTML into its own page may keep them with their event
 * handlers. parse5 documents no way to see them, so this overrides a handler that it marks as internal.
 */
class StartTagParser extends Parser<DefaultTreeAdapterMap> {
  private report: OnStartTag

  constructor(scriptingEnabled: boolean, treeAdapter: HtmlTreeAdapter, report: OnStartTag) {
    super({ scriptingEnabled, treeAdapter })
    this.report = report
  }

  override onStartTag(tag: StartTag): void {
    this.report(tag)
    super.onStartTag(tag)
  }
}

export function parseWithStartTags(
  html: string,
  scriptingEnabled: boolean,
  treeAdapter: HtmlTreeAdapter,
  onStartTag: OnStartTag,
): HtmlDocument {
  const parser = new StartTagParser(scriptingEnabled, treeAdapter, onStartTag)
  parser.tokenizer.write(html, true)
  return parser.document
}
