import { type DefaultTreeAdapterMap, type DefaultTreeAdapterTypes, Parser, type Token } from 'parse5'

export type HtmlDocument = DefaultTreeAdapterTypes.Document
export type HtmlElement = DefaultTreeAdapterTypes.Element
export type HtmlParent = DefaultTreeAdapterTypes.ParentNode
export type HtmlNode = DefaultTreeAdapterTypes.ChildNode
export type TagToken = Token.TagToken
export type CommentToken = Token.CommentToken

type ElementArguments = Parameters<Parser<DefaultTreeAdapterMap>['_createElement']>

/** Browsers flatten past 512 open elements; real e-mail stays under 60. */
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

/** Shared by every parse of one e-mail, so that splitting it into many small parts buys nothing. */
export type HtmlBudget = { nodes: number }

/**
 * parse5 that gives up. Reopened formatting elements (`<p><b 1>…<b 250>` and then thousands of `<p>x`) make millions of
 * nodes out of 512 KB; counting them as they are made ends that in milliseconds. The hooks are parse5's own handler
 * methods, which the exact version in package.json fixes.
 */
export class BoundedParser extends Parser<DefaultTreeAdapterMap> {
  protected budget: HtmlBudget
  private openCount = 0

  constructor(scriptingEnabled: boolean, budget: HtmlBudget = { nodes: 0 }) {
    super({ scriptingEnabled })
    this.budget = budget
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
    this.spendNode()
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
    this.spendNode()
    return super._createElement(...args)
  }

  private spendNode(): void {
    if (++this.budget.nodes > MAX_NODES) throw new HtmlLimitReached('nodes')
  }
}

/** Text of the element itself, with the comments an old `<style><!-- … -->` or an SVG style may carry. */
export function rawTextOf(element: HtmlElement): string {
  let text = ''
  for (const child of element.childNodes) {
    if ('value' in child) text += child.value
    else if ('data' in child) text += child.data
  }
  return text
}
