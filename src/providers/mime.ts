import MailComposer from 'nodemailer/lib/mail-composer'
import MimeNode from 'nodemailer/lib/mime-node'
import type { OutgoingMessage } from './provider.ts'

export type Mailbox = { name: string; address: string }

/** `"Name, quoted" <a@b.c>` → its two parts. Nothing is parsed twice: the libraries get the parts. */
export function mailboxOf(text: string): Mailbox {
  const open = text.lastIndexOf('<')
  if (open === -1 || !text.endsWith('>')) return { name: '', address: text.trim() }
  const name = text.slice(0, open).trim()
  const quoted = /^"(.*)"$/s.exec(name)
  return { name: quoted ? quoted[1]!.replace(/\\(.)/gs, '$1') : name, address: text.slice(open + 1, -1).trim() }
}

export const bareAddress = (text: string): string => mailboxOf(text).address

/** As it stands in a header: ASCII, the name as encoded words where it has to be. */
export function encodedAddress(text: string): string {
  return MimeNode.encodeHeaderValue('To', mailboxOf(text))
}

/** `<attempt@domain of from>`: the same for the same attempt, so that a duplicate can be recognised by whoever gets both. */
export function messageIdOf({ attemptId, from }: OutgoingMessage): string {
  return `<${attemptId}@${bareAddress(from).split('@').at(-1)}>`
}

/** The message as it travels. Bcc is for the envelope and stands nowhere in it. */
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
    // A body that happens to be an object could otherwise name a file of ours.
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
    // message/rfc822 must not be base64 by the letter of RFC 2046, but 8-bit lines of any length would not survive SMTP.
    contentTransferEncoding: 'base64',
    // Said for each: nodemailer would show message/rfc822 inside the e-mail.
    contentDisposition: contentId === null ? ('attachment' as const) : ('inline' as const),
    ...(contentId !== null && { cid: contentId }),
  }
}
