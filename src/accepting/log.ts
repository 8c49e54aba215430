import type { Draft, MemberResult } from '../db/outbox/draft.ts'
import type { EmailLog, LoggedEmail } from '../telemetry/email-log.ts'

/** One line for each e-mail that was accepted, or stopped by the suppression list. `results` has the order of the drafts. */
export function logAccepted(drafts: Draft[], results: MemberResult[], strict: boolean, log: EmailLog): void {
  // A strict request is accepted as a whole, or not at all.
  const noneAccepted = strict && results.some(({ status }) => status !== 'ACCEPTED')
  drafts.forEach((draft, place) => {
    const { status } = results[place]!
    if (status === 'SUPPRESSED')
      log('refused', loggedDraft(draft), { state: 'REJECTED', errorCode: 'RECIPIENT_SUPPRESSED' })
    if (status === 'ACCEPTED' && !noneAccepted)
      log('accepted', loggedDraft(draft), { state: 'QUEUED', maxAttempts: draft.maxAttempts })
  })
}

function loggedDraft(draft: Draft): LoggedEmail {
  const { outboxId, companyId, requestId, externalId, addresses, recipientRecord, traceparent } = draft
  return { outboxId, companyId, requestId, externalId, recipients: addresses, recipientRecord, traceparent }
}
