import { formatAddress, parseAddress } from '../contracts/addresses.ts'
import { decideSender, type SenderSettings } from '../contracts/sender.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import type { FailureFacts } from './outcome.ts'

/** The sender of an e-mail that names none is chosen when it is sent. null: the company may use neither its default nor EMAIL_FROM. */
export function senderOfEmail(email: EmailToSend, { defaultFrom, captureOnly }: SenderSettings): string | null {
  if (email.from !== null) return email.from
  const parsed = email.companySender?.defaultFrom ? parseAddress(email.companySender.defaultFrom) : null
  const sender = decideSender(undefined, {
    fromDomains: email.companySender?.fromDomains ?? [],
    companyFrom: parsed?.ok ? parsed.value : null,
    defaultFrom,
    nothingLeaves: captureOnly || email.test,
  })
  return sender && formatAddress(sender)
}

export const NO_SENDER: FailureFacts = {
  code: 'FROM_NOT_ALLOWED',
  category: 'VALIDATION_ERROR',
  message:
    'The e-mail names no sender, its company has no default sender, and EMAIL_FROM is not one of its sender domains. Set one with: email-gateway company update NAME --from ADDRESS',
}
