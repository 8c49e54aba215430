import { isBlank } from '../text/characters.ts'
import { type HtmlElement, type HtmlNode, type HtmlParent, parseHtml } from './parse.ts'

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

const LETTER = (code: number) => (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
const CLOSED_BY_NAME: ReadonlySet<string> = new Set(['script', 'style', 'title', 'template', 'xml'])
const INLINE: ReadonlySet<string> = new Set(
  'a abbr b bdi bdo big cite code em font i img ins kbd label mark nobr q s samp small span strike strong sub sup td th time tt u var wbr'.split(
    ' ',
  ),
)

/**
 * The text of HTML that is too deep or too large for a tree, in one pass without recursion or regular expressions over the input.
 * The result contains no tags (every `<` is escaped) and may still contain entities.
 */
export function stripTags(html: string): string {
  let text = ''
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open === -1) return text + html.slice(at)
    text += html.slice(at, open)
    if (!opensMarkup(html.charCodeAt(open + 1))) {
      text += '&lt;'
      at = open + 1
      continue
    }
    const name = nameAt(html, open + 1)
    text += INLINE.has(name.replace('/', '')) ? '' : '\n'
    at = endOfMarkup(html, open, name)
  }
  return text
}

function opensMarkup(code: number): boolean {
  return LETTER(code) || code === 33 /* ! */ || code === 47 /* / */ || code === 63 /* ? */
}

function nameAt(html: string, start: number): string {
  let end = html.charCodeAt(start) === 47 ? start + 1 : start
  while (end - start < 12 && (LETTER(html.charCodeAt(end)) || (html.charCodeAt(end) & 0xf8) === 48)) end++
  return html.slice(start, end).toLowerCase()
}

function endOfMarkup(html: string, open: number, name: string): number {
  if (html.startsWith('<!--', open)) return after(html, '-->', open + 4)
  const end = after(html, '>', open)
  return CLOSED_BY_NAME.has(name) ? closingTag(html, name, end) : end
}

function closingTag(html: string, name: string, from: number): number {
  for (let at = html.indexOf('</', from); at !== -1; at = html.indexOf('</', at + 2)) {
    if (nameAt(html, at + 1) === `/${name}`) return at
  }
  return html.length
}

function after(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from)
  return at === -1 ? html.length : at + mark.length
}

/** Padding after a preheader. A run of joiners is one match, because a search that tries each part of it takes quadratic time. */
const FILLER = /\u00ad|\u034f|\u200b|\u2060|\ufeff|[\u200c\u200d]+/g
const MAX_INDENT = 8

/** Collects text as a browser lays it out: white space collapses, and line breaks merge and are removed at both ends. */
export class TextWriter {
  listDepth = 0
  preformatted = 0
  private parts: string[] = []
  private pendingBreaks = 0
  private pendingSpace = false
  private pendingBullet = ''

  /** A position for textSince. Counted in parts, because the length of the growing text would need a copy each time. */
  get mark(): number {
    return this.parts.length
  }

  write(raw: string): void {
    if (this.preformatted > 0) this.writeAsIs(raw)
    else this.writeWords(raw)
  }

  private writeWords(raw: string): void {
    const words = withoutFiller(raw).replace(/\s+/g, ' ')
    const trimmed = words.trim()
    if (trimmed === '') {
      if (words !== '') this.pendingSpace = true
      return
    }
    if (words.startsWith(' ')) this.pendingSpace = true
    this.writePending()
    this.parts.push(trimmed)
    this.pendingSpace = words.endsWith(' ')
  }

  /** Directly after the text so far, before any pending line break. */
  append(suffix: string): void {
    this.parts.push(suffix)
  }

  textSince(mark: number): string {
    return this.parts.slice(mark).join('').trim()
  }

  addLine(): void {
    this.pendingBreaks = Math.min(this.pendingBreaks + 1, 2)
  }

  breakLine(count: 1 | 2): void {
    this.pendingBreaks = Math.max(this.pendingBreaks, count)
  }

  startItem(): void {
    this.pendingBullet = `${'  '.repeat(Math.min(Math.max(this.listDepth - 1, 0), MAX_INDENT))}- `
  }

  endItem(): void {
    this.pendingBullet = ''
  }

  finish(): string {
    return this.parts
      .join('')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
  }

  private writeAsIs(raw: string): void {
    const text = raw.replace(/\r\n?/g, '\n').replace(/\u00a0/g, ' ')
    if (text === '') return
    this.writePending()
    this.parts.push(text)
  }

  private writePending(): void {
    if (this.parts.length > 0) {
      if (this.pendingBreaks > 0) this.parts.push('\n'.repeat(this.pendingBreaks))
      else if (this.pendingSpace) this.parts.push(' ')
    }
    if (this.pendingBullet !== '') this.parts.push(this.pendingBullet)
    this.pendingBreaks = 0
    this.pendingSpace = false
    this.pendingBullet = ''
  }
}

/** Joiners are removed only at the edge of a word: inside, Persian words and emoji need them. */
function withoutFiller(raw: string): string {
  return raw.replace(FILLER, (found, at: number) => {
    const isJoiner = found.startsWith('\u200c') || found.startsWith('\u200d')
    return isJoiner && isInWord(raw[at - 1]) && isInWord(raw[at + found.length]) ? found : ''
  })
}

const isInWord = (neighbour: string | undefined) => neighbour !== undefined && !isBlank(neighbour)
