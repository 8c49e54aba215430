import { isAllowedCharset } from './html-charset.ts'
import { forgivingReading, isHarmlessUrl } from './html-urls.ts'

/** Nothing in here can hide or name an active construct: the plain inline style, which is most of them. */
const PLAIN =
  /^(?!.*(?:\/\*|url|expression|behavi|binding|-o-link|import|script|src|image(?:-set)?\(|cross-fade\(|@charset))[\x20-\x5b\x5d-\x7e\s]*$/is

const ESCAPE = /\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\r\n\f])?|(?:\r\n|[\r\n\f])|([\s\S])|$)/gi
const COMMENT = /\/\*[\s\S]*?(?:\*\/|$)/g
/** Strings and bare `url(…)` are matched first, because a `/*` inside them opens no comment. */
const OPAQUE_OR_COMMENT =
  /"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"?|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'?|url\(\s*(?!["'\s])[^)]*\)?|\/\*[\s\S]*?(?:\*\/|$)/gi

const ACTIVE: ReadonlyArray<readonly [RegExp, string]> = [
  [/expression\(/, 'expression()'],
  [/-moz-binding:/, '-moz-binding'],
  [/-o-link:/, '-o-link'],
  // Also url(#default#VML), which only Internet Explorer needed: Outlook draws VML by its namespace.
  [/(?:^|[^a-z0-9.#-]|-ms-)behaviou?r:/, 'behavior'],
  [/@import(?:url\()?["']*data:/, '@import of a data: URL'],
]
const CHARSET = /@charset["']*([^"';]{0,100})/
const NETWORK_PATH = /(?:url\(|src\(|image\(|image-set\(|src=|@import)["'(]*(?:[\\/]{2})/
const RESOURCE = /(?:url\(|src\(|image\(|image-set\(|src=|@import)["'(]*(?=([a-z][a-z0-9+.-]{0,40}:.{0,80}))/g

/** Their images are strings, and not only the first argument. Which string is which is not worth a parser: every one is looked at. */
const STRINGS_ARE_URLS = /(?:image|image-set|cross-fade)\(/
const NETWORK_PATH_IN_STRING = /["'][\\/]{2}/
const RESOURCE_IN_STRING = /["'](?=([a-z][a-z0-9+.-]{0,40}:.{0,80}))/g

const A_NETWORK_PATH = 'a network path'

/** Why this style sheet or inline style is refused, or null when it only decorates. */
export function checkCss(css: string): string | null {
  if (PLAIN.test(css)) return null
  // Also with its escapes as they stand: two backslashes are one to CSS, and two to who does not decode them.
  if (hasNetworkPath(forgivingReading(css.replace(COMMENT, '')))) return A_NETWORK_PATH
  if (!css.includes('/*')) return activePartOf(readAsClientWould(css))
  const aware = readAsClientWould(css.replace(OPAQUE_OR_COMMENT, match => (match.startsWith('/*') ? '' : match)))
  const naive = readAsClientWould(css.replace(COMMENT, ''))
  return activePartOf(aware) ?? activePartOf(naive)
}

function readAsClientWould(css: string): string {
  return forgivingReading(css.includes('\\') ? css.replace(ESCAPE, decodeEscape) : css)
}

function decodeEscape(_match: string, hex: string | undefined, literal: string | undefined): string {
  if (hex === undefined) return literal ?? ''
  const codePoint = Number.parseInt(hex, 16)
  return codePoint === 0 || codePoint > 0x10ffff ? '\ufffd' : String.fromCodePoint(codePoint)
}

function activePartOf(css: string): string | null {
  for (const [pattern, reason] of ACTIVE) if (pattern.test(css)) return reason
  if (hasNetworkPath(css)) return A_NETWORK_PATH
  const charset = CHARSET.exec(css)
  if (charset && !isAllowedCharset(charset[1]!)) return 'another charset'
  const resources = STRINGS_ARE_URLS.test(css) ? [RESOURCE, RESOURCE_IN_STRING] : [RESOURCE]
  for (const pattern of resources)
    for (const [, url] of css.matchAll(pattern)) if (!isHarmlessUrl(url!, 'stylesheet')) return 'a refused URL scheme'
  return null
}

function hasNetworkPath(css: string): boolean {
  return NETWORK_PATH.test(css) || (STRINGS_ARE_URLS.test(css) && NETWORK_PATH_IN_STRING.test(css))
}
