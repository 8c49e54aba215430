import { type HtmlElement, type HtmlNode, type HtmlParent, parseHtml } from '../platform/html/parse.ts'

type FoundLink = { href: string; text: string }

const MAX_LINKS = 200
const MAX_HREF = 2_000
const MAX_TEXT = 200
/** What is read of one link for it: nodes, and characters of each with the white space that collapses. */
const MAX_NODES = 1_000
const MAX_PIECE = 2_000
const URL_IN_TEXT = /\bhttps?:\/\/[^\s<>"']{1,2000}/gi
const END_OF_SENTENCE = '.,;:!?)]'

/** The links of a message in their order, each address once: of the HTML, or of the text when there is no HTML. */
export function findLinks(html: string | null, text: string | null): FoundLink[] {
  const found = html === null ? linksInText(text ?? '') : linksInHtml(html)
  const unique = new Map<string, FoundLink>()
  for (const link of found) {
    if (!unique.has(link.href)) unique.set(link.href, link)
    if (unique.size === MAX_LINKS) break
  }
  return [...unique.values()]
}

function* linksInText(text: string): Generator<FoundLink> {
  for (const [url] of text.matchAll(URL_IN_TEXT)) yield { href: withoutEndOfSentence(url), text: '' }
}

/** Without a regular expression, which takes quadratic time for thousands of full stops in the middle of an address. */
function withoutEndOfSentence(url: string): string {
  let end = url.length
  while (END_OF_SENTENCE.includes(url[end - 1]!)) end--
  return url.slice(0, end)
}

/** HTML beyond the limits of the parser has no list of links. */
function* linksInHtml(html: string): Generator<FoundLink> {
  const root = parsed(html)
  if (root === null) return
  for (const node of nodesIn(root)) {
    const href = hrefOf(node)
    if (href !== null) yield { href: href.slice(0, MAX_HREF), text: textOf(node as HtmlElement) }
  }
}

function parsed(html: string): HtmlParent | null {
  try {
    return parseHtml(html)
  } catch {
    return null
  }
}

/** In the order in which they are written. Children that nobody asks for are not copied. */
function* nodesIn(root: HtmlParent): Generator<HtmlNode> {
  const open = [root.childNodes.values()]
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const { value: node, done } = level.next()
    if (done) open.pop()
    else {
      yield node
      if ('tagName' in node) open.push(node.childNodes.values())
    }
  }
}

function hrefOf(node: HtmlNode): string | null {
  if (!('tagName' in node) || (node.tagName !== 'a' && node.tagName !== 'area')) return null
  const href = node.attrs.find(one => one.name === 'href')?.value.trim()
  return !href || href.startsWith('#') ? null : href
}

/** Not more than the beginning is read: 50 links inside each other, around 500 KB of text, would be read for minutes. */
function textOf(link: HtmlElement): string {
  let text = ''
  let nodes = 0
  for (const node of nodesIn(link)) {
    if ('value' in node) {
      const words = node.value.slice(0, MAX_PIECE).replace(/\s+/g, ' ')
      text += text === '' || text.endsWith(' ') ? words.trimStart() : words
    }
    if (text.length > MAX_TEXT || ++nodes === MAX_NODES) break
  }
  return text.slice(0, MAX_TEXT).trim()
}
