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
const SCHEME = /^[a-z][a-z0-9+.-]{1,39}$/

export function isLinkScheme(scheme: string, added: ReadonlySet<string>): boolean {
  return ALWAYS_ALLOWED.has(scheme) || (added.has(scheme) && !isRefused(scheme))
}

/** `myapp` of `myapp`, `MyApp:` and `myapp://`; null when it is no scheme, or a dangerous one. */
export function parseLinkScheme(text: string): string | null {
  const scheme = text
    .trim()
    .toLowerCase()
    .replace(/:(?:\/\/)?$/, '')
  return SCHEME.test(scheme) && !isRefused(scheme) ? scheme : null
}

function isRefused(scheme: string): boolean {
  return REFUSED_SCHEMES.has(scheme) || REFUSED_PREFIXES.some(prefix => scheme.startsWith(prefix))
}
