/** Schemes that are dangerous even in attributes that are not URLs. */
const EXECUTABLE: ReadonlySet<string> = new Set('javascript vbscript livescript mocha jscript vbs'.split(' '))

const SCHEME = /^[a-z][a-z0-9+.-]*$/i
const INVISIBLE = /[\p{C}\p{Z}\p{M}\ufffd]/gu
const FULL_WIDTH = /[\uff01-\uff5e]/g
const RASTER_IMAGE = /^image\/(?:a?png|gif|p?jpe?g|webp|avif|bmp)[;,]/
const FONT =
  /^(?:font\/[a-z0-9.+-]+|application\/(?:x-)?(?:font|vnd\.ms-font)[a-z0-9.+-]*|application\/octet-stream)[;,]/

/**
 * Outlook reads both `\\host\share` and `//host/share` as a file on that host and sends the user's login there. In an e-mail there is
 * no page that `//host` could be relative to.
 */
const NETWORK_PATH = /^[\\/]{2}/

export type DataUrls = 'none' | 'raster' | 'stylesheet'

const NO_SCHEMES: ReadonlySet<string> = new Set()

/** Whether a link or resource may have this URL. `linkSchemes`: those of the setting LINK_SCHEMES, which are allowed in links only. */
export function isHarmlessUrl(value: string, dataUrls: DataUrls, linkSchemes = NO_SCHEMES): boolean {
  const scheme = schemeOf(value)
  if (scheme === 'https' || scheme === 'http') return true
  if (scheme === null) return !isNetworkPath(value)
  if (scheme === 'data') return isHarmlessData(value, dataUrls)
  return isLinkScheme(scheme, dataUrls === 'none' ? linkSchemes : NO_SCHEMES)
}

/** For attributes that need not be a URL: a network path or an executable scheme. */
export function isDangerousValue(value: string): boolean {
  const scheme = schemeOf(value)
  return scheme === null ? isNetworkPath(value) : EXECUTABLE.has(scheme)
}

function isNetworkPath(value: string): boolean {
  return NETWORK_PATH.test(value) || NETWORK_PATH.test(lenientReading(value))
}

/**
 * The text as the most lenient client would read it. Browsers drop tabs and line breaks in a URL and C0 controls before it; other
 * clients have dropped more, and Internet Explorer ran `ｅｘｐｒｅｓｓｉｏｎ(`. So invisible characters are removed and full-width letters
 * and `ſ` are folded. (NFKC is not used because it turns 170 000 × U+FDFA into 3 MB.)
 */
export function lenientReading(text: string): string {
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
  const visible = lenientReading(head)
  return SCHEME.test(visible) ? visible : null
}

function isHarmlessData(value: string, dataUrls: DataUrls): boolean {
  if (dataUrls === 'none') return false
  const start = value.indexOf(':') + 1
  const mediaType = lenientReading(value.slice(start, start + 200))
  return RASTER_IMAGE.test(mediaType) || (dataUrls === 'stylesheet' && FONT.test(mediaType))
}

/** Always allowed. The setting LINK_SCHEMES adds those of other apps. */
const ALWAYS_ALLOWED: ReadonlySet<string> = new Set('https http mailto tel sms whatsapp tg cid'.split(' '))

/**
 * LINK_SCHEMES cannot add these: schemes that run code, read local files, or pass a command to a program that is installed on most
 * machines of some kind. Each has been used in an attack with a link in an e-mail, or is closely related to one that has.
 */
const REFUSED_SCHEMES: ReadonlySet<string> = new Set(
  [
    // Code, and content without an origin of its own.
    'javascript vbscript livescript mocha jscript vbs ecmascript data blob filesystem about view-source jar wyciwyg srcdoc',
    // Local files, and shares whose server is sent the user's login.
    'file smb nfs afp dav davs webdav ftp sftp tftp ldap ldaps mhtml mid its mk res',
    // Browsers and their settings.
    'chrome chrome-extension moz-extension edge brave opera resource feed pcast microsoft-edge googlechrome firefox ie',
    // Windows.
    'search search-ms shell hcp mshelp help windowsdefender onenote outlook outlookfeed excel word powerpoint',
    'rlogin telnet tn3270 ssh rdp vnc callto skype mmst conf news nntp snews',
    // Android and Apple: starting or installing any app.
    'intent android-app market itms itms-apps itms-appss itms-services itms-beta tel-facetime-prompt',
    'applescript terminal x-man-page x-apple-helpbasic x-help-action x-help-script shortcuts workflow prefs app-prefs app-settings',
    // Developer tools that open a folder, clone, or run a command given in the link.
    'vscode vscode-insiders vscodium cursor jetbrains idea git github-windows github-mac sourcetree steam',
  ].flatMap(line => line.split(' ')),
)
/** Windows and Office register dozens of schemes, and new ones with updates. */
const REFUSED_PREFIXES = ['ms-', 'microsoft-', 'microsoft.', 'vnd.ms', 'com.microsoft.', 'x-apple', 'com.apple.']

/** At least two letters: a single one is a Windows drive. */
const VALID_SCHEME = /^[a-z][a-z0-9+.-]{1,39}$/

export function isLinkScheme(scheme: string, added: ReadonlySet<string>): boolean {
  return ALWAYS_ALLOWED.has(scheme) || (added.has(scheme) && !isRefused(scheme))
}

/** `myapp` of `myapp`, `MyApp:` and `myapp://`; null when it is no scheme, or a dangerous one. */
export function parseLinkScheme(text: string): string | null {
  const scheme = text
    .trim()
    .toLowerCase()
    .replace(/:(?:\/\/)?$/, '')
  return VALID_SCHEME.test(scheme) && !isRefused(scheme) ? scheme : null
}

function isRefused(scheme: string): boolean {
  return REFUSED_SCHEMES.has(scheme) || REFUSED_PREFIXES.some(prefix => scheme.startsWith(prefix))
}

/** A file of the message, by its content id (RFC 2392). */
const CID_URL = /cid:([^\s"'<>()]{1,1000})/gi

/** Which of `contentIds` the HTML names. Its time grows with the length of the HTML, which the caller bounds. */
export function namedInHtml(html: string, contentIds: ReadonlySet<string>): ReadonlySet<string> {
  const named = new Set<string>()
  if (contentIds.size === 0) return named
  for (const [, written] of html.matchAll(CID_URL)) {
    for (const id of [written!, percentDecoded(written!)]) if (contentIds.has(id)) named.add(id)
    if (named.size === contentIds.size) break
  }
  return named
}

/** `replace` gets the decoded content id; null leaves the reference as it is. */
export function replaceCidUrls(html: string, replace: (contentId: string) => string | null): string {
  return html.replaceAll(CID_URL, (whole, written: string) => replace(percentDecoded(written)) ?? whole)
}

/** Without decodeURIComponent, which throws for `%` and `%ff`: 80 000 exceptions for one e-mail take 0.3 s. */
function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, run => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
}
