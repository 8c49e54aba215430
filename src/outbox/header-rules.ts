import { hasHostileCharacters } from '../platform/text/characters.ts'

export type HeaderProblem = { name: string; code: 'HEADER_NOT_ALLOWED' | 'HEADER_INVALID'; message: string }

/** Callers may set these and most X- headers. All others belong to the gateway or the provider, or would change the recipients. */
export const ALLOWED_HEADERS: readonly string[] = [
  ...[
    'List-Unsubscribe',
    'List-Unsubscribe-Post',
    'List-Id',
    'List-Help',
    'List-Archive',
    'List-Owner',
    'List-Subscribe',
  ],
  ...['In-Reply-To', 'References', 'Thread-Topic', 'Thread-Index'],
  ...['Importance', 'Priority', 'Sensitivity', 'Precedence', 'Auto-Submitted', 'Feedback-ID'],
  ...['Content-Language', 'Accept-Language', 'Organization', 'Keywords', 'Comments', 'Expires'],
]

/** X- headers that a provider obeys (SendGrid's X-SMTPAPI even adds recipients), or that a receiving server trusts. */
const REFUSED_X_PREFIXES: readonly string[] = [
  ...['x-ses-', 'x-amz', 'x-resend-', 'x-google-', 'x-gm-', 'x-gateway-'],
  ...[
    'x-smtpapi',
    'x-sg-',
    'x-mailgun-',
    'x-mandrill-',
    'x-mc-',
    'x-msys-',
    'x-mj-',
    'x-mailjet-',
    'x-pm-',
    'x-sib-',
    'x-mailin-',
  ],
  ...[
    'x-ms-exchange-',
    'x-microsoft-',
    'x-forefront-',
    'x-spam-',
    'x-virus-',
    'x-barracuda-',
    'x-proofpoint-',
    'x-ironport-',
  ],
  ...[
    'x-envelope-',
    'x-forwarded',
    'x-original',
    'x-delivered-',
    'x-authenti',
    'x-apparently-',
    'x-dkim-',
    'x-arc-',
    'x-rcpt',
  ],
]
/** Compared as whole names: a prefix x-to would also refuse X-Topic. */
const REFUSED_X_NAMES: ReadonlySet<string> = new Set(
  'x-sender x-received x-return-path x-from x-to x-cc x-bcc'.split(' '),
)

const MAX_HEADERS = 20
const MAX_NAME = 64
const MAX_VALUE = 998

const ALLOWED: ReadonlySet<string> = new Set(ALLOWED_HEADERS.map(name => name.toLowerCase()))
/** RFC 5322 ftext: printable ASCII except the colon. */
const NAME = /^[\x21-\x39\x3b-\x7e]+$/
const ASCII = /^[\x20-\x7e]*$/
const UNSUBSCRIBE_LINKS = /^<[^<>\s]+>(?:\s*,\s*<[^<>\s]+>)*$/
const ONE_CLICK = 'List-Unsubscribe=One-Click'

/** Problems in the order of the headers; at most one for each. */
export function checkHeaders(headers: Record<string, string>): HeaderProblem[] {
  const entries = Object.entries(headers)
  const tooMany = entries[MAX_HEADERS]
  if (tooMany !== undefined)
    return [invalid(tooMany[0], `must not be there: at most ${MAX_HEADERS} headers are allowed`)]
  const problems: HeaderProblem[] = []
  const seen = new Map<string, string>()
  for (const [name, value] of entries) {
    const lower = name.toLowerCase()
    const problem = seen.has(lower) ? invalid(name, 'is given more than once') : checkHeader(name, lower, value)
    if (problem !== null) problems.push(problem)
    seen.set(lower, value)
  }
  const oneClick = checkOneClick(seen)
  return oneClick === null ? problems : [...problems, oneClick]
}

function checkHeader(name: string, lower: string, value: string): HeaderProblem | null {
  if (name.length > MAX_NAME || !NAME.test(name)) return invalid(name, 'is not a valid header name')
  if (!isAllowed(lower)) return { name, code: 'HEADER_NOT_ALLOWED', message: NOT_ALLOWED }
  return checkValue(name, lower, value)
}

const NOT_ALLOWED =
  'This header cannot be set: the gateway or the provider writes it, or obeys it. Those that can are in docs/content.md, Headers'

function isAllowed(lower: string): boolean {
  if (ALLOWED.has(lower)) return true
  if (!lower.startsWith('x-') || lower.length === 2 || REFUSED_X_NAMES.has(lower)) return false
  return !REFUSED_X_PREFIXES.some(prefix => lower.startsWith(prefix))
}

function checkValue(name: string, lower: string, value: string): HeaderProblem | null {
  if (typeof value !== 'string' || value.trim() === '') return invalid(name, 'has no value')
  if (value.length > MAX_VALUE) return invalid(name, `is longer than ${MAX_VALUE} characters`)
  if (hasHostileCharacters(value)) return invalid(name, 'contains line breaks, control or invisible characters')
  if (!lower.startsWith('x-') && !PROSE.has(lower) && !ASCII.test(value)) return invalid(name, 'must be plain ASCII')
  if (lower === 'list-unsubscribe' && unsubscribeLinks(value) === null) {
    return invalid(name, 'must be one or more <https://…> or <mailto:…> links, separated by commas')
  }
  return null
}

const PROSE: ReadonlySet<string> = new Set(['thread-topic', 'organization', 'keywords', 'comments'])

/** RFC 8058: one-click unsubscribing needs an https link in List-Unsubscribe. */
function checkOneClick(seen: ReadonlyMap<string, string>): HeaderProblem | null {
  const post = seen.get('list-unsubscribe-post')
  if (post === undefined) return null
  const name = 'List-Unsubscribe-Post'
  if (post !== ONE_CLICK) return invalid(name, `must be exactly ${ONE_CLICK}`)
  const links = unsubscribeLinks(seen.get('list-unsubscribe') ?? '')
  return links?.some(link => link.startsWith('https:'))
    ? null
    : invalid(name, 'needs List-Unsubscribe with an https link')
}

function unsubscribeLinks(value: string): string[] | null {
  if (!UNSUBSCRIBE_LINKS.test(value.trim())) return null
  const links = value.split(/[<>]/).filter((_, index) => index % 2 === 1)
  const schemes = links.map(link => link.toLowerCase())
  return schemes.every(link => isWebLink(link) || /^mailto:[^?@]+@[^?@]+/.test(link)) ? schemes : null
}

function isWebLink(link: string): boolean {
  return link.startsWith('https://') && URL.canParse(link)
}

function invalid(name: string, what: string): HeaderProblem {
  return { name, code: 'HEADER_INVALID', message: `This header ${what}` }
}
