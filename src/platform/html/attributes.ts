import type { HtmlCode } from '../text/refusal.ts'
import { isAllowedCharset } from './charset.ts'
import { type DataUrls, isDangerousValue, isHarmlessUrl, lenientReading } from './urls.ts'

/** Collects the problems; `linkSchemes` are those of the setting LINK_SCHEMES. */
export type Inspection = {
  report: (code: HtmlCode, message: string) => void
  linkSchemes: ReadonlySet<string>
}
export type Attribute = { name: string; value: string }
type AttributeKind = 'url' | 'image' | 'images' | 'urls' | 'style' | 'text' | 'refused' | 'namespace'

const KINDS: ReadonlyMap<string, AttributeKind> = new Map(
  Object.entries({
    url: 'href action formaction cite longdesc data manifest codebase classid profile usemap icon base code pluginspage',
    image: 'src background poster dynsrc lowsrc',
    images: 'srcset imagesrcset',
    urls: 'ping archive',
    style: 'style',
    text: 'alt title content value placeholder summary label abbr class id name for lang rel type description',
    refused: 'srcdoc datasrc datafld dataformatas handler',
    namespace: 'xmlns',
  }).flatMap(([kind, names]) => names.split(' ').map(name => [name, kind as AttributeKind] as const)),
)

// `on` after any character that a lenient parser may take for a separator; data-on…, icon… and the word "on" alone are harmless.
const EVENT_HANDLER = /(?:^|[^a-z0-9_.-])on[a-z]/
const TAG_START = /<[a-z!/]/i
const SCRIPT_START = /<script\b/i
const HANDLER = /\bon[a-z]+\s*=/i
const HIDDEN_IN_NAMESPACE = /<|\son[a-z]+\s*=/i
const RAW_TEXT_END = /<\/(?:style|title|textarea|xmp|noscript|noembed|noframes|iframe|script|math|svg)|--!?>|\]\]>/i

export function inspectAttribute(
  element: string,
  attribute: Attribute,
  inForeign: boolean,
  inspection: Inspection,
): void {
  const { name, value } = attribute
  if (EVENT_HANDLER.test(name))
    inspection.report('HTML_EVENT_HANDLER', `event handler ${printable(name)} is not allowed`)
  if (value === '') return
  const kind = kindOf(name)
  if (inForeign) inspectForeignValue(name, kind, value, inspection)
  switch (kind) {
    case 'url':
      inspectUrl(element, name, value, element === 'image' || element === 'feimage' ? 'raster' : 'none', inspection)
      break
    case 'image':
      inspectUrl(element, name, value, 'raster', inspection)
      break
    case 'images':
    case 'urls':
      for (const url of value.split(/[\s,]+/))
        inspectUrl(element, name, url, kind === 'images' ? 'raster' : 'none', inspection)
      break
    case 'style':
      inspectStyle(name, value, inspection)
      if (hidesCode(value)) refuseHidden(name, inspection)
      break
    case 'namespace':
      if (HIDDEN_IN_NAMESPACE.test(value)) refuseHidden(name, inspection)
      break
    case 'refused':
      inspection.report('HTML_FORBIDDEN_ATTRIBUTE', `attribute ${printable(name)} is not allowed`)
      break
    case 'text':
      // Internet Explorer wrote such a value back without quotes.
      if (value.startsWith('`') && HANDLER.test(value)) refuseHidden(name, inspection)
      break
    default:
      if (isDangerousValue(value)) refuseUrl(name, element, inspection)
      else if (hidesCode(value)) refuseHidden(name, inspection)
  }
}

function kindOf(name: string): AttributeKind | undefined {
  const kind = KINDS.get(name)
  if (kind !== undefined) return kind
  if (name.startsWith('data-') || name.startsWith('aria-')) return 'text'
  if (name.startsWith('xmlns:')) return 'namespace'
  return name.includes(':') ? KINDS.get(localName(name)) : undefined
}

function inspectUrl(element: string, name: string, value: string, dataUrls: DataUrls, inspection: Inspection): void {
  if (!isHarmlessUrl(value, dataUrls, inspection.linkSchemes)) refuseUrl(name, element, inspection)
  else if (hidesCode(value)) refuseHidden(name, inspection)
}

function inspectStyle(name: string, value: string, inspection: Inspection): void {
  const reason = checkCss(value)
  if (reason !== null) inspection.report('HTML_CSS', `${printable(name)} with ${reason} is not allowed`)
}

/** In SVG and MathML a second parse can give a different tree, so no value may end a comment or raw text. */
function inspectForeignValue(
  name: string,
  kind: AttributeKind | undefined,
  value: string,
  inspection: Inspection,
): void {
  if (RAW_TEXT_END.test(value)) refuseHidden(name, inspection)
  if (kind === undefined && value.includes('(')) inspectStyle(name, value, inspection)
}

/** Tags with code inside a URL or style, which a mail client with a lenient parser might run. */
export function hidesCode(value: string): boolean {
  const tag = value.includes('<') ? value.search(TAG_START) : -1
  return tag !== -1 && (HANDLER.test(value.slice(tag)) || SCRIPT_START.test(value))
}

export function refuseUrl(name: string, element: string, inspection: Inspection): void {
  inspection.report(
    'HTML_URL_SCHEME',
    `the URL in ${printable(name)} of <${printable(element)}> does not start with an allowed scheme such as https:`,
  )
}

function refuseHidden(name: string, inspection: Inspection): void {
  inspection.report('HTML_HIDDEN_MARKUP', `attribute ${printable(name)} hides markup`)
}

export const localName = (name: string) => (name.includes(':') ? name.slice(name.lastIndexOf(':') + 1) : name)

const printable = (name: string) => name.replace(/[^\w:.-]/g, '').slice(0, 40)

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
