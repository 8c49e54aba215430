import type { EmailSummary, Explanation, NextStep } from '../outbox/email-view.ts'
import { maxAttempts } from '../settings/retry.ts'

/** The state of an e-mail in sentences: why it is there, what happens next and when. */
export function explainEmail(email: EmailSummary, location: EmailLocation): Explanation {
  const { outboxId, status, attempts, maxAttempts, lastError } = email
  const { queuePosition, parked } = location
  return {
    outboxId,
    status,
    ...describeStatus(email, location),
    aheadInCompany: queuePosition?.ahead ?? null,
    companiesSharing: queuePosition?.companies ?? null,
    pauseReason: queuePosition?.pauseReason ?? null,
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
      return describeProcessing(email, location)
    case 'RETRY_SCHEDULED':
      return describeRetry(email, location)
    case 'UNKNOWN':
      return describeUnknown(location)
    case 'SENT':
      return describeSent(email, location)
    case 'DELIVERED':
      return statusText(
        `Delivered to the recipient's server${at(email.deliveredAt)}${othersBounced(location)}.${maybeTwice(location)}`,
        null,
      )
    case 'BOUNCED':
      return statusText(
        "The recipient's server returned it; the BOUNCE event has the diagnosis.",
        resend(location, 'resend', 'once the address works and is not suppressed'),
      )
    case 'COMPLAINED':
      return statusText(`The recipient reported it as spam${othersBounced(location)}.`, null)
    case 'CANCELLED':
      return statusText('Cancelled before it was sent.', null)
    case 'EXPIRED':
      return statusText(
        'Not sent within 24 hours of its due time, so it was given up.',
        replay(location, { step: 'replay-expired', text: 'It can be replayed.' }),
      )
    case 'REJECTED':
    case 'FAILED':
    case 'DLQ':
      return describeDead(email, location)
  }
}

/** A paused company or parked providers. */
function describeHold({ queuePosition, parked }: EmailLocation): StatusText | null {
  if (queuePosition?.paused) {
    const because = queuePosition.pauseReason ? ` (${queuePosition.pauseReason})` : ''
    return statusText(`Held: the company is paused${because}.`, {
      step: 'resume',
      text: 'It is sent when an administrator resumes the company.',
    })
  }
  if (!parked?.[0]) return null
  const all = parked.map(
    one => `provider ${one.provider} parked since ${one.since} because of ${one.code}: ${withoutFullStop(one.reason)}`,
  )
  const probeAt = parked.map(one => one.probeAt).sort()[0]!
  return statusText(`Held: ${all.join('; ')}. No attempt is spent.`, {
    step: 'probe',
    text: `One e-mail tries again at ${probeAt}.`,
    at: probeAt,
  })
}

function describeWaiting(email: EmailSummary, location: EmailLocation): StatusText {
  const { queuePosition, inFlight } = location
  if (!queuePosition && !inFlight && email.nextAttemptAt)
    return statusText(`Scheduled for ${email.nextAttemptAt}.`, becomesReady(email.nextAttemptAt))
  return (
    describeHold(location) ??
    describeInFlight(location) ??
    (queuePosition
      ? statusText(`Waiting for its turn: ${describePosition(queuePosition)}.`, nextTurn(location))
      : statusText('Waiting to become ready.', { step: 'soon', text: 'It is picked up within seconds.' }))
  )
}

function describeInFlight(location: EmailLocation): StatusText | null {
  const { inFlight, workersAlive } = location
  if (!inFlight) return null
  if (inFlight.kind === 'dispatch')
    return statusText(
      'On the queue: its turn has come.',
      workersAlive ? { step: 'soon', text: 'The next free worker sends it.' } : NO_WORKER,
    )
  const lost = whyLost(location)
  if (lost)
    return statusText(`Claimed by worker ${inFlight.holder}, which is lost: ${lost}.`, {
      step: 'returned',
      text: 'It becomes ready again when a running worker returns the lease.',
    })
  return statusText(`Claimed by worker ${inFlight.holder}, about to be sent.`, {
    step: 'soon',
    text: 'It is sent within moments.',
  })
}

function describePosition({ ahead, companies }: QueuePosition): string {
  const before = ahead > 1000 ? 'more than 1000' : String(ahead)
  return `${before} of this company before it, ${companies} ${companies === 1 ? 'company' : 'companies'} sharing`
}

const NO_WORKER: Next = { step: 'no-worker', text: 'No worker is running: it is sent when one is started.' }

function nextTurn({ workersAlive, throughRedis }: EmailLocation): Next {
  if (!workersAlive) return NO_WORKER
  return throughRedis
    ? {
        step: 'turn-redis',
        text: 'It is sent when its turn comes, through Redis; email-gateway doctor shows whether Redis answers.',
      }
    : { step: 'turn', text: 'It is sent when its turn comes.' }
}

const becomesReady = (at: string): Next => ({ step: 'due', text: 'It becomes ready then.', at })

function describeRetry(email: EmailSummary, location: EmailLocation): StatusText {
  const { queuePosition, inFlight } = location
  const free = reasonWithoutAttempt(email)
  // With the policy persistent an e-mail expires before its attempts are used up.
  const isPersistent = email.maxAttempts >= maxAttempts('persistent')
  const until = isPersistent ? ` (repeated until it expires at ${email.expiresAt})` : ` of ${email.maxAttempts}`
  const which = `Attempt ${email.attempts + 1}${until}`
  const because = free ?? (email.lastError ? ` because ${describeLastError(email)}` : '')
  if (!queuePosition && !inFlight && email.nextAttemptAt)
    return statusText(`${which}${at(email.nextAttemptAt)}${because}.`, becomesReady(email.nextAttemptAt))
  const stopped = describeHold(location) ?? describeInFlight(location)
  if (stopped) return { ...stopped, summary: `${stopped.summary} ${which} is due${because}.` }
  if (!queuePosition) return statusText(`${which}${because}.`, { step: 'soon', text: 'It follows within seconds.' })
  return statusText(`${which} is due${because}: ${describePosition(queuePosition)}.`, nextTurn(location))
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
    return statusText(
      `Not sent.${because}`,
      resend(location, 'resend-unsuppressed', 'once the address is no longer suppressed'),
    )
  const how = {
    REJECTED: 'Refused by the provider.',
    FAILED: 'Given up: it can never be sent as it is.',
    DLQ: `Given up after ${email.attempts} ${email.attempts === 1 ? 'attempt' : 'attempts'}.`,
  }[email.status as 'REJECTED' | 'FAILED' | 'DLQ']
  const text = 'It is in the dead letter queue and can be replayed once the cause is fixed.'
  return statusText(`${how}${because}`, replay(location, { step: 'replay', text }))
}

const resend = ({ contentGone }: EmailLocation, step: NextStep, when: string): Next | null =>
  contentGone ? null : { step, text: `It can be sent again (resend) ${when}.` }

const replay = ({ contentGone }: EmailLocation, next: Next): Next =>
  contentGone ? { step: 'purged', text: 'Its content was purged, so it can no longer be replayed.' } : next

export function describeProcessing(
  { provider, attempts, maxAttempts }: EmailSummary,
  location: EmailLocation,
): StatusText {
  const by = provider ? ` by ${provider}` : ''
  const lost = whyLost(location)
  if (!lost)
    return statusText(`Being sent${by}: attempt ${attempts} of ${maxAttempts} is under way.`, {
      step: 'answer',
      text: 'The provider answers, or the attempt times out after 30 seconds.',
    })
  return statusText(`Attempt ${attempts} of ${maxAttempts}${by} was begun, and its worker is lost: ${lost}.`, {
    step: 'lost',
    text: 'It becomes UNKNOWN when a running worker returns the lease; then evidence or its onUnknown policy decides: sent again, or held.',
  })
}

export function describeSent(email: EmailSummary, location: EmailLocation): StatusText {
  const { provider, sentAt, messageId } = email
  return statusText(
    `Accepted by ${provider ?? 'the provider'}${at(sentAt)}${messageId ? ` as ${messageId}` : ''}${othersBounced(location)}.${maybeTwice(location)}`,
    afterSent(email, location),
  )
}

export const maybeTwice = ({ sentAgain }: EmailLocation) =>
  sentAgain ? ' An attempt before had an unknown outcome and it was sent again, so it may have arrived twice.' : ''

function afterSent({ provider }: EmailSummary, { eventsExpected }: EmailLocation): Next {
  if (eventsExpected)
    return { step: 'report', text: 'Delivery, bounce or complaint is recorded when the provider reports it.' }
  const name = provider ?? 'the provider'
  const why = isSilent(provider) ? `${name} reports nothing more` : `events of ${name} are not set up`
  return { step: 'no-report', text: `SENT is its last status: ${why}.` }
}

/** Providers that report nothing after their answer. */
const isSilent = (provider: string | null) => provider === 'smtp' || provider === 'capture'

const UNKNOWN_REASONS: Record<string, string> = {
  TIMEOUT: 'did not answer in time after the message had left',
  CONNECTION_LOST: 'closed the connection after the message had left',
  WORKER_LOST: 'was being called when the worker was lost',
  NO_ANSWER: 'could not be reached when the call was repeated',
  RECIPIENT_SUPPRESSED:
    'is not called again, because a recipient is suppressed by now and the repeated call could be the first delivery',
  PROVIDER_UNAVAILABLE: 'is parked or no longer configured, so the call cannot be repeated',
}

export function describeUnknown({ unknown: unknownSend, eventsExpected }: EmailLocation): StatusText {
  if (!unknownSend)
    return statusText('The connection ended after the message had left: whether the provider took it is not known.', {
      step: 'decide',
      text: 'A provider event, the idempotency key or the onUnknown policy decides.',
    })
  const { provider, reason, since, resolveAt, onUnknown } = unknownSend
  return statusText(
    `Not known whether it was sent: ${provider} ${UNKNOWN_REASONS[reason] ?? 'did not answer'} (${since}).`,
    { ...afterUnknown(onUnknown, eventsExpected, resolveAt), at: resolveAt },
  )
}

const RESOLVE = 'email-gateway email resolve'

function afterUnknown(onUnknown: 'resend' | 'hold', eventsExpected: boolean, at: string): Next {
  if (onUnknown === 'hold')
    return eventsExpected
      ? {
          step: 'hold',
          text: `A provider event moves it, or an operator (${RESOLVE}); at ${at} it is looked at again, and never sent twice.`,
        }
      : {
          step: 'resolve',
          text: `No provider event will come: an operator moves it (${RESOLVE}); at ${at} it is looked at again, and never sent twice.`,
        }
  return eventsExpected
    ? { step: 'unless-reported', text: `A provider event settles it; without one, it is tried again at ${at}.` }
    : {
        step: 'unless-resolved',
        text: `It is tried again at ${at}, unless an operator says before that it was sent (${RESOLVE}).`,
      }
}

/** How many e-mails of its company go before it, and how many companies share the capacity. */
export type QueuePosition = {
  ahead: number
  companies: number
  paused: boolean
  pauseReason: string | null
}

type ParkedProvider = { provider: string; since: string; code: string; reason: string; probeAt: string }

/** Facts from other tables than the e-mail's own row. Null: does not apply. */
export type EmailLocation = {
  queuePosition: QueuePosition | null
  /** work: a worker has claimed it. dispatch: it is in the BullMQ queue. silent: that worker has sent no heartbeat for 15 seconds. */
  inFlight: { kind: 'work' | 'dispatch'; holder: string; expired: boolean; silent: boolean } | null
  unknown: { reason: string; provider: string; since: string; resolveAt: string; onUnknown: 'resend' | 'hold' } | null
  /** Every provider in use is parked. */
  parked: ParkedProvider[] | null
  contentGone: boolean
  workersAlive: boolean
  /** The workers get their mail through Redis. */
  throughRedis: boolean
  /** Whether anything will be reported about it: SMTP and capture report nothing, SES and Resend only if that is set up. */
  eventsExpected: boolean
  /** An attempt of unknown outcome was followed by another one. */
  sentAgain: boolean
  /** Recipients that bounced or were refused, of so many. The status of the e-mail is that of its `to`. */
  recipients: { bounced: number; of: number }
}

/** `; 2 of its 4 recipients bounced`, where the status does not say it. */
export function othersBounced({ recipients: { bounced, of } }: EmailLocation): string {
  return bounced > 0 && bounced < of ? `; ${bounced} of its ${of} recipients bounced` : ''
}

export type StatusText = Pick<Explanation, 'summary' | 'next' | 'nextStep' | 'nextAt'>

export type Next = { step: NextStep; text: string; at?: string }

export const statusText = (summary: string, next: Next | null): StatusText => ({
  summary,
  next: next?.text ?? null,
  nextStep: next?.step ?? null,
  nextAt: next?.at ?? null,
})

export const at = (time: string | null) => (time ? ` at ${time}` : '')

/** Why nobody works on what is claimed; null: somebody does. */
export function whyLost({ inFlight, workersAlive }: EmailLocation): string | null {
  if (!workersAlive) return 'no worker is running'
  if (inFlight?.expired) return 'its lease has expired'
  return inFlight?.silent ? 'it has not been heard of for 15 seconds' : null
}
