import { type HtmlElement, type HtmlNode, type HtmlParent, parseHtml } from './parse.ts'
import { stripTags } from './strip.ts'
import { TextWriter } from './text-writer.ts'

const DROPPED: ReadonlySet<string> = new Set(
  'head style script template title noframes noembed iframe frame frameset object embed applet svg math audio video canvas map select textarea input datalist xml'.split(
    ' ',
  ),
)
/** Line breaks around an element: 1 starts a new line, 2 leaves an empty line. */
const BREAKS: ReadonlyMap<string, 1 | 2> = new Map([
  ...'p h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre listing xmp plaintext figure hr menu'
    .split(' ')
    .map(name => [name, 2] as const),
  ...'div table tr li dt dd section article header footer main nav aside address center caption form fieldset legend details summary figcaption hgroup option'
    .split(' ')
    .map(name => [name, 1] as const),
])
const PREFORMATTED: ReadonlySet<string> = new Set(['pre', 'listing', 'xmp', 'plaintext'])
const LISTS: ReadonlySet<string> = new Set(['ul', 'ol', 'menu'])
/** White space is bounded: two unbounded runs of it beside each other take seconds for 100 000 spaces. */
const HIDDEN =
  /(?:^|;)\s{0,20}(?:display\s{0,20}:\s{0,20}none|visibility\s{0,20}:\s{0,20}hidden|max-height\s{0,20}:\s{0,20}0(?:px)?\s{0,20}(?:!important)?\s{0,20}(?:;|$))/i
const LINKABLE = /^(?:https?:\/\/|mailto:|tel:)/i

/** The text/plain alternative of an HTML e-mail. Never throws: if the HTML exceeds the limits of the parser, its tags are stripped. */
export function textFromHtml(html: string): string {
  try {
    return textOfTree(parseHtml(html))
  } catch {
    return textOfTree(parseHtml(`<pre>${stripTags(html)}`))
      .replace(/[ \t]+/g, ' ')
      .replace(/ ?\n\s*/g, '\n')
  }
}

type Step = { node: HtmlNode; leaving: boolean; linkStart: number }

function textOfTree(root: HtmlParent): string {
  const writer = new TextWriter()
  const steps: Step[] = []
  pushChildren(steps, root)
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    const { node } = step
    if ('value' in node) writer.write(node.value)
    else if (!('tagName' in node)) continue
    else if (step.leaving) leave(writer, node, step.linkStart)
    else if (!isHidden(node)) {
      steps.push({ node, leaving: true, linkStart: writer.mark })
      enter(writer, node)
      pushChildren(steps, node)
    }
  }
  return writer.finish()
}

function pushChildren(steps: Step[], parent: HtmlParent): void {
  for (let i = parent.childNodes.length - 1; i >= 0; i--) {
    steps.push({ node: parent.childNodes[i]!, leaving: false, linkStart: 0 })
  }
}

function enter(writer: TextWriter, element: HtmlElement): void {
  const { tagName } = element
  const breaks = BREAKS.get(tagName)
  // No empty line before a list inside a list item.
  if (breaks !== undefined) writer.breakLine(LISTS.has(tagName) && writer.listDepth > 0 ? 1 : breaks)
  if (tagName === 'br') writer.addLine()
  else if (tagName === 'hr') writer.write('----------')
  else if (tagName === 'img') writer.write(attributeOf(element, 'alt'))
  else if (tagName === 'li') writer.startItem()
  else if (LISTS.has(tagName)) writer.listDepth++
  else if (PREFORMATTED.has(tagName)) writer.preformatted++
}

function leave(writer: TextWriter, element: HtmlElement, linkStart: number): void {
  const { tagName } = element
  if (tagName === 'a') writeLink(writer, element, linkStart)
  else if (tagName === 'td' || tagName === 'th') writer.write(' ')
  else if (tagName === 'li') writer.endItem()
  else if (LISTS.has(tagName)) writer.listDepth--
  else if (PREFORMATTED.has(tagName)) writer.preformatted--
  const breaks = BREAKS.get(tagName)
  if (breaks !== undefined) writer.breakLine(LISTS.has(tagName) && writer.listDepth > 0 ? 1 : breaks)
}

function writeLink(writer: TextWriter, link: HtmlElement, start: number): void {
  const url = attributeOf(link, 'href').replace(/[\s\p{C}]/gu, '')
  if (!LINKABLE.test(url)) return
  const text = writer.textSince(start)
  if (text === '') writer.write(url)
  else if (!sameTarget(text, url)) writer.append(` (${url})`)
}

function sameTarget(text: string, url: string): boolean {
  if (/^tel:/i.test(url)) return text.replace(/\D/g, '') === url.replace(/\D/g, '')
  return bareTarget(text) === bareTarget(/^mailto:/i.test(url) ? url.replace(/\?.*/, '') : url)
}

function bareTarget(target: string): string {
  return target
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:)/, '')
    .replace(/\/$/, '')
}

function isHidden(element: HtmlElement): boolean {
  if (DROPPED.has(element.tagName)) return true
  for (const { name, value } of element.attrs) {
    if (name === 'hidden' || (name === 'style' && HIDDEN.test(value))) return true
  }
  return false
}

const attributeOf = (element: HtmlElement, name: string) => element.attrs.find(a => a.name === name)?.value ?? ''
