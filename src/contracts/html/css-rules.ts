import { isAllowedCharset } from './charset.ts'
import { isHarmlessUrl, lenientReading } from './urls.ts'

/** Fast path for most inline styles: no escapes, comments or names of active constructs. */
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
  // url(#default#VML) is refused too: only Internet Explorer needed it, Outlook draws VML by its namespace.
  [/(?:^|[^a-z0-9.#-]|-ms-)behaviou?r:/, 'behavior'],
  [/@import(?:url\()?["']*data:/, '@import of a data: URL'],
]
const CHARSET = /@charset["']*([^"';]{0,100})/
const NETWORK_PATH = /(?:url\(|src\(|image\(|image-set\(|src=|@import)["'(]*(?:[\\/]{2})/
const RESOURCE = /(?:url\(|src\(|image\(|image-set\(|src=|@import)["'(]*(?=([a-z][a-z0-9+.-]{0,40}:.{0,80}))/g

/** Any argument of these functions may be an image given as a string, so every string is checked instead of parsing the arguments. */
const STRINGS_ARE_URLS = /(?:image|image-set|cross-fade)\(/
const NETWORK_PATH_IN_STRING = /["'][\\/]{2}/
const RESOURCE_IN_STRING = /["'](?=([a-z][a-z0-9+.-]{0,40}:.{0,80}))/g

const A_NETWORK_PATH = 'a network path'

/** Why this style sheet or inline style is refused, or null when it is harmless. */
export function checkCss(css: string): string | null {
  if (PLAIN.test(css)) return null
  // Checked with undecoded escapes too: `\\` is one backslash in CSS, but two for a client that does not decode them.
  if (hasNetworkPath(lenientReading(css.replace(COMMENT, '')))) return A_NETWORK_PATH
  if (!css.includes('/*')) return activePartOf(readAsClientWould(css))
  const withStrings = readAsClientWould(css.replace(OPAQUE_OR_COMMENT, match => (match.startsWith('/*') ? '' : match)))
  const withoutStrings = readAsClientWould(css.replace(COMMENT, ''))
  return activePartOf(withStrings) ?? activePartOf(withoutStrings)
}

function readAsClientWould(css: string): string {
  return lenientReading(css.includes('\\') ? css.replace(ESCAPE, decodeEscape) : css)
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
