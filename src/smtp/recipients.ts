import addressparser from 'nodemailer/lib/addressparser'
import { formatAddress, type MailAddress, parseBareAddress } from '../contracts/addresses.ts'
import { withBase64Words } from './encoded-words.ts'
import { decodedText, type MimeHeader, onlyHeader } from './mime-headers.ts'
import { malformed, Refused } from './refused.ts'

type Mailbox = { name: string; address: string }
export type Recipients = { to: string[]; cc: string[]; bcc: string[] }

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
export function replyToIn(headers: readonly MimeHeader[]): string[] {
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
export function recipientsOf(headers: readonly MimeHeader[], envelope: readonly MailAddress[]): Recipients {
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
export function senderIn(headers: readonly MimeHeader[]): string {
  const from = onlyHeader(headers, 'from')
  if (from) refuseSeveralInOne(from)
  const [sender, another] = mailboxesOf(from)
  if (!sender || another) throw malformed('The header From must have exactly one address')
  const [submitter] = mailboxesOf(onlyHeader(headers, 'sender'))
  if (submitter && submitter.address.toLowerCase() !== sender.address.toLowerCase())
    throw new Refused(554, '5.6.1', 'A Sender that is not the From address cannot be carried: leave it out')
  return asSendBody(sender)
}
