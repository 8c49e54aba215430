import type { EmailSummary, Explanation, NextStep } from './email-view.ts'
import { describeProcessing, describeSent, describeUnknown, maybeTwice } from './explain-sending.ts'
import {
  at,
  type EmailLocation,
  type Next,
  othersBounced,
  type QueuePosition,
  type StatusText,
  statusText,
  whyLost,
} from './explain-text.ts'
import { maxAttempts } from './retry.ts'

export type { EmailLocation, QueuePosition } from './explain-text.ts'

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
