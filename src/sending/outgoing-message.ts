import { mayBeInline } from '../contracts/attachment-types.ts'
import { textFromHtml } from '../contracts/html/to-text.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import type { Attachment, EmailToSend, RecipientToSend } from '../db/outbox/load.ts'
import type { OutgoingMessage } from '../providers/provider.ts'

/** What goes to the provider; whoever was suppressed meanwhile is left out. */
export function toMessage(
  email: EmailToSend,
  leftOut: RecipientToSend[],
  text: string | null,
  attachments: Attachment[],
): OutgoingMessage {
  return new Message(email, leftOut, text, attachments)
}

const NOBODY = Object.freeze<string[]>([]) as string[]
const NOTHING = Object.freeze({})

/** A class, because a literal with a getter takes ten times the memory, for each e-mail. */
class Message implements OutgoingMessage {
  readonly outboxId: string
  readonly attemptId: string
  readonly companyId: string
  readonly from: string
  readonly to: string[] = []
  readonly cc: string[] = NOBODY
  readonly bcc: string[] = NOBODY
  readonly replyTo: string[]
  readonly subject: string
  readonly html: string | null
  readonly headers: Record<string, string>
  readonly tags: string[]
  readonly attachments: Attachment[]
  readonly #text: string | null

  constructor(email: EmailToSend, leftOut: RecipientToSend[], text: string | null, attachments: Attachment[]) {
    this.outboxId = email.outboxId
    this.attemptId = email.resumed?.attemptId ?? uuidv7()
    this.companyId = email.companyId
    this.from = email.from
    for (const one of email.recipients) {
      if (leftOut.includes(one)) continue
      if (one.kind === 'to') this.to.push(addressed(one))
      else if (one.kind === 'cc') this.cc = [...this.cc, addressed(one)]
      else this.bcc = [...this.bcc, addressed(one)]
    }
    this.replyTo = email.replyTo ?? NOBODY
    this.subject = email.subject!
    this.html = email.html
    this.headers = email.headers ?? NOTHING
    this.tags = email.tags
    this.attachments = attachments.map(attachedOnly)
    this.#text = text
  }

  /** Made of the HTML when it is asked for. */
  get text(): string {
    return this.#text ?? textFromHtml(this.html!)
  }
}

/** Without an id nothing in the HTML can refer to it, and every provider sends it as an attachment. */
function attachedOnly(file: Attachment): Attachment {
  return file.contentId === null || mayBeInline(file) ? file : { ...file, contentId: null }
}

function addressed({ name, address }: { name: string | null; address: string }): string {
  return name ? `"${name.replace(/["\\]/g, '\\$&')}" <${address}>` : address
}
