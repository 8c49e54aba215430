import { formatAddress, parseAddress } from '../contracts/addresses.ts'
import { decideSender, type SenderSettings } from '../contracts/sender.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import type { Invalid } from './validate-email.ts'

/** An e-mail that came by SQL names no sender. It gets its company's default, else EMAIL_FROM, if the company may use it. */
export function withSender(email: EmailToSend, { defaultFrom, captureOnly }: SenderSettings): EmailToSend | Invalid {
  if (email.from !== null) return email
  const { companySender } = email
  const parsed = companySender?.defaultFrom ? parseAddress(companySender.defaultFrom) : null
  const sender = decideSender(undefined, {
    fromDomains: companySender?.fromDomains ?? [],
    companyFrom: parsed?.ok ? parsed.value : null,
    defaultFrom,
    nothingLeaves: captureOnly || email.test,
  })
  return sender ? { ...email, from: formatAddress(sender) } : NO_SENDER
}

const NO_SENDER: Invalid = {
  validation: 'INTEGRITY',
  failure: {
    code: 'FROM_NOT_ALLOWED',
    category: 'VALIDATION_ERROR',
    message:
      'The e-mail names no sender, its company has no default sender, and EMAIL_FROM is not one of its sender domains. Set one with: email-gateway company update NAME --from ADDRESS',
  },
}
