import libmime from 'libmime'
import { namedInHtml } from '../../platform/html/urls.ts'
import { SEND_LIMITS } from '../../platform/text/send-limits.ts'
import { decodedAs, decodeQuotedPrintable, isBase64 } from './charset.ts'
import type { MimePart } from './mime-parts.ts'
import { cannotCarry, malformed } from './replies.ts'

type MailContent = {
  html?: string
  text?: string
  attachments: { filename: string; contentType: string; content: string; contentId?: string }[]
}

type Found = { html: MimePart | null; text: MimePart | null; files: MimePart[] }

const BODY_TYPES = ['text/plain', 'text/html']
const SIGNED_OR_ENCRYPTED = ['multipart/signed', 'multipart/encrypted']
const PKCS7_MIME = ['application/pkcs7-mime', 'application/x-pkcs7-mime']
/** They point to content elsewhere, are a piece of a message, or report on another one. */
const REFUSED_MESSAGES = ['message/partial', 'message/external-body', 'message/delivery-status', 'message/global']

/** HTML, text and files of a message. What does not fit in these is refused, never dropped. */
export function contentOf(root: MimePart): MailContent {
  const found: Found = { html: null, text: null, files: [] }
  collect(root, found, root)
  const html = found.html ? decodedBody(found.html) : undefined
  const shown = shownIn(html ?? '', found.files)
  const text = found.text ? decodedBody(found.text) : undefined
  return {
    ...(html !== undefined && html.trim() !== '' && { html }),
    ...(text !== undefined && text.trim() !== '' && { text }),
    attachments: found.files.map((part, index) => attachmentOf(part, index, shown)),
  }
}

function collect(part: MimePart, found: Found, root: MimePart): void {
  refuseSealed(part, root)
  switch (part.type) {
    case 'multipart/mixed':
      for (const child of part.parts) collect(child, found, root)
      return
    case 'multipart/alternative':
      collectAlternatives(part, found, root)
      return
    case 'multipart/related':
      collectRelated(part, found, root)
      return
    default:
      if (part.type.startsWith('multipart/'))
        throw cannotCarry(`A ${part.type} part cannot be carried: use mixed, alternative or related`)
      if (REFUSED_MESSAGES.includes(part.type)) throw cannotCarry(`A ${part.type} part cannot be carried`)
      if (isBody(part)) setBody(part, found)
      else found.files.push(part)
  }
}

/** Another message around the content, which the gateway would have to break to send it. */
function refuseSealed(part: MimePart, root: MimePart): void {
  const sealed =
    SIGNED_OR_ENCRYPTED.includes(part.type) || (PKCS7_MIME.includes(part.type) && !isAttachedFile(part, root))
  if (sealed)
    throw cannotCarry('Signed and encrypted messages (S/MIME, PGP) cannot be carried: the signature would break')
}

/** A signed document that is attached (contract.pdf.p7m) is an ordinary file. */
const isAttachedFile = (part: MimePart, root: MimePart) =>
  part !== root && part.disposition === 'attachment' && part.filename !== null && !/^smime\./i.test(part.filename)

const isBody = ({ type, disposition, filename }: MimePart) =>
  BODY_TYPES.includes(type) && disposition !== 'attachment' && filename === null

function setBody(part: MimePart, found: Found): void {
  const which = part.type === 'text/html' ? 'html' : 'text'
  if (found.html || found.text)
    throw cannotCarry(
      'The message has more than one text: put text/plain and text/html into one multipart/alternative, and give other texts a file name',
    )
  found[which] = part
}

/** Text and HTML say the same; a calendar part is kept as a file with its content type. */
function collectAlternatives({ parts }: MimePart, found: Found, root: MimePart): void {
  const chosen: Found = { html: null, text: null, files: found.files }
  for (const part of parts) {
    const one: Found = { html: null, text: null, files: found.files }
    if (BODY_TYPES.includes(part.type) || part.type.startsWith('multipart/')) collect(part, one, root)
    else if (part.type === 'text/calendar') found.files.push(part)
    else throw cannotCarry(`A ${part.type} part inside multipart/alternative cannot be carried`)
    if ((one.html && chosen.html) || (one.text && chosen.text))
      throw cannotCarry('A multipart/alternative has two parts of the same type')
    chosen.html ??= one.html
    chosen.text ??= one.text
  }
  if (found.html || found.text) throw cannotCarry('The message has more than one text')
  found.html = chosen.html
  found.text = chosen.text
}

/** The first part, or the one named by `start`, is the body; the others are files that it shows. */
function collectRelated({ parts, params }: MimePart, found: Found, root: MimePart): void {
  const start = params.start?.replace(/^<(.*)>$/, '$1')
  const body = parts.find(part => start !== undefined && part.contentId === start) ?? parts[0]!
  collect(body, found, root)
  for (const part of parts) {
    if (part === body) continue
    refuseSealed(part, root)
    if (part.type.startsWith('multipart/')) throw cannotCarry('A multipart inside multipart/related cannot be carried')
    found.files.push(part)
  }
}

/** The content ids of files that the HTML shows. */
function shownIn(html: string, files: readonly MimePart[]): ReadonlySet<string> {
  // Longer HTML is refused by the rules of the send body. Looking through 16 MB would hold up everybody's requests.
  if (html.length > SEND_LIMITS.CONTENT_BYTES) return new Set()
  return namedInHtml(html, new Set(files.flatMap(({ contentId }) => contentId ?? [])))
}

function attachmentOf(part: MimePart, index: number, shown: ReadonlySet<string>): MailContent['attachments'][number] {
  const { contentId, disposition, filename, type } = part
  // Many programs give every file a Content-ID. It counts for a file that is shown inside the HTML.
  const isShown = contentId !== null && (disposition !== 'attachment' || shown.has(contentId))
  return {
    filename: filename ?? `${type === 'text/calendar' ? 'invite' : `attachment-${index + 1}`}.${endingOf(type)}`,
    contentType: contentTypeOf(part),
    content: decodedBytes(part).toString('base64'),
    ...(isShown && { contentId }),
  }
}

const endingOf = (type: string) => (type === 'message/rfc822' ? 'eml' : libmime.detectExtension(type))

/** With the parameters that readers need, such as `method` of a calendar part. */
function contentTypeOf({ type, params }: MimePart): string {
  const kept = Object.entries(params).filter(
    ([name, value]) => KEPT_PARAMETERS.has(name) && /^[\w.:+-]{1,40}$/.test(value),
  )
  return [type, ...kept.map(([name, value]) => `${name}=${value}`)].join('; ')
}

const KEPT_PARAMETERS: ReadonlySet<string> = new Set(['charset', 'method', 'component', 'profile', 'version', 'format'])

/** The bytes of a part without their transfer encoding. */
function decodedBytes({ encoding, body, type }: MimePart): Buffer {
  switch (encoding) {
    case '7bit':
    case '8bit':
    case 'binary':
      return body
    case 'base64':
      if (!isBase64(body))
        throw malformed(`The ${type} part is not valid base64: it was cut, or has other characters or a padding inside`)
      return Buffer.from(body.toString('latin1'), 'base64')
    case 'quoted-printable':
      return decodeQuotedPrintable(body)
    default:
      throw cannotCarry(`The transfer encoding of a ${type} part is not known: use base64 or quoted-printable`)
  }
}

/** Text of a body, with plain line breaks. Bytes that do not fit the charset are refused: recipients would see something else. */
function decodedBody(part: MimePart): string {
  const written = decodedAs(part.params.charset ?? 'utf-8', decodedBytes(part), `${part.type} part`)
  // Longer texts are refused by the rules of the send body. Replacing the line breaks of 16 MB takes a second.
  if (written.length > 2 * SEND_LIMITS.CONTENT_BYTES) return written
  const text = written.replaceAll('\r\n', '\n')
  const isFlowed = part.params.format?.toLowerCase() === 'flowed'
  if (!isFlowed || text.length > SEND_LIMITS.CONTENT_BYTES) return text
  return libmime.decodeFlowed(text, part.params.delsp?.toLowerCase() === 'yes')
}
