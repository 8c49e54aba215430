import type { EmailSummary, Explanation } from './email-view.ts'

/** Where the e-mail stands in line; null when it is not in line. */
export type Standing = { ahead: number; companies: number; paused: boolean; pauseReason: string | null }

type Told = Pick<Explanation, 'summary' | 'next' | 'nextAt'>

/** Where it is, why, what happens next and when, for people who were asked. */
export function explainEmail(email: EmailSummary, standing: Standing | null): Explanation {
  const { outboxId, status, attempts, maxAttempts, lastError } = email
  const told = tell(email, standing)
  return {
    outboxId,
    status,
    ...told,
    aheadInCompany: standing?.ahead ?? null,
    companiesSharing: standing?.companies ?? null,
    attempts,
    maxAttempts,
    lastError,
  }
}

function tell(email: EmailSummary, standing: Standing | null): Told {
  switch (email.status) {
    case 'PENDING':
      return waiting(email, standing)
    case 'PROCESSING':
      return told(
        `Being sent: attempt ${email.attempts} of ${email.maxAttempts} is under way.`,
        'The provider answers, or the attempt times out after 30 seconds.',
      )
    case 'RETRY_SCHEDULED':
      return retrying(email, standing)
    case 'UNKNOWN':
      return told(
        'The connection ended after the message had left: whether the provider took it is not known.',
        'A provider event, the idempotency key or the onUnknown policy decides.',
      )
    case 'SENT':
      return told(
        `Accepted by ${email.provider ?? 'the provider'}${at(email.sentAt)}${email.messageId ? ` as ${email.messageId}` : ''}.`,
        'Delivery, bounce or complaint is recorded when the provider reports it.',
      )
    case 'DELIVERED':
      return told(`Delivered to the recipient's server${at(email.deliveredAt)}.`, null)
    case 'BOUNCED':
      return told("The recipient's server returned it; the BOUNCE event has the diagnosis.", null)
    case 'COMPLAINED':
      return told('The recipient reported it as spam.', null)
    case 'CANCELLED':
      return told('Cancelled before it was sent.', null)
    case 'EXPIRED':
      return told('Not sent within 24 hours of its due time, so it was given up.', 'It can be replayed.')
    case 'REJECTED':
    case 'FAILED':
    case 'DLQ':
      return dead(email)
  }
}

const at = (time: string | null) => (time ? ` at ${time}` : '')

const told = (summary: string, next: string | null, nextAt: string | null = null): Told => ({ summary, next, nextAt })

function held(pauseReason: string | null): Told {
  const because = pauseReason ? ` (${pauseReason})` : ''
  return told(`Held: the company is paused${because}.`, 'It is sent when an administrator resumes the company.')
}

function waiting(email: EmailSummary, standing: Standing | null): Told {
  if (standing?.paused) return held(standing.pauseReason)
  if (!standing && email.nextAttemptAt)
    return told(`Scheduled for ${email.nextAttemptAt}.`, 'It joins the line then.', email.nextAttemptAt)
  if (!standing) return told('Waiting to join the line.', 'It is picked up within seconds.')
  return told(`Waiting for its turn: ${inLine(standing)}.`, 'It is sent when its turn comes.')
}

function inLine({ ahead, companies }: Standing): string {
  const before = ahead > 1000 ? 'more than 1000' : String(ahead)
  return `${before} of this company before it, ${companies} ${companies === 1 ? 'company' : 'companies'} sharing`
}

function retrying(email: EmailSummary, standing: Standing | null): Told {
  if (standing?.paused) return held(standing.pauseReason)
  const because = email.lastError ? ` because of ${email.lastError.code}: ${email.lastError.message}` : ''
  const which = `attempt ${email.attempts + 1} of ${email.maxAttempts}`
  if (standing)
    return told(
      `Attempt ${email.attempts} failed${because}. ${which} is due: ${inLine(standing)}.`,
      'It is sent when its turn comes.',
    )
  return told(
    `Attempt ${email.attempts} failed${because}.`,
    email.nextAttemptAt ? `${which}${at(email.nextAttemptAt)}.` : `${which} follows within seconds.`,
    email.nextAttemptAt,
  )
}

function dead(email: EmailSummary): Told {
  const because = email.lastError ? ` ${email.lastError.code}: ${email.lastError.message}` : ''
  const how = {
    REJECTED: 'Refused by the provider.',
    FAILED: 'Given up: it can never be sent as it is.',
    DLQ: `Given up after ${email.attempts} attempts.`,
  }[email.status as 'REJECTED' | 'FAILED' | 'DLQ']
  return told(`${how}${because}`, 'It is in the dead letter queue and can be replayed once the cause is mended.')
}
