import type { EmailToSend } from '../db/outbox/load.ts'
import type { OutgoingMessage, Provider, SendResult } from '../providers/provider.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { AttemptLog } from './attempt-log.ts'
import type { ClaimedEmail } from './lane.ts'
import { attemptNumber, type Outcome } from './outcome.ts'

type Ended = { outcome: Outcome; call: { provider: string } | null }

/** What logs and traces see of an attempt. */
export type AttemptObserver = {
  /** The whole attempt. `work` gets the e-mail with the span that its call belongs to. */
  attempt<T extends Ended>(claimed: ClaimedEmail, work: (claimed: ClaimedEmail) => Promise<T>): Promise<T>
  /** The call of the provider, after SENT_ATTEMPT is committed. */
  call(
    sent: { email: EmailToSend; provider: Provider; message: OutgoingMessage },
    work: () => Promise<SendResult>,
  ): Promise<SendResult>
}

export function observeAttempts(tracing: Tracing, log: Pick<AttemptLog, 'started'>): AttemptObserver {
  return {
    attempt(claimed, work) {
      const attempt = (own: string | null) => work(own ? under(own, claimed) : claimed)
      return tracing.traced('attempt', claimed.email?.traceparent, attempt, ended => describe(claimed, ended))
    },
    call({ email, provider, message }, work) {
      log.started(email, provider.name)
      return tracing.traced('provider call', email.traceparent, work, ({ kind }) => ({
        provider: provider.name,
        attemptId: message.attemptId,
        outcome: kind,
      }))
    },
  }
}

function under(traceparent: string, claimed: ClaimedEmail): ClaimedEmail {
  return { ...claimed, email: claimed.email && { ...claimed.email, traceparent } }
}

function describe({ outboxId, companyId, email }: ClaimedEmail, { outcome, call }: Ended) {
  return {
    outboxId,
    companyId,
    attempt: email && attemptNumber(email),
    provider: call?.provider,
    outcome: outcome.kind,
    errorCode: 'failure' in outcome ? outcome.failure.code : null,
  }
}
