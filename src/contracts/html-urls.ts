/** Schemes that run code, or that reach for the reader's machine. Everything else (whatsapp:, cid:, tel:) is welcome. */
const EXECUTABLE_SCHEMES = ['javascript', 'vbscript', 'livescript', 'mocha', 'jscript', 'vbs']

const REFUSED_SCHEMES: ReadonlySet<string> = new Set([
  ...EXECUTABLE_SCHEMES,
  ...['blob', 'file', 'filesystem', 'view-source', 'jar', 'wyciwyg', 'chrome', 'resource', 'feed', 'pcast'],
  ...['mhtml', 'ms-its', 'ms-itss', 'its', 'mk', 'res', 'hcp', 'shell', 'ms-msdt', 'search-ms'],
])

const EXECUTABLE: ReadonlySet<string> = new Set(EXECUTABLE_SCHEMES)

const SCHEME = /^[a-z][a-z0-9+.-]*$/i
const INVISIBLE = /[\p{C}\p{Z}\p{M}\ufffd]/gu
const FULL_WIDTH = /[\uff01-\uff5e]/g
const RASTER_IMAGE = /^image\/(?:png|gif|jpe?g|webp)[;,]/i
const STYLESHEET_RESOURCE =
  /^(?:image\/[a-z0-9.+-]+|font\/[a-z0-9.+-]+|application\/(?:x-)?(?:font|vnd\.ms-font)[a-z0-9.+-]*|application\/octet-stream)[;,]/i

export type DataUrls = 'none' | 'raster' | 'stylesheet'

/** True when a link or resource may point here. */
export function isHarmlessUrl(value: string, dataUrls: DataUrls): boolean {
  const scheme = schemeOf(value)
  if (scheme === null || scheme === 'https' || scheme === 'http') return true
  if (scheme === 'data') return isHarmlessData(value, dataUrls)
  return !REFUSED_SCHEMES.has(scheme)
}

export function startsExecutableUrl(value: string): boolean {
  const scheme = schemeOf(value)
  return scheme !== null && EXECUTABLE.has(scheme)
}

/**
 * As the most forgiving client would read it. Browsers drop tabs and line breaks in a URL and C0 controls before it;
 * other clients have dropped more, and Internet Explorer ran `ｅｘｐｒｅｓｓｉｏｎ(`. So invisible characters go, full-width
 * letters and `ſ` are folded. (NFKC would do, but turns 170 000 × U+FDFA into 3 MB.)
 */
export function forgivingReading(text: string): string {
  return text
    .replace(INVISIBLE, '')
    .replace(FULL_WIDTH, letter => String.fromCharCode(letter.charCodeAt(0) - 0xfee0))
    .replaceAll('ſ', 's')
    .toLowerCase()
}

export function schemeOf(value: string): string | null {
  const colon = value.indexOf(':')
  if (colon === -1) return null
  const head = value.slice(0, colon)
  if (SCHEME.test(head)) return head.toLowerCase()
  const visible = forgivingReading(head)
  return SCHEME.test(visible) ? visible : null
}

function isHarmlessData(value: string, dataUrls: DataUrls): boolean {
  if (dataUrls === 'none') return false
  const start = value.indexOf(':') + 1
  const mediaType = forgivingReading(value.slice(start, start + 200))
  return (dataUrls === 'raster' ? RASTER_IMAGE : STYLESHEET_RESOURCE).test(mediaType)
}
