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
    next: nextStep && NEXT[nextStep](nextAt, state.code, email),
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

const describeState = (state: EmailState, email: EmailSummary) =>
  (STATES[state.code] as (state: EmailState, email: EmailSummary) => string)(state, email)

type StateOf<Code, State = EmailState> = State extends { code: unknown }
  ? Code extends State['code']
    ? State
    : never
  : never

const STATES: { [Code in EmailState['code']]: (state: StateOf<Code>, email: EmailSummary) => string } = {
  scheduled: ({ at }) => `Scheduled for ${at}.`,
  paused: ({ reason }) => `Held: the company is paused${reason ? ` (${reason})` : ''}.`,
  parked: ({ providers }) => `Held: ${providers.map(describeParked).join('; ')}. No attempt is spent.`,
  'on-queue': () => 'On the queue: its turn has come.',
  claimed: ({ worker }) => `Claimed by worker ${worker}, about to be sent.`,
  'claim-lost': ({ worker, because }) => `Claimed by worker ${worker}, which is lost: ${LOST[because]}.`,
  turn: state => `Waiting for its turn: ${describePosition(state)}.`,
  'becoming-ready': () => 'Waiting to become ready.',
  attempt: (_, email) => `Being sent${by(email)}: attempt ${attemptOf(email)} is under way.`,
  'attempt-lost': ({ because }, email) =>
    `Attempt ${attemptOf(email)}${by(email)} was begun, and its worker is lost: ${LOST[because]}.`,
  unknown: ({ provider, reason, since }) =>
    `Not known whether it was sent: ${provider} ${UNKNOWN_REASONS[reason] ?? 'did not answer'} (${since}).`,
  'unknown-cause': () => 'The connection ended after the message had left: whether the provider took it is not known.',
  sent: (state, { provider, sentAt, messageId }) =>
    `Accepted by ${provider ?? 'the provider'}${at(sentAt)}${messageId ? ` as ${messageId}` : ''}${withBounces(state)}`,
  delivered: (state, { deliveredAt }) => `Delivered to the recipient's server${at(deliveredAt)}${withBounces(state)}`,
  complained: state => `The recipient reported it as spam${withBounces(state)}`,
  bounced: () => "The recipient's server returned it; the BOUNCE event has the diagnosis.",
  cancelled: () => 'Cancelled before it was sent.',
  expired: () => 'Not sent within 24 hours of its due time, so it was given up.',
  suppressed: (_, email) => `Not sent.${withError(email)}`,
  rejected: (_, email) => `Refused by the provider.${withError(email)}`,
  failed: (_, email) => `Given up: it can never be sent as it is.${withError(email)}`,
  exhausted: (_, email) =>
    `Given up after ${email.attempts} ${email.attempts === 1 ? 'attempt' : 'attempts'}.${withError(email)}`,
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

const NEXT: Record<NextStep, (time: string | null, state: EmailState['code'], email: EmailSummary) => string> = {
  resume: () => 'It is sent when an administrator resumes the company.',
  probe: time => `One e-mail tries again at ${time}.`,
  due: () => 'It becomes ready then.',
  turn: () => 'It is sent when its turn comes.',
  'turn-redis': () =>
    'It is sent when its turn comes, through Redis; email-gateway doctor shows whether Redis answers.',
  'no-worker': () => 'No worker is running: it is sent when one is started.',
  soon: (_, state, { status }) => {
    if (state === 'on-queue') return 'The next free worker sends it.'
    if (state === 'claimed') return 'It is sent within moments.'
    return status === 'RETRY_SCHEDULED' ? 'It follows within seconds.' : 'It is picked up within seconds.'
  },
  returned: () => 'It becomes ready again when a running worker returns the lease.',
  answer: () => 'The provider answers, or the attempt times out after 30 seconds.',
  lost: () =>
    'It becomes UNKNOWN when a running worker returns the lease; then evidence or its onUnknown policy decides: sent again, or held.',
  report: () => 'Delivery, bounce or complaint is recorded when the provider reports it.',
  'no-report': (_time, _state, { provider }) => {
    const why =
      provider === 'smtp' || provider === 'capture'
        ? `${provider} reports nothing more`
        : `events of ${provider ?? 'the provider'} are not set up`
    return `SENT is its last status: ${why}.`
  },
  decide: () => 'A provider event, the idempotency key or the onUnknown policy decides.',
  hold: time =>
    `A provider event moves it, or an operator (${RESOLVE}); at ${time} it is looked at again, and never sent twice.`,
  resolve: time =>
    `No provider event will come: an operator moves it (${RESOLVE}); at ${time} it is looked at again, and never sent twice.`,
  'unless-reported': time => `A provider event settles it; without one, it is tried again at ${time}.`,
  'unless-resolved': time =>
    `It is tried again at ${time}, unless an operator says before that it was sent (${RESOLVE}).`,
  resend: () => 'It can be sent again (resend) once the address works and is not suppressed.',
  'resend-unsuppressed': () => 'It can be sent again (resend) once the address is no longer suppressed.',
  replay: () => 'It is in the dead letter queue and can be replayed once the cause is fixed.',
  'replay-expired': () => 'It can be replayed.',
  purged: () => 'Its content was purged, so it can no longer be replayed.',
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

const describeParked = ({ provider, since, code, reason }: StateOf<'parked'>['providers'][number]) =>
  `provider ${provider} parked since ${since} because of ${code}: ${withoutFullStop(reason)}`

function describePosition({ ahead, companies }: { ahead: number; companies: number }): string {
  const before = ahead > 1000 ? 'more than 1000' : String(ahead)
  return `${before} of this company before it, ${companies} ${companies === 1 ? 'company' : 'companies'} sharing`
}

function withBounces({ othersBounced, sentAgain }: StateOf<'sent'>) {
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

const by = ({ provider }: EmailSummary) => (provider ? ` by ${provider}` : '')
const attemptOf = ({ attempts, maxAttempts }: EmailSummary) => `${attempts} of ${maxAttempts}`
const at = (time: string | null) => (time ? ` at ${time}` : '')
