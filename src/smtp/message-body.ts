import type { MailAddress } from '../contracts/addresses.ts'
import { contentOf } from './mime-content.ts'
import { decodedText, type MimeHeader, onlyHeader } from './mime-headers.ts'
import { parseMime } from './mime-parts.ts'
import { recipientsOf, replyToIn, senderIn } from './recipients.ts'
import { malformed, Refused } from './refused.ts'

/** A message in the form of a send body with several `to`, not validated yet. */
export type MessageBody = { body: Record<string, unknown> & { to: string[] }; idempotencyKey: string | null }

/** Options of the send body as headers; they are taken off the message. */
const OPTIONS: Record<string, (value: string) => Record<string, unknown>> = {
  'x-gateway-tags': value => ({ tags: value.split(',').map(tag => tag.trim()) }),
  'x-gateway-external-id': value => ({ externalId: value }),
  'x-gateway-priority': value => ({ priority: wholeNumber('X-Gateway-Priority', value) }),
  'x-gateway-delay': value => ({ delay: wholeNumber('X-Gateway-Delay', value) }),
  'x-gateway-scheduled-at': value => ({ scheduledAt: value }),
  'x-gateway-retry-policy': value => ({ retryPolicy: value }),
  'x-gateway-on-unknown': value => ({ onUnknown: value }),
}
const OPTION_PREFIX = 'x-gateway-'

/** Fields of the send body, and what the gateway or the provider writes anew. */
const NOT_COPIED: ReadonlySet<string> = new Set(
  [
    'from sender to cc bcc reply-to subject idempotency-key',
    'date message-id mime-version user-agent return-path received received-spf delivered-to',
    'dkim-signature domainkey-signature authentication-results x-received x-originating-ip',
  ]
    .join(' ')
    .split(' '),
)
/** Structure of the message, and notes of mail servers on the way. */
const NOT_COPIED_PREFIXES = ['content-', 'arc-', 'x-ms-exchange-', 'x-spam-', 'x-virus-']
/** Begins with content- and is for the recipient. */
const COPIED = 'content-language'

export function messageBody(message: Buffer, envelope: readonly MailAddress[]): MessageBody {
  const root = parseMime(message)
  const { headers } = root
  const replyTo = replyToIn(headers)
  const subject = onlyHeader(headers, 'subject')
  const others = copiedHeaders(headers)
  const { to, cc, bcc } = recipientsOf(headers, envelope)
  const { attachments, ...texts } = contentOf(root)
  const body = {
    ...optionsIn(headers),
    from: senderIn(headers),
    to,
    ...(cc.length > 0 && { cc }),
    ...(bcc.length > 0 && { bcc }),
    ...(replyTo.length > 0 && { replyTo }),
    ...(subject && { subject: decodedText(subject, subject.value) }),
    ...texts,
    ...(Object.keys(others).length > 0 && { headers: others }),
    ...(attachments.length > 0 && { attachments }),
  }
  return { body, idempotencyKey: idempotencyKeyIn(headers) }
}

function optionsIn(headers: readonly MimeHeader[]): Record<string, unknown> {
  const options = {}
  for (const { name, lower, value } of headers) {
    if (!lower.startsWith(OPTION_PREFIX)) continue
    const read = Object.hasOwn(OPTIONS, lower) ? OPTIONS[lower] : undefined
    if (!read)
      throw new Refused(550, '5.6.0', `The header ${name} is not known: there are ${Object.keys(OPTIONS).join(', ')}`)
    onlyHeader(headers, lower)
    Object.assign(options, read(decodedText({ name }, value)))
  }
  return options
}

function wholeNumber(name: string, value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value)
  throw new Refused(550, '5.6.0', `The header ${name} must be a whole number`)
}

/** Which of these a caller may set is decided by the rules of the send body. */
function copiedHeaders(headers: readonly MimeHeader[]): Record<string, string> {
  const copied = headers.filter(({ lower, value }) => value !== '' && isCopied(lower))
  for (const { lower } of copied) onlyHeader(copied, lower)
  // The rules of the send body would never see it.
  if (onlyHeader(copied, '__proto__')) throw new Refused(550, '5.6.0', 'The header __proto__ cannot be set')
  return Object.fromEntries(copied.map(header => [header.name, decodedText(header, withoutComments(header))]))
}

const LINK_AND_COMMENT = /(<[^<>]*>)\s*\((?:[^()\\]|\\.)*\)/g

/** RFC 2369 allows `<link> (comment)`, and nodemailer writes it. Mailbox providers read the links only. */
function withoutComments({ lower, value }: MimeHeader): string {
  return lower === 'list-unsubscribe' ? value.replaceAll(LINK_AND_COMMENT, '$1') : value
}

function isCopied(lower: string): boolean {
  if (lower === COPIED) return true
  return !NOT_COPIED.has(lower) && ![OPTION_PREFIX, ...NOT_COPIED_PREFIXES].some(prefix => lower.startsWith(prefix))
}

function idempotencyKeyIn(headers: readonly MimeHeader[]): string | null {
  const header = onlyHeader(headers, 'idempotency-key')
  if (!header) return null
  if (!/^[\x20-\x7e]{1,256}$/.test(header.value))
    throw malformed('The header Idempotency-Key must have 1 to 256 printable characters')
  return header.value
}
