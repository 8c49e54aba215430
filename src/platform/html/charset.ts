/**
 * The gateway sends UTF-8. Some mail clients believe another charset that the HTML declares, and then read different text than
 * was checked: ISO-2022-JP and UTF-7 turn harmless letters into tags. The charsets in this list read ASCII as ASCII.
 */
const CHARSETS: ReadonlySet<string> = new Set(
  'utf-8 utf8 us-ascii ascii iso-8859-1 iso8859-1 iso_8859-1 latin1 windows-1252 cp1252'.split(' '),
)

/** Browsers search the first bytes for it without parsing, so it also counts inside <title> or <style>. */
const META_CHARSET = /<meta[\s/][^>]{0,200}?charset\s{0,20}=\s{0,20}["']?\s{0,20}([^\s"'/>;]{0,100})/gi
const IN_CONTENT = /charset\s*=\s*["']?\s*([^\s"';,]{0,100})/gi
const META = /<meta[\s/]/i
const XML_ENCODING = /^\?xml\s[^>]{0,200}?encoding\s{0,20}=\s{0,20}["']?\s{0,20}([^\s"'?>]{0,100})/i

export const ALLOWED_CHARSETS = 'utf-8, us-ascii, iso-8859-1 or windows-1252'

export function isAllowedCharset(label: string): boolean {
  return CHARSETS.has(label.trim().toLowerCase())
}

/** Searches the source text, independent of parsing. */
export function declaresOtherCharset(html: string): boolean {
  return allLabels(META_CHARSET, html).some(label => !isAllowedCharset(label))
}

/** For raw text such as <title>, where a parser sees no tags but a browser searching for the charset may. Legitimate text has none. */
export function hidesCharset(text: string): boolean {
  return META.test(text) && /charset/i.test(text)
}

/** For comments and CDATA, where a commented-out tag with an allowed charset is legitimate. */
export function hidesOtherCharset(text: string): boolean {
  return META.test(text) && contentHasOtherCharset(text)
}

/** `text/html; charset=…` */
export function contentHasOtherCharset(content: string): boolean {
  return allLabels(IN_CONTENT, content).some(label => !isAllowedCharset(label))
}

/** The content of `<?xml version="1.0" encoding="…"?>`, which an HTML parser reads as a comment. */
export function xmlHasOtherCharset(comment: string): boolean {
  const found = XML_ENCODING.exec(comment)
  return found !== null && !isAllowedCharset(found[1]!)
}

function allLabels(pattern: RegExp, text: string): string[] {
  return Array.from(text.matchAll(pattern), match => match[1]!)
}
