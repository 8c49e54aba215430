import { hashEmail } from '../contracts/hashing.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import type { Outcome } from './outcome.ts'

/** Finds a reason not to send the e-mail, whatever its content is. null: there is none. */
export function reasonNotToSend(email: EmailToSend): Outcome | null {
  if (email.unresolvedAttempt) return reasonNotToRepeat(email)
  if (email.expired) return { kind: 'expired' }
  if (email.attempts >= email.maxAttempts) return { kind: 'dead', status: 'DLQ', failure: ATTEMPTS_EXHAUSTED }
  const to = email.recipients.filter(one => one.kind === 'to')
  if (to.length > 0 && to.every(one => one.suppressed))
    return { kind: 'suppressed', hashes: to.map(one => hashEmail(one.address)) }
  return null
}

/**
 * Its message may have left already: the call is repeated to learn that, even if the e-mail has expired or become invalid. But if the
 * first call never arrived, the repeated one is the first delivery, and a recipient that is suppressed by now must not get it.
 */
function reasonNotToRepeat({ unresolvedAttempt, recipients }: EmailToSend): Outcome | null {
  return recipients.some(one => one.suppressed)
    ? { kind: 'cannot-repeat', provider: unresolvedAttempt!.provider, reason: 'RECIPIENT_SUPPRESSED' }
    : null
}

const ATTEMPTS_EXHAUSTED = {
  code: 'ATTEMPTS_EXHAUSTED',
  category: 'PERMANENT_ERROR',
  message: 'No attempts are left; the last one ended when its worker crashed or was lost',
}
