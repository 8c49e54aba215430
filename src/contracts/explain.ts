import type { EmailSummary, Explanation } from './email-view.ts'
import { maxAttempts } from './retry.ts'

/** How many e-mails of its company go before it, and how many companies share the capacity. */
export type QueuePosition = { ahead: number; companies: number; paused: boolean; pauseReason: string | null }

export type ParkedProvider = { provider: string; since: string; code: string; reason: string; probeAt: string }

/** Facts from other tables than the e-mail's own row. Null: does not apply. */
export type EmailLocation = {
  queuePosition: QueuePosition | null
  /** work: a worker has claimed it. dispatch: it is in the BullMQ queue. */
  inFlight: { kind: 'work' | 'dispatch'; holder: string } | null
  unknown: { reason: string; provider: string; since: string; resolveAt: string; onUnknown: 'resend' | 'hold' } | null
  /** Every provider in use is parked. */
  parked: ParkedProvider[] | null
  contentGone: boolean
}

type StatusText = Pick<Explanation, 'summary' | 'next' | 'nextAt'>

/**
 * The state of an e-mail in sentences: why it is there, what happens next and when. The admin UI recognises how `next` begins, to
 * translate it (admin/src/views/emails/next-step.ts).
 */
export function explainEmail(email: EmailSummary, location: EmailLocation): Explanation {
  const { outboxId, status, attempts, maxAttempts, lastError } = email
  const { queuePosition, parked } = location
  return {
    outboxId,
    status,
    ...describeStatus(email, location),
    aheadInCompany: queuePosition?.ahead ?? null,
    companiesSharing: queuePosition?.companies ?? null,
    parkedProviders: parked?.map(one => one.provider) ?? null,
    attempts,
    maxAttempts,
    lastError,
  }
}

function describeStatus(email: EmailSummary, location: EmailLocation): StatusText {
  switch (email.status) {
    case 'PENDING':
      return describeWaiting(email, location)
    case 'PROCESSING':
      return statusText(
        `Being sent${email.provider ? ` by ${email.provider}` : ''}: attempt ${email.attempts} of ${email.maxAttempts} is under way.`,
        'The provider answers, or the attempt times out after 30 seconds.',
      )
    case 'RETRY_SCHEDULED':
      return describeRetry(email, location)
    case 'UNKNOWN':
      return describeUnknown(location.unknown)
    case 'SENT':
      return statusText(
        `Accepted by ${email.provider ?? 'the provider'}${at(email.sentAt)}${email.messageId ? ` as ${email.messageId}` : ''}.`,
        'Delivery, bounce or complaint is recorded when the provider reports it.',
      )
    case 'DELIVERED':
      return statusText(`Delivered to the recipient's server${at(email.deliveredAt)}.`, null)
    case 'BOUNCED':
      return statusText(
        "The recipient's server returned it; the BOUNCE event has the diagnosis.",
        resendText(location, 'once the address works and is not suppressed'),
      )
    case 'COMPLAINED':
      return statusText('The recipient reported it as spam.', null)
    case 'CANCELLED':
      return statusText('Cancelled before it was sent.', null)
    case 'EXPIRED':
      return statusText(
        'Not sent within 24 hours of its due time, so it was given up.',
        replayText(location, 'It can be replayed.'),
      )
    case 'REJECTED':
    case 'FAILED':
    case 'DLQ':
      return describeDead(email, location)
  }
}

const at = (time: string | null) => (time ? ` at ${time}` : '')

const statusText = (summary: string, next: string | null, nextAt: string | null = null): StatusText => ({
  summary,
  next,
  nextAt,
})

/** A paused company or parked providers. */
function describeHold({ queuePosition, parked }: EmailLocation): StatusText | null {
  if (queuePosition?.paused) {
    const because = queuePosition.pauseReason ? ` (${queuePosition.pauseReason})` : ''
    return statusText(`Held: the company is paused${because}.`, 'It is sent when an administrator resumes the company.')
  }
  if (!parked?.[0]) return null
  const all = parked.map(
    one => `provider ${one.provider} parked since ${one.since} because of ${one.code}: ${withoutFullStop(one.reason)}`,
  )
  const probeAt = parked.map(one => one.probeAt).sort()[0]!
  return statusText(`Held: ${all.join('; ')}. No attempt is spent.`, `One e-mail tries again at ${probeAt}.`, probeAt)
}

function describeWaiting(email: EmailSummary, location: EmailLocation): StatusText {
  const { queuePosition, inFlight } = location
  if (!queuePosition && !inFlight && email.nextAttemptAt)
    return statusText(`Scheduled for ${email.nextAttemptAt}.`, 'It becomes ready then.', email.nextAttemptAt)
  return (
    describeHold(location) ??
    describeInFlight(inFlight) ??
    (queuePosition
      ? statusText(`Waiting for its turn: ${describePosition(queuePosition)}.`, 'It is sent when its turn comes.')
      : statusText('Waiting to become ready.', 'It is picked up within seconds.'))
  )
}

function describeInFlight(inFlight: EmailLocation['inFlight']): StatusText | null {
  if (!inFlight) return null
  if (inFlight.kind === 'dispatch')
    return statusText('On the queue: its turn has come.', 'The next free worker sends it.')
  return statusText(`Claimed by worker ${inFlight.holder}, about to be sent.`, 'It is sent within moments.')
}

const UNKNOWN_REASONS: Record<string, string> = {
  TIMEOUT: 'did not answer in time after the message had left',
  CONNECTION_LOST: 'closed the connection after the message had left',
  WORKER_LOST: 'was being called when the worker was lost',
  NO_ANSWER: 'could not be asked about the outcome',
  PROVIDER_UNAVAILABLE: 'is parked or no longer configured, so it cannot be asked about the outcome',
}

function describeUnknown(unknownSend: EmailLocation['unknown']): StatusText {
  if (!unknownSend)
    return statusText(
      'The connection ended after the message had left: whether the provider took it is not known.',
      'A provider event, the idempotency key or the onUnknown policy decides.',
    )
  const { provider, reason, since, resolveAt, onUnknown } = unknownSend
  return statusText(
    `Not known whether it was sent: ${provider} ${UNKNOWN_REASONS[reason] ?? 'did not answer'} (${since}).`,
    onUnknown === 'hold'
      ? `Only a provider event moves it; at ${resolveAt} it is looked at again, and never sent twice.`
      : `A provider event settles it; without one, it is tried again at ${resolveAt}.`,
    resolveAt,
  )
}

function describePosition({ ahead, companies }: QueuePosition): string {
  const before = ahead > 1000 ? 'more than 1000' : String(ahead)
  return `${before} of this company before it, ${companies} ${companies === 1 ? 'company' : 'companies'} sharing`
}

function describeRetry(email: EmailSummary, location: EmailLocation): StatusText {
  const { queuePosition, inFlight } = location
  const free = reasonWithoutAttempt(email)
  // With the policy persistent an e-mail expires before its attempts are used up.
  const isPersistent = email.maxAttempts >= maxAttempts('persistent')
  const until = isPersistent ? ` (repeated until it expires at ${email.expiresAt})` : ` of ${email.maxAttempts}`
  const which = `${free ? 'Attempt' : 'Retry'} ${email.attempts + 1}${until}`
  const because = free ?? (email.lastError ? ` because ${describeLastError(email)}` : '')
  if (!queuePosition && !inFlight && email.nextAttemptAt)
    return statusText(`${which}${at(email.nextAttemptAt)}${because}.`, 'It becomes ready then.', email.nextAttemptAt)
  const stopped = describeHold(location) ?? describeInFlight(inFlight)
  if (stopped) return { ...stopped, summary: `${stopped.summary} ${which} is due${because}.` }
  if (!queuePosition) return statusText(`${which}${because}.`, 'It follows within seconds.')
  return statusText(`${which} is due${because}: ${describePosition(queuePosition)}.`, 'It is sent when its turn comes.')
}

/** Why it waits, if the last attempt did not count. */
function reasonWithoutAttempt({ provider, lastError }: EmailSummary): string | null {
  if (!lastError) return null
  const { code, category, message } = lastError
  const who = provider ?? 'the provider'
  const detail = `(${code}: ${withoutFullStop(message)}), which spends no attempt`
  // SMTP status 4.7.28 is about one recipient's domain and is retried like any other 4xx.
  if (category === 'QUOTA_ERROR' && code !== 'SMTP_RATE_LIMITED')
    return ` because ${who} limits its send rate ${detail}`
  return code === 'NETWORK_ERROR' ? ` because there was no connection to ${who} ${detail}` : null
}

function describeLastError({ provider, lastError }: EmailSummary): string {
  const { code, message } = lastError!
  return `${provider ?? 'the gateway'} answered ${code}: ${withoutFullStop(message)}`
}

/** Some providers end their messages with a full stop; our sentence continues after it. */
const withoutFullStop = (message: string) => message.replace(/[.\s]+$/, '')

function describeDead(email: EmailSummary, location: EmailLocation): StatusText {
  const because = email.lastError ? ` ${email.lastError.code}: ${withoutFullStop(email.lastError.message)}.` : ''
  if (email.lastError?.code === 'RECIPIENT_SUPPRESSED')
    return statusText(`Not sent.${because}`, resendText(location, 'once the address is no longer suppressed'))
  const how = {
    REJECTED: 'Refused by the provider.',
    FAILED: 'Given up: it can never be sent as it is.',
    DLQ: `Given up after ${email.attempts} ${email.attempts === 1 ? 'attempt' : 'attempts'}.`,
  }[email.status as 'REJECTED' | 'FAILED' | 'DLQ']
  const next = 'It is in the dead letter queue and can be replayed once the cause is fixed.'
  return statusText(`${how}${because}`, replayText(location, next))
}

const resendText = ({ contentGone }: EmailLocation, when: string) =>
  contentGone ? null : `It can be sent again (resend) ${when}.`

const replayText = ({ contentGone }: EmailLocation, next: string) =>
  contentGone ? 'Its content was purged, so it can no longer be replayed.' : next
