import { type DefaultTreeAdapterMap, type DefaultTreeAdapterTypes, Parser, type Token } from 'parse5'
import { HtmlLimitReached, MAX_ATTRIBUTES, MAX_DEPTH, type ParseBudget } from './parse-budget.ts'

export type HtmlDocument = DefaultTreeAdapterTypes.Document
export type HtmlElement = DefaultTreeAdapterTypes.Element
export type HtmlParent = DefaultTreeAdapterTypes.ParentNode
export type HtmlNode = DefaultTreeAdapterTypes.ChildNode
export type TagToken = Token.TagToken
export type CommentToken = Token.CommentToken

type ElementArguments = Parameters<Parser<DefaultTreeAdapterMap>['_createElement']>

/** parse5 with limits. The overridden methods are parse5's handler methods, so package.json pins its exact version. */
export class BoundedParser extends Parser<DefaultTreeAdapterMap> {
  private budget: ParseBudget
  private openCount = 0

  constructor(scriptingEnabled: boolean, budget: ParseBudget) {
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
    this.budget.addComment()
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
    this.budget.addElement(args[2])
    return super._createElement(...args)
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
