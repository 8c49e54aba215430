import MailComposer from 'nodemailer/lib/mail-composer'
import MimeNode from 'nodemailer/lib/mime-node'
import type { OutgoingMessage } from './provider.ts'

export type Mailbox = { name: string; address: string }

/** Splits `"Name, quoted" <a@b.c>`, so that libraries get the parts and do not parse the text again. */
export function mailboxOf(text: string): Mailbox {
  const open = text.lastIndexOf('<')
  if (open === -1 || !text.endsWith('>')) return { name: '', address: text.trim() }
  const name = text.slice(0, open).trim()
  const quoted = /^"(.*)"$/s.exec(name)
  return { name: quoted ? quoted[1]!.replace(/\\(.)/gs, '$1') : name, address: text.slice(open + 1, -1).trim() }
}

export const bareAddress = (text: string): string => mailboxOf(text).address

/** For a header: in ASCII, the name as encoded words if necessary. */
export function encodedAddress(text: string): string {
  return MimeNode.encodeHeaderValue('To', mailboxOf(text))
}

/** `<attempt@domain of from>`: the same for every call of one attempt, so that mail servers can recognise a duplicate. */
export function messageIdOf({ attemptId, from }: OutgoingMessage): string {
  return `<${attemptId}@${bareAddress(from).split('@').at(-1)}>`
}

/** Bcc recipients are in the envelope only, not in the message. */
export function composeMime(message: OutgoingMessage): Promise<Buffer> {
  const composer = new MailComposer({
    from: mailboxOf(message.from),
    to: message.to.map(mailboxOf),
    cc: message.cc.map(mailboxOf),
    replyTo: message.replyTo.map(mailboxOf),
    subject: message.subject,
    text: message.text,
    ...(message.html !== null && { html: message.html }),
    headers: message.headers,
    messageId: messageIdOf(message),
    attachments: message.attachments.map(toAttachment),
    newline: 'win',
    // Otherwise a body that is an object could name a local file.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}

function toAttachment({ filename, contentType, contentId, base64 }: OutgoingMessage['attachments'][number]) {
  const content = Buffer.from(base64, 'base64')
  return {
    filename,
    content,
    ...encodingOf(contentType, content),
    // Always set, because nodemailer would show message/rfc822 inside the e-mail.
    contentDisposition: contentId === null ? ('attachment' as const) : ('inline' as const),
    ...(contentId !== null && { cid: contentId }),
  }
}

/**
 * RFC 2046, 5.2.1: an attached message must not be encoded. One that cannot travel as it is goes as a file of no known type; its name
 * still ends with .eml.
 */
function encodingOf(contentType: string, content: Buffer) {
  if (!/^message\//i.test(contentType)) return { contentType, contentTransferEncoding: 'base64' }
  return isSevenBit(content)
    ? { contentType, contentTransferEncoding: '7bit' }
    : { contentType: 'application/octet-stream', contentTransferEncoding: 'base64' }
}

const MAX_LINE = 998

/** RFC 2045, 2.7. */
function isSevenBit(content: Buffer): boolean {
  let line = 0
  for (const [at, byte] of content.entries()) {
    if (byte === 0 || byte > 127) return false
    if (byte === CR && content[at + 1] !== LF) return false
    line = byte === LF ? 0 : line + 1
    // The CR of the line break counts as well.
    if (line > MAX_LINE + 1) return false
  }
  return true
}

const [LF, CR] = [10, 13]
