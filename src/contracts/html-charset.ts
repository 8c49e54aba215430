/**
 * The gateway sends UTF-8. Another charset that the HTML declares is believed by some readers, and what was checked as UTF-8 is then
 * something else: ISO-2022-JP and UTF-7 turn harmless letters into tags. Those here read ASCII as ASCII.
 */
const CHARSETS: ReadonlySet<string> = new Set(
  'utf-8 utf8 us-ascii ascii iso-8859-1 iso8859-1 iso_8859-1 latin1 windows-1252 cp1252'.split(' '),
)

/** Browsers look for it in the first bytes without parsing, so also inside <title> or <style>. */
const META_CHARSET = /<meta[\s/][^>]{0,200}?charset\s{0,20}=\s{0,20}["']?\s{0,20}([^\s"'/>;]{0,100})/gi
const IN_CONTENT = /charset\s*=\s*["']?\s*([^\s"';,]{0,100})/gi
const META = /<meta[\s/]/i
const XML_ENCODING = /^\?xml\s[^>]{0,200}?encoding\s{0,20}=\s{0,20}["']?\s{0,20}([^\s"'?>]{0,100})/i

export const ALLOWED_CHARSETS = 'utf-8, us-ascii, iso-8859-1 or windows-1252'

export function isAllowedCharset(label: string): boolean {
  return CHARSETS.has(label.trim().toLowerCase())
}

/** In the text as it stands, whatever a parser makes of it. */
export function declaresOtherCharset(html: string): boolean {
  return allLabels(META_CHARSET, html).some(label => !isAllowedCharset(label))
}

/** For text in which a parser sees no tags, and a browser that looks for the charset may. Honest text there has no such tag. */
export function hidesCharset(text: string): boolean {
  return META.test(text) && /charset/i.test(text)
}

/** For comments and CDATA, in which somebody may have put aside an honest tag. */
export function hidesOtherCharset(text: string): boolean {
  return META.test(text) && contentHasOtherCharset(text)
}

/** `text/html; charset=…` */
export function contentHasOtherCharset(content: string): boolean {
  return allLabels(IN_CONTENT, content).some(label => !isAllowedCharset(label))
}

/** The inside of `<?xml version="1.0" encoding="…"?>`, which a parser takes for a comment. */
export function xmlHasOtherCharset(comment: string): boolean {
  const found = XML_ENCODING.exec(comment)
  return found !== null && !isAllowedCharset(found[1]!)
}

function allLabels(pattern: RegExp, text: string): string[] {
  return Array.from(text.matchAll(pattern), match => match[1]!)
}
