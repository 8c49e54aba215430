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
  return {
    filename,
    contentType,
    content: Buffer.from(base64, 'base64'),
    // RFC 2046 forbids base64 for message/rfc822, but long 8-bit lines would not survive SMTP.
    contentTransferEncoding: 'base64',
    // Always set, because nodemailer would show message/rfc822 inside the e-mail.
    contentDisposition: contentId === null ? ('attachment' as const) : ('inline' as const),
    ...(contentId !== null && { cid: contentId }),
  }
}
