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
