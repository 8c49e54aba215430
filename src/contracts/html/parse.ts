import { type DefaultTreeAdapterMap, type DefaultTreeAdapterTypes, Parser, type Token } from 'parse5'

export type HtmlDocument = DefaultTreeAdapterTypes.Document
export type HtmlElement = DefaultTreeAdapterTypes.Element
export type HtmlParent = DefaultTreeAdapterTypes.ParentNode
export type HtmlNode = DefaultTreeAdapterTypes.ChildNode
export type TagToken = Token.TagToken
export type CommentToken = Token.CommentToken

type ElementArguments = Parameters<Parser<DefaultTreeAdapterMap>['_createElement']>

/** Browsers flatten elements nested deeper than 512; real e-mails stay under 60. */
export const MAX_DEPTH = 256
export const MAX_NODES = 100_000
export const MAX_ATTRIBUTES = 256

export type HtmlLimit = 'depth' | 'nodes'

export class HtmlLimitReached extends Error {
  limit: HtmlLimit

  constructor(limit: HtmlLimit) {
    super(`HTML limit reached: ${limit}`)
    this.limit = limit
  }
}

/** Shared by every parse of one e-mail, so that many small parts count together. */
export type NodeCount = { nodes: number }

/**
 * parse5 with limits. Reopened formatting elements (`<p><b 1>…<b 250>`, then thousands of `<p>x`) make millions of nodes out
 * of 512 KB; counting nodes as they are created stops that within milliseconds. The overridden methods are parse5's handler
 * methods, so package.json pins its exact version.
 */
export class BoundedParser extends Parser<DefaultTreeAdapterMap> {
  private count: NodeCount
  private openCount = 0

  constructor(scriptingEnabled: boolean, count: NodeCount = { nodes: 0 }) {
    super({ scriptingEnabled })
    this.count = count
  }

  read(html: string): HtmlDocument {
    this.tokenizer.write(html, true)
    return this.document
  }

  override onStartTag(token: TagToken): void {
    if (token.attrs.length > MAX_ATTRIBUTES) throw new HtmlLimitReached('nodes')
    super.onStartTag(token)
  }

  override onComment(token: CommentToken): void {
    this.countNode()
    super.onComment(token)
  }

  override onItemPush(node: HtmlParent, tagId: number, isTop: boolean): void {
    if (++this.openCount > MAX_DEPTH) throw new HtmlLimitReached('depth')
    super.onItemPush(node, tagId, isTop)
  }

  override onItemPop(node: HtmlParent, isTop: boolean): void {
    this.openCount--
    super.onItemPop(node, isTop)
  }

  override _createElement(...args: ElementArguments): HtmlElement {
    this.countNode()
    return super._createElement(...args)
  }

  private countNode(): void {
    if (++this.count.nodes > MAX_NODES) throw new HtmlLimitReached('nodes')
  }
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
