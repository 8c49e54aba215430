import { textFromHtml } from '../contracts/text-from-html.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import type { Attachment, Ticket, TicketRecipient } from '../db/tickets.ts'
import type { OutgoingMessage } from '../providers/provider.ts'

/** What goes to the provider; whoever was suppressed meanwhile is left out. Without a text, it is made when it is asked for. */
export function toMessage(
  ticket: Ticket,
  leftOut: TicketRecipient[],
  text: string | null,
  attachments: Attachment[],
): OutgoingMessage {
  const only = (kind: string) => {
    const found: string[] = []
    for (const one of ticket.recipients) if (one.kind === kind && !leftOut.includes(one)) found.push(addressed(one))
    return found
  }
  return {
    outboxId: ticket.outboxId,
    attemptId: ticket.resumed?.attemptId ?? uuidv7(),
    companyId: ticket.companyId,
    from: ticket.from,
    to: only('to'),
    cc: only('cc'),
    bcc: only('bcc'),
    replyTo: ticket.replyTo ?? [],
    subject: ticket.subject!,
    html: ticket.html,
    get text() {
      return text ?? textFromHtml(ticket.html!)
    },
    headers: ticket.headers ?? {},
    tags: ticket.tags,
    attachments,
  }
}

function addressed({ name, address }: { name: string | null; address: string }): string {
  return name ? `"${name.replace(/["\\]/g, '\\$&')}" <${address}>` : address
}
