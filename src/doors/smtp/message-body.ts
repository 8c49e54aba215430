import addressparser from 'nodemailer/lib/addressparser'
import { formatAddress, type MailAddress, parseBareAddress } from '../../platform/text/addresses.ts'
import { contentOf } from './mime-content.ts'
import { decodedText, type MimeHeader, onlyHeader, withBase64Words } from './mime-headers.ts'
import { parseMime } from './mime-parts.ts'
import { malformed, Refused } from './replies.ts'

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

type Mailbox = { name: string; address: string }
type Recipients = { to: string[]; cc: string[]; bcc: string[] }

/** As it is written, also what is inside groups. An entry without an address is only a name. */
function entriesOf(header: MimeHeader): Mailbox[] {
  return addressparser(withBase64Words(header.value), { flatten: true })
}

/** Every mailbox of an address header, also those inside groups. */
function mailboxesOf(header: MimeHeader | undefined): Mailbox[] {
  if (!header) return []
  return (
    entriesOf(header)
      .filter(({ address }) => address !== '')
      // The address first, the encoded words after it: a decoded name must not become an address.
      .map(({ name, address }) => ({ name: decodedText(header, name).trim(), address }))
  )
}

/** Answers would go elsewhere if one of them were left out. Their addresses are checked by the rules of the send body. */
function replyToIn(headers: readonly MimeHeader[]): string[] {
  const header = onlyHeader(headers, 'reply-to')
  if (!header || header.value === '') return []
  refuseSeveralInOne(header)
  const written = entriesOf(header)
  if (written.length === 0 || written.some(({ address }) => address === ''))
    throw malformed('The header Reply-To has something that is not an address')
  return mailboxesOf(header).map(asSendBody)
}

const COMMENT = /\([^()]*\)/g
/** Also matches a quotation mark that nothing closes, to the end of the text: a search for the next one would take quadratic time. */
const QUOTED_OR_COMMENT = /"(?:[^"\\]|\\.)*(?:(?<closing>")|\\?$)|\([^()]*\)/gs

/** `A <a@b.c> <d@e.f>`: readers disagree on which of the two counts. */
function refuseSeveralInOne({ name, value }: MimeHeader): void {
  const entries = withoutQuotedAndComments(withBase64Words(value)).split(/[,;]/)
  if (!entries.every(entry => /^[^<>]*(?:<[^<>]*>\s*)?$/.test(entry)))
    throw malformed(`The header ${name} has an entry that is not "Name <address>"`)
}

/** What follows a quotation mark that nothing closes is not quoted. */
function withoutQuotedAndComments(text: string): string {
  return text.replace(QUOTED_OR_COMMENT, (found, closing: string | undefined) =>
    found.startsWith('(') || closing !== undefined ? ' ' : found.replace(COMMENT, ' '),
  )
}

/** As the send body takes addresses: with the name in quotes. */
const asSendBody = ({ name, address }: Mailbox): string =>
  name === '' ? address : `"${name.replaceAll(/["\\]/g, '\\$&')}" <${address}>`

/**
 * Who receives the message, and how. The envelope decides who; To and Cc give the kind and the name. Everybody else in the envelope is
 * a bcc recipient, whom the message does not name.
 */
function recipientsOf(headers: readonly MimeHeader[], envelope: readonly MailAddress[]): Recipients {
  const named = { to: namesIn(headers, 'to'), cc: namesIn(headers, 'cc') }
  const recipients: Recipients = { to: [], cc: [], bcc: [] }
  for (const address of envelope) {
    const kind = named.to.has(address.normalised) ? 'to' : named.cc.has(address.normalised) ? 'cc' : 'bcc'
    const displayName = kind === 'bcc' ? null : named[kind].get(address.normalised) || null
    recipients[kind].push(formatAddress({ ...address, displayName }))
  }
  return withTo(recipients)
}

/** An e-mail needs a `to`. A copy that a mail server sends to one recipient alone is for that one. */
function withTo({ to, cc, bcc }: Recipients): Recipients {
  if (to.length > 0) return { to, cc, bcc }
  if (cc.length > 0) return { to: cc.slice(0, 1), cc: cc.slice(1), bcc }
  if (bcc.length === 1) return { to: bcc, cc: [], bcc: [] }
  throw new Refused(
    550,
    '5.6.0',
    'No recipient of the envelope is named in To or Cc: name one in To, or send each a message of its own',
  )
}

/** Names by normalised address. */
function namesIn(headers: readonly MimeHeader[], lower: string): Map<string, string> {
  const names = new Map<string, string>()
  for (const { name, address } of mailboxesOf(onlyHeader(headers, lower))) {
    const parsed = parseBareAddress(address)
    if (parsed.ok && !names.has(parsed.value.normalised)) names.set(parsed.value.normalised, name)
  }
  return names
}

/** The From header: what the company sends from. */
function senderIn(headers: readonly MimeHeader[]): string {
  const from = onlyHeader(headers, 'from')
  if (from) refuseSeveralInOne(from)
  const [sender, another] = mailboxesOf(from)
  if (!sender || another) throw malformed('The header From must have exactly one address')
  const [submitter] = mailboxesOf(onlyHeader(headers, 'sender'))
  if (submitter && submitter.address.toLowerCase() !== sender.address.toLowerCase())
    throw new Refused(554, '5.6.1', 'A Sender that is not the From address cannot be carried: leave it out')
  return asSendBody(sender)
}
