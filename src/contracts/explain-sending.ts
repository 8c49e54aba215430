import type { EmailSummary } from './email-view.ts'
import {
  at,
  type EmailLocation,
  type Next,
  othersBounced,
  type StatusText,
  statusText,
  whyLost,
} from './explain-text.ts'

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
