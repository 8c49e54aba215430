import {
  type DefaultTreeAdapterMap,
  type DefaultTreeAdapterTypes,
  defaultTreeAdapter,
  parse,
  type TreeAdapter,
} from 'parse5'

export type HtmlDocument = DefaultTreeAdapterTypes.Document
export type HtmlElement = DefaultTreeAdapterTypes.Element
export type HtmlParent = DefaultTreeAdapterTypes.ParentNode
export type HtmlNode = DefaultTreeAdapterTypes.ChildNode
export type HtmlTreeAdapter = TreeAdapter<DefaultTreeAdapterMap>

/** Sees the parts of the tree as they are made. */
export type HtmlObserver = {
  comment: (text: string) => void
  elementOpened: (element: HtmlElement) => void
  elementClosed: (element: HtmlElement) => void
}

const NO_OBSERVER: HtmlObserver = { comment: () => {}, elementOpened: () => {}, elementClosed: () => {} }

/** The document as a mail client without scripts sees it. Throws HtmlLimitReached. */
export function parseHtml(html: string): HtmlDocument {
  return parse(html, { scriptingEnabled: false, treeAdapter: boundedTreeAdapter(new ParseBudget(html)) })
}

/** parse5's own tree with limits, for one parse. */
export function boundedTreeAdapter(budget: ParseBudget, observer: HtmlObserver = NO_OBSERVER): HtmlTreeAdapter {
  let openCount = 0
  const limits: Partial<HtmlTreeAdapter> = {
    createElement(tagName, namespace, attributes) {
      refuseManyAttributes(attributes)
      budget.addElement(attributes)
      return defaultTreeAdapter.createElement(tagName, namespace, attributes)
    },
    createCommentNode(text) {
      observer.comment(text)
      budget.addComment()
      return defaultTreeAdapter.createCommentNode(text)
    },
    // A second <html> or <body> creates no element; its attributes go to the first one.
    adoptAttributes(element, attributes) {
      refuseManyAttributes(attributes)
      defaultTreeAdapter.adoptAttributes(element, attributes)
    },
    onItemPush(element) {
      if (++openCount > MAX_DEPTH) throw new HtmlLimitReached('depth')
      observer.elementOpened(element)
    },
    onItemPop(element) {
      openCount--
      observer.elementClosed(element)
    },
  }
  // Inherited, because a copy of its thirty functions doubles the time of a short e-mail: 26 µs instead of 14 (November 2026).
  return Object.assign(Object.create(defaultTreeAdapter), limits)
}

/** Of one tag, also of a tag that creates no element. */
export function refuseManyAttributes(attributes: readonly unknown[]): void {
  if (attributes.length > MAX_ATTRIBUTES) throw new HtmlLimitReached('nodes')
}

/** The element's own text, including comments as in an old `<style><!-- … -->` or an SVG style. */
export function rawTextOf(element: HtmlElement): string {
  let text = ''
  for (const child of element.childNodes) {
    if ('value' in child) text += child.value
    else if ('data' in child) text += child.data
  }
  return text
}

/** Browsers flatten elements nested deeper than 512; real e-mails stay under 60. */
export const MAX_DEPTH = 256
export const MAX_ATTRIBUTES = 256
const MAX_NODES = 100_000

/** Enough for short HTML with many implied elements. */
const SPARE_NODES = 1_000
/**
 * The same HTML is parsed up to six times if it has <noscript>, SVG and conditional comments, and tables have implied elements. The
 * e-mails in rules.mails.ts need at most 1.8, a table without end tags that is parsed six times needs 6.
 */
const NODES_PER_TAG = 8
/** Of attributes. Each parse copies at most the length of the source if nothing is opened again. */
const SPARE_CHARS = 8 * 1024
const CHARS_PER_SOURCE_CHAR = 8

export type HtmlLimit = 'depth' | 'nodes'

export class HtmlLimitReached extends Error {
  limit: HtmlLimit

  constructor(limit: HtmlLimit) {
    super(`HTML limit reached: ${limit}`)
    this.limit = limit
  }
}

/**
 * The nodes and attribute characters that all parses of one e-mail may create together, in proportion to its source. A parser
 * opens formatting elements again in every paragraph, with a copy of their attributes: `<p><b 1>…<b 230>` and 400 times `<p>x`
 * make almost 100 000 nodes out of 3 KB, and one `<b>` with 250 attributes makes megabytes out of 8 KB.
 */
export class ParseBudget {
  private nodes: number
  private attributeChars: number

  constructor(html: string) {
    this.nodes = Math.min(MAX_NODES, SPARE_NODES + NODES_PER_TAG * countTags(html))
    this.attributeChars = SPARE_CHARS + CHARS_PER_SOURCE_CHAR * html.length
  }

  addComment(): void {
    if (--this.nodes < 0) throw new HtmlLimitReached('nodes')
  }

  addElement(attributes: readonly { name: string; value: string }[]): void {
    for (const { name, value } of attributes) this.attributeChars -= name.length + value.length + 1
    if (--this.nodes < 0 || this.attributeChars < 0) throw new HtmlLimitReached('nodes')
  }
}

/** Start tags, end tags and comments, counted as `<` characters; stops at `limit`. */
export function countTags(html: string, limit = Number.POSITIVE_INFINITY): number {
  let count = 0
  for (let at = html.indexOf('<'); at !== -1 && count < limit; at = html.indexOf('<', at + 1)) count++
  return count
}
