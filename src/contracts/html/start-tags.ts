import { type DefaultTreeAdapterMap, Parser, type Token } from 'parse5'
import type { HtmlDocument, HtmlTreeAdapter } from './parse.ts'

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
