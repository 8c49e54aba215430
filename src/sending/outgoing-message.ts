import { mayBeInline } from '../contracts/attachment-types.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import type { Attachment, EmailToSend, RecipientToSend } from '../db/outbox/load.ts'
import type { OutgoingMessage } from '../providers/provider.ts'

/** The message as the provider gets it. */
export function toMessage(
  email: EmailToSend,
  suppressed: RecipientToSend[],
  text: string,
  attachments: Attachment[],
): OutgoingMessage {
  const recipients = email.recipients.filter(one => !suppressed.includes(one))
  const only = (kind: RecipientToSend['kind']) => recipients.filter(one => one.kind === kind).map(formatRecipient)
  return {
    outboxId: email.outboxId,
    attemptId: email.unresolvedAttempt?.attemptId ?? uuidv7(),
    companyId: email.companyId,
    from: email.from!,
    to: only('to'),
    cc: only('cc'),
    bcc: only('bcc'),
    replyTo: email.replyTo ?? [],
    subject: email.subject!,
    html: email.html,
    text,
    headers: email.headers ?? {},
    tags: email.tags,
    attachments: attachments.map(withoutUnusableContentId),
  }
}

/** Without a content id every provider sends the file as an attachment, which is right for types that must not be shown inline. */
function withoutUnusableContentId(file: Attachment): Attachment {
  return file.contentId === null || mayBeInline(file) ? file : { ...file, contentId: null }
}

function formatRecipient({ name, address }: RecipientToSend): string {
  return name ? `"${name.replace(/["\\]/g, '\\$&')}" <${address}>` : address
}
