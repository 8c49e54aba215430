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
