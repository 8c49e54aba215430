import { BoundedParser, type HtmlElement, type HtmlNode, type HtmlParent } from './parse.ts'
import { ParseBudget } from './parse-budget.ts'

export type FoundLink = { href: string; text: string }

const MAX_LINKS = 200
const MAX_HREF = 2_000
const MAX_TEXT = 200
const URL_IN_TEXT = /\bhttps?:\/\/[^\s<>"']{1,2000}/gi
const END_OF_SENTENCE = /[.,;:!?)\]]+$/

/** The links of a message in their order, each address once: of the HTML, or of the text when there is no HTML. */
export function findLinks(html: string | null, text: string | null): FoundLink[] {
  const found = html === null ? linksInText(text ?? '') : linksInHtml(html)
  const unique = new Map<string, FoundLink>()
  for (const link of found) if (!unique.has(link.href)) unique.set(link.href, link)
  return [...unique.values()].slice(0, MAX_LINKS)
}

function linksInText(text: string): FoundLink[] {
  return [...text.matchAll(URL_IN_TEXT)].map(([url]) => ({ href: url.replace(END_OF_SENTENCE, ''), text: '' }))
}

/** HTML beyond the limits of the parser has no list of links. */
function linksInHtml(html: string): FoundLink[] {
  try {
    return elementsIn(new BoundedParser(false, new ParseBudget(html)).read(html)).flatMap(linkOf)
  } catch {
    return []
  }
}

function elementsIn(root: HtmlParent): HtmlElement[] {
  const elements: HtmlElement[] = []
  const waiting: HtmlNode[] = [...root.childNodes].reverse()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!('tagName' in node)) continue
    elements.push(node)
    waiting.push(...[...node.childNodes].reverse())
  }
  return elements
}

function linkOf(element: HtmlElement): FoundLink[] {
  if (element.tagName !== 'a' && element.tagName !== 'area') return []
  const href = element.attrs.find(one => one.name === 'href')?.value.trim()
  if (!href || href.startsWith('#')) return []
  return [{ href: href.slice(0, MAX_HREF), text: textOf(element).slice(0, MAX_TEXT) }]
}

function textOf(element: HtmlElement): string {
  const texts = element.childNodes.map(child =>
    'value' in child ? child.value : 'tagName' in child ? textOf(child) : '',
  )
  return texts.join('').replace(/\s+/g, ' ').trim()
}
