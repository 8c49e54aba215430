import type { EmailSummary } from '../outbox/email-view.ts'
import {
  type EmailLocation,
  type EmailState,
  type Explanation,
  explainInCodes,
  type LostBecause,
  type NextStep,
  type Retry,
} from './explain.ts'

/** The explanation of an e-mail in English sentences. The admin UI has its own, in English and Portuguese. */
export function explainEmail(email: EmailSummary, location: EmailLocation): Explanation {
  const { outboxId, status, attempts, maxAttempts, lastError } = email
  const { queuePosition, parked } = location
  const { state, retry, nextStep, nextAt } = explainInCodes(email, location)
  return {
    outboxId,
    status,
    summary: retry ? describeRetry(retry, state, email) : describeState(state, email),
    next: nextStep && describeNext(nextStep, nextAt, state, email),
    nextStep,
    nextAt,
    aheadInCompany: queuePosition?.ahead ?? null,
    companiesSharing: queuePosition?.companies ?? null,
    pauseReason: queuePosition?.pauseReason ?? null,
    parkedProviders: parked?.map(one => one.provider) ?? null,
    attempts,
    maxAttempts,
    lastError,
  }
}

function describeState(state: EmailState, email: EmailSummary): string {
  const { provider, attempts, maxAttempts } = email
  const by = provider ? ` by ${provider}` : ''
  switch (state.code) {
    case 'scheduled':
      return `Scheduled for ${state.at}.`
    case 'paused':
      return `Held: the company is paused${state.reason ? ` (${state.reason})` : ''}.`
    case 'parked': {
      const all = state.providers.map(
        one =>
          `provider ${one.provider} parked since ${one.since} because of ${one.code}: ${withoutFullStop(one.reason)}`,
      )
      return `Held: ${all.join('; ')}. No attempt is spent.`
    }
    case 'on-queue':
      return 'On the queue: its turn has come.'
    case 'claimed':
      return `Claimed by worker ${state.worker}, about to be sent.`
    case 'claim-lost':
      return `Claimed by worker ${state.worker}, which is lost: ${LOST[state.because]}.`
    case 'turn':
      return `Waiting for its turn: ${describePosition(state)}.`
    case 'becoming-ready':
      return 'Waiting to become ready.'
    case 'attempt':
      return `Being sent${by}: attempt ${attempts} of ${maxAttempts} is under way.`
    case 'attempt-lost':
      return `Attempt ${attempts} of ${maxAttempts}${by} was begun, and its worker is lost: ${LOST[state.because]}.`
    case 'unknown':
      return `Not known whether it was sent: ${state.provider} ${UNKNOWN_REASONS[state.reason] ?? 'did not answer'} (${state.since}).`
    case 'unknown-cause':
      return 'The connection ended after the message had left: whether the provider took it is not known.'
    case 'sent': {
      const as = email.messageId ? ` as ${email.messageId}` : ''
      return `Accepted by ${provider ?? 'the provider'}${at(email.sentAt)}${as}${withBounces(state)}`
    }
    case 'delivered':
      return `Delivered to the recipient's server${at(email.deliveredAt)}${withBounces(state)}`
    case 'complained':
      return `The recipient reported it as spam${withBounces(state)}`
    case 'bounced':
      return "The recipient's server returned it; the BOUNCE event has the diagnosis."
    case 'cancelled':
      return 'Cancelled before it was sent.'
    case 'expired':
      return 'Not sent within 24 hours of its due time, so it was given up.'
    case 'suppressed':
      return `Not sent.${withError(email)}`
    case 'rejected':
      return `Refused by the provider.${withError(email)}`
    case 'failed':
      return `Given up: it can never be sent as it is.${withError(email)}`
    case 'exhausted':
      return `Given up after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}.${withError(email)}`
  }
}

function describeRetry({ attempt, of, because }: Retry, state: EmailState, email: EmailSummary): string {
  const until = of === null ? ` (repeated until it expires at ${email.expiresAt})` : ` of ${of}`
  const which = `Attempt ${attempt}${until}`
  const why = because ? describeBecause(because, email) : ''
  if (state.code === 'scheduled') return `${which} at ${state.at}${why}.`
  if (state.code === 'becoming-ready') return `${which}${why}.`
  if (state.code === 'turn') return `${which} is due${why}: ${describePosition(state)}.`
  return `${describeState(state, email)} ${which} is due${why}.`
}

function describeBecause(because: NonNullable<Retry['because']>, { provider, lastError }: EmailSummary): string {
  const error = describeError(lastError)
  if (because === 'failed') return ` because ${provider ?? 'the gateway'} answered ${error}`
  const who = provider ?? 'the provider'
  const what = because === 'throttled' ? `${who} limits its send rate` : `there was no connection to ${who}`
  return ` because ${what} (${error}), which spends no attempt`
}

const RESOLVE = 'email-gateway email resolve'

function describeNext(step: NextStep, time: string | null, { code }: EmailState, email: EmailSummary): string {
  switch (step) {
    case 'resume':
      return 'It is sent when an administrator resumes the company.'
    case 'probe':
      return `One e-mail tries again at ${time}.`
    case 'due':
      return 'It becomes ready then.'
    case 'turn':
      return 'It is sent when its turn comes.'
    case 'turn-redis':
      return 'It is sent when its turn comes, through Redis; email-gateway doctor shows whether Redis answers.'
    case 'no-worker':
      return 'No worker is running: it is sent when one is started.'
    case 'soon':
      if (code === 'on-queue') return 'The next free worker sends it.'
      if (code === 'claimed') return 'It is sent within moments.'
      return email.status === 'RETRY_SCHEDULED' ? 'It follows within seconds.' : 'It is picked up within seconds.'
    case 'returned':
      return 'It becomes ready again when a running worker returns the lease.'
    case 'answer':
      return 'The provider answers, or the attempt times out after 30 seconds.'
    case 'lost':
      return 'It becomes UNKNOWN when a running worker returns the lease; then evidence or its onUnknown policy decides: sent again, or held.'
    case 'report':
      return 'Delivery, bounce or complaint is recorded when the provider reports it.'
    case 'no-report': {
      const name = email.provider ?? 'the provider'
      // These two report nothing after their answer.
      const isSilent = name === 'smtp' || name === 'capture'
      return `SENT is its last status: ${isSilent ? `${name} reports nothing more` : `events of ${name} are not set up`}.`
    }
    case 'decide':
      return 'A provider event, the idempotency key or the onUnknown policy decides.'
    case 'hold':
      return `A provider event moves it, or an operator (${RESOLVE}); at ${time} it is looked at again, and never sent twice.`
    case 'resolve':
      return `No provider event will come: an operator moves it (${RESOLVE}); at ${time} it is looked at again, and never sent twice.`
    case 'unless-reported':
      return `A provider event settles it; without one, it is tried again at ${time}.`
    case 'unless-resolved':
      return `It is tried again at ${time}, unless an operator says before that it was sent (${RESOLVE}).`
    case 'resend':
      return 'It can be sent again (resend) once the address works and is not suppressed.'
    case 'resend-unsuppressed':
      return 'It can be sent again (resend) once the address is no longer suppressed.'
    case 'replay':
      return 'It is in the dead letter queue and can be replayed once the cause is fixed.'
    case 'replay-expired':
      return 'It can be replayed.'
    case 'purged':
      return 'Its content was purged, so it can no longer be replayed.'
  }
}

const LOST: Record<LostBecause, string> = {
  'no-worker': 'no worker is running',
  'lease-expired': 'its lease has expired',
  silent: 'it has not been heard of for 15 seconds',
}

const UNKNOWN_REASONS: Record<string, string> = {
  TIMEOUT: 'did not answer in time after the message had left',
  CONNECTION_LOST: 'closed the connection after the message had left',
  WORKER_LOST: 'was being called when the worker was lost',
  NO_ANSWER: 'could not be reached when the call was repeated',
  RECIPIENT_SUPPRESSED:
    'is not called again, because a recipient is suppressed by now and the repeated call could be the first delivery',
  PROVIDER_UNAVAILABLE: 'is parked or no longer configured, so the call cannot be repeated',
}

function describePosition({ ahead, companies }: { ahead: number; companies: number }): string {
  const before = ahead > 1000 ? 'more than 1000' : String(ahead)
  return `${before} of this company before it, ${companies} ${companies === 1 ? 'company' : 'companies'} sharing`
}

function withBounces({ othersBounced, sentAgain }: Extract<EmailState, { code: 'sent' | 'delivered' | 'complained' }>) {
  const others = othersBounced ? `; ${othersBounced.bounced} of its ${othersBounced.of} recipients bounced` : ''
  const twice = sentAgain
    ? ' An attempt before had an unknown outcome and it was sent again, so it may have arrived twice.'
    : ''
  return `${others}.${twice}`
}

const withError = ({ lastError }: EmailSummary) => (lastError ? ` ${describeError(lastError)}.` : '')

const describeError = (error: EmailSummary['lastError']) =>
  error ? `${error.code}: ${withoutFullStop(error.message)}` : ''

/** Some providers end their messages with a full stop; our sentence continues after it. */
const withoutFullStop = (message: string) => message.replace(/[.\s]+$/, '')

const at = (time: string | null) => (time ? ` at ${time}` : '')
