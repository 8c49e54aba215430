import type { EmailSummary, Explanation } from './email-view.ts'
import { maxAttempts } from './retry.ts'

/** Its place in line. */
export type Standing = { ahead: number; companies: number; paused: boolean; pauseReason: string | null }

export type ParkedProvider = { provider: string; since: string; code: string; reason: string; probeAt: string }

/** What the e-mail's own row does not tell. Null: not so. */
export type EmailLocation = {
  standing: Standing | null
  /** work: a worker has it. dispatch: it is on the queue for the workers. */
  inFlight: { kind: 'work' | 'dispatch'; holder: string } | null
  unknown: { reason: string; provider: string; since: string; resolveAt: string; onUnknown: 'resend' | 'hold' } | null
  /** Every provider in use is parked. */
  parked: ParkedProvider[] | null
  /** The content was purged or erased. */
  contentGone: boolean
}

type Told = Pick<Explanation, 'summary' | 'next' | 'nextAt'>

/** Where it is, why, what happens next and when, for people who were asked. */
export function explainEmail(email: EmailSummary, location: EmailLocation): Explanation {
  const { outboxId, status, attempts, maxAttempts, lastError } = email
  const { standing, parked } = location
  return {
    outboxId,
    status,
    ...tell(email, location),
    aheadInCompany: standing?.ahead ?? null,
    companiesSharing: standing?.companies ?? null,
    parkedProviders: parked?.map(one => one.provider) ?? null,
    attempts,
    maxAttempts,
    lastError,
  }
}

function tell(email: EmailSummary, location: EmailLocation): Told {
  switch (email.status) {
    case 'PENDING':
      return waiting(email, location)
    case 'PROCESSING':
      return told(
        `Being sent${email.provider ? ` by ${email.provider}` : ''}: attempt ${email.attempts} of ${email.maxAttempts} is under way.`,
        'The provider answers, or the attempt times out after 30 seconds.',
      )
    case 'RETRY_SCHEDULED':
      return retrying(email, location)
    case 'UNKNOWN':
      return unknown(location.unknown)
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
      return told(
        'Not sent within 24 hours of its due time, so it was given up.',
        replay(location, 'It can be replayed.'),
      )
    case 'REJECTED':
    case 'FAILED':
    case 'DLQ':
      return dead(email, location)
  }
}

const at = (time: string | null) => (time ? ` at ${time}` : '')

const told = (summary: string, next: string | null, nextAt: string | null = null): Told => ({ summary, next, nextAt })

/** What holds it back, whatever its own state. */
function held({ standing, parked }: EmailLocation): Told | null {
  if (standing?.paused) {
    const because = standing.pauseReason ? ` (${standing.pauseReason})` : ''
    return told(`Held: the company is paused${because}.`, 'It is sent when an administrator resumes the company.')
  }
  if (!parked?.[0]) return null
  const all = parked.map(
    one => `provider ${one.provider} parked since ${one.since} because of ${one.code}: ${bare(one.reason)}`,
  )
  const probeAt = parked.map(one => one.probeAt).sort()[0]!
  return told(`Held: ${all.join('; ')}. No attempt is spent.`, `One e-mail tries again at ${probeAt}.`, probeAt)
}

function waiting(email: EmailSummary, location: EmailLocation): Told {
  const { standing, inFlight } = location
  if (!standing && !inFlight && email.nextAttemptAt)
    return told(`Scheduled for ${email.nextAttemptAt}.`, 'It joins the line then.', email.nextAttemptAt)
  return (
    held(location) ??
    handed(inFlight) ??
    (standing
      ? told(`Waiting for its turn: ${inLine(standing)}.`, 'It is sent when its turn comes.')
      : told('Waiting to join the line.', 'It is picked up within seconds.'))
  )
}

function handed(inFlight: EmailLocation['inFlight']): Told | null {
  if (!inFlight) return null
  if (inFlight.kind === 'dispatch') return told('On the queue: its turn has come.', 'The next free worker sends it.')
  return told(`In the hands of worker ${inFlight.holder}, about to be sent.`, 'It is sent within moments.')
}

const DOUBT: Record<string, string> = {
  TIMEOUT: 'did not answer in time after the message had left',
  CONNECTION_LOST: 'hung up after the message had left',
  WORKER_LOST: 'was being called when the worker was lost',
  NO_ANSWER: 'could not be asked what became of it',
  PROVIDER_UNAVAILABLE: 'is parked or gone, so it cannot be asked what became of it',
}

function unknown(doubt: EmailLocation['unknown']): Told {
  if (!doubt)
    return told(
      'The connection ended after the message had left: whether the provider took it is not known.',
      'A provider event, the idempotency key or the onUnknown policy decides.',
    )
  const { provider, reason, since, resolveAt, onUnknown } = doubt
  return told(
    `Not known whether it was sent: ${provider} ${DOUBT[reason] ?? 'did not answer'} (${since}).`,
    onUnknown === 'hold'
      ? `Only a provider event moves it; at ${resolveAt} it is looked at again, and never sent twice.`
      : `A provider event settles it; without one, it is tried again at ${resolveAt}.`,
    resolveAt,
  )
}

function inLine({ ahead, companies }: Standing): string {
  const before = ahead > 1000 ? 'more than 1000' : String(ahead)
  return `${before} of this company before it, ${companies} ${companies === 1 ? 'company' : 'companies'} sharing`
}

/** "retry 3 of 5": the first attempt is not a retry, but people count the attempts. */
function retrying(email: EmailSummary, location: EmailLocation): Told {
  const { standing, inFlight } = location
  const free = spentNone(email)
  // Of a persistent e-mail not the attempts come to an end but its time.
  const many = email.maxAttempts >= maxAttempts('persistent')
  const until = many ? ` (repeated until it expires at ${email.expiresAt})` : ` of ${email.maxAttempts}`
  const which = `${free ? 'Attempt' : 'Retry'} ${email.attempts + 1}${until}`
  const because = free ?? (email.lastError ? ` because ${whoAnswered(email)}` : '')
  if (!standing && !inFlight && email.nextAttemptAt)
    return told(`${which}${at(email.nextAttemptAt)}${because}.`, 'It joins the line then.', email.nextAttemptAt)
  const stopped = held(location) ?? handed(inFlight)
  if (stopped) return { ...stopped, summary: `${stopped.summary} ${which} is due${because}.` }
  if (!standing) return told(`${which}${because}.`, 'It follows within seconds.')
  return told(`${which} is due${because}: ${inLine(standing)}.`, 'It is sent when its turn comes.')
}

/** Why it waits, where the last attempt was given back. */
function spentNone({ provider, lastError }: EmailSummary): string | null {
  if (!lastError) return null
  const { code, category, message } = lastError
  const who = provider ?? 'the provider'
  const said = `(${code}: ${bare(message)}), which spends no attempt`
  // 4.7.28 of an SMTP server is about one recipient's domain, and is retried like any other 4xx.
  if (category === 'QUOTA_ERROR' && code !== 'SMTP_RATE_LIMITED') return ` because ${who} limits its send rate ${said}`
  return code === 'NETWORK_ERROR' ? ` because there was no connection to ${who} ${said}` : null
}

function whoAnswered({ provider, lastError }: EmailSummary): string {
  const { code, message } = lastError!
  return `${provider ?? 'the gateway'} answered ${code}: ${bare(message)}`
}

/** Providers end their sentences or not; ours goes on behind it. */
const bare = (message: string) => message.replace(/[.\s]+$/, '')

function dead(email: EmailSummary, location: EmailLocation): Told {
  const because = email.lastError ? ` ${email.lastError.code}: ${bare(email.lastError.message)}.` : ''
  if (email.lastError?.code === 'RECIPIENT_SUPPRESSED') return told(`Not sent.${because}`, null)
  const how = {
    REJECTED: 'Refused by the provider.',
    FAILED: 'Given up: it can never be sent as it is.',
    DLQ: `Given up after ${email.attempts} attempts.`,
  }[email.status as 'REJECTED' | 'FAILED' | 'DLQ']
  const next = 'It is in the dead letter queue and can be replayed once the cause is mended.'
  return told(`${how}${because}`, replay(location, next))
}

const replay = ({ contentGone }: EmailLocation, next: string) =>
  contentGone ? 'Its content was purged, so it can no longer be replayed.' : next
