/** What every company may link to. A company adds the scheme of its own app. */
const LINK_SCHEMES: ReadonlySet<string> = new Set('https http mailto tel sms whatsapp tg cid'.split(' '))

/** Enough for an app on several platforms and its test versions. */
export const MAX_LINK_SCHEMES = 20

/**
 * What no company may add: schemes that run code, read local files, or hand a command to a program that every machine of some
 * kind has. Each has been used for an attack by a link in an e-mail, or is of the same family as one that has.
 */
const REFUSED_SCHEMES: ReadonlySet<string> = new Set(
  [
    // Code and content without an origin of its own.
    'javascript vbscript livescript mocha jscript vbs ecmascript data blob filesystem about view-source jar wyciwyg srcdoc',
    // Local files, and shares whose server is sent the reader's login.
    'file smb nfs afp dav davs webdav ftp sftp tftp ldap ldaps mhtml mid its mk res',
    // Browsers and their settings.
    'chrome chrome-extension moz-extension edge brave opera resource feed pcast microsoft-edge googlechrome firefox ie',
    // Windows.
    'search search-ms shell hcp mshelp help windowsdefender onenote outlook outlookfeed excel word powerpoint',
    'rlogin telnet tn3270 ssh rdp vnc callto skype mmst conf news nntp snews',
    // Android and Apple: starting or installing any app.
    'intent android-app market itms itms-apps itms-appss itms-services itms-beta tel-facetime-prompt',
    'applescript terminal x-man-page x-apple-helpbasic x-help-action x-help-script shortcuts workflow prefs app-prefs app-settings',
    // Programs of developers that open a folder, clone, or run what the link says.
    'vscode vscode-insiders vscodium cursor jetbrains idea git github-windows github-mac sourcetree steam',
  ].flatMap(line => line.split(' ')),
)
/** Windows and Office register dozens of them, some with every update. */
const REFUSED_PREFIXES = ['ms-', 'microsoft-', 'microsoft.', 'vnd.ms', 'com.microsoft.', 'x-apple', 'com.apple.']

/** Two letters at least: a single one is a drive. */
const SCHEME = /^[a-z][a-z0-9+.-]{1,39}$/

export function isLinkScheme(scheme: string, ofCompany: ReadonlySet<string>): boolean {
  return LINK_SCHEMES.has(scheme) || (ofCompany.has(scheme) && !isRefused(scheme))
}

export type ParsedLinkScheme = { ok: true; scheme: string } | { ok: false; problem: string }

/** `myapp`, `MyApp:` or `myapp://` as somebody would write it. */
export function parseLinkScheme(text: string): ParsedLinkScheme {
  const scheme = text
    .trim()
    .toLowerCase()
    .replace(/:(?:\/\/)?$/, '')
  if (!SCHEME.test(scheme)) return { ok: false, problem: 'is not a URL scheme such as myapp' }
  if (isRefused(scheme)) return { ok: false, problem: 'runs code or starts programs on the reader’s machine' }
  return { ok: true, scheme }
}

function isRefused(scheme: string): boolean {
  return REFUSED_SCHEMES.has(scheme) || REFUSED_PREFIXES.some(prefix => scheme.startsWith(prefix))
}
