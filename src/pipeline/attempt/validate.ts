import type { EmailToSend } from '../../outbox/load.ts'
import type { VALIDATIONS } from '../../outbox/start.ts'
import type { HtmlChecker } from '../../platform/html/check.ts'
import { parseAddress, parseBareAddress } from '../../platform/text/addresses.ts'
import type { FailureFacts } from './outcome.ts'

export type Invalid = { validation: (typeof VALIDATIONS)[number]; failure: FailureFacts }

/**
 * Four validations, in this order; the first that fails ends the e-mail. They look at what can be wrong although the e-mail was accepted:
 * SQL takes any text for an address and has no content, and parts of an e-mail may be erased while it waits.
 */
export async function validateEmail(email: EmailToSend, companyId: string, html: HtmlChecker): Promise<Invalid | null> {
  return checkIntegrity(email) ?? checkOutbox(email, companyId) ?? checkRecipient(email) ?? checkTemplate(email, html)
}

const invalid = (validation: Invalid['validation'], code: string, message: string): Invalid => ({
  validation,
  failure: { code, category: 'VALIDATION_ERROR', message },
})

function checkIntegrity({ recipients, subject }: EmailToSend): Invalid | null {
  const to = recipients.find(one => one.kind === 'to')?.address
  if (to === undefined) return invalid('INTEGRITY', 'INVALID_PAYLOAD', 'to: the address is no longer there')
  if (!subject) return invalid('INTEGRITY', 'INVALID_PAYLOAD', 'subject: the e-mail has none')
  const parsed = parseBareAddress(to)
  if (parsed.ok) return null
  const withName = parseAddress(to).ok
  const message = withName ? 'The e-mail address must be given alone, without a name' : parsed.problem.message
  return invalid('INTEGRITY', 'INVALID_EMAIL', `to: ${message}`)
}

function checkOutbox(email: EmailToSend, companyId: string): Invalid | null {
  if (email.companyId === companyId) return null
  return invalid('OUTBOX', 'OUTBOX_NOT_FOUND', 'The e-mail belongs to another company')
}

function checkRecipient({ recipientId, recipientRecord }: EmailToSend): Invalid | null {
  if (recipientId === null || recipientRecord !== null) return null
  return invalid('RECIPIENT', 'RECIPIENT_NOT_FOUND', 'The recipient no longer exists')
}

async function checkTemplate(
  { html, text, htmlProof, companyId }: EmailToSend,
  checker: HtmlChecker,
): Promise<Invalid | null> {
  if (!html && !text) return badTemplate('The e-mail has no content')
  if (!html || checker.hasValidProof(html, htmlProof)) return null
  const problems = await checker.check(html, companyId)
  return problems.length > 0 ? badTemplate(problems.map(problem => problem.message).join('; ')) : null
}

const badTemplate = (message: string) => invalid('TEMPLATE', 'INVALID_TEMPLATE', message)
