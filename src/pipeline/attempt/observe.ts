import type { Logger } from 'pino'
import type { EmailToSend } from '../../outbox/load.ts'
import type { EmailStatus } from '../../outbox/states.ts'
import {
  type EmailLine,
  type EmailLineFields,
  type EmailLog,
  makeEmailLog,
} from '../../platform/telemetry/email-log.ts'
import type { Tracing } from '../../platform/telemetry/tracing.ts'
import type { OutgoingMessage, Provider, SendResult } from '../../providers/provider.ts'
import type { ClaimedEmail } from '../lanes/lane.ts'
import type { AttemptFacts } from '../settle/settlement-by-outcome.ts'
import { attemptNumber, type FailureFacts, type Outcome, type SettledOutcome } from './outcome.ts'

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

type Named = { outboxId: string; companyId: string }

/** The log lines of an attempt. Their field names are public: docs/logs.md. */
export type AttemptLog = {
  started(email: EmailToSend, provider: string): void
  settled(email: EmailToSend, outcome: SettledOutcome, facts: AttemptFacts): void
  notOurs(email: Named): void
  late(email: EmailToSend, facts: AttemptFacts, state: EmailStatus): void
  leaseLost(email: EmailToSend, facts: AttemptFacts): void
}

export function attemptLog(log: Logger, emailLog: EmailLog = makeEmailLog(log)): AttemptLog {
  return {
    started(email, provider) {
      const attempt = attemptNumber(email)
      emailLog('started', email, { state: 'SENT_ATTEMPT', attempt, maxAttempts: email.maxAttempts, provider })
    },
    settled(email, outcome, facts) {
      const { line, ...own } = settledLine(outcome)
      emailLog(line, email, { ...attemptFields(facts), ...own })
    },
    // What was claimed and is not there any more is no line of an e-mail: nothing of it was read.
    notOurs: ({ outboxId, companyId }) =>
      log.debug(
        { outboxId, jobId: outboxId, companyId },
        'Not sent: the e-mail has ended, is not due yet, or another worker has it',
      ),
    late: (email, facts, state) => emailLog('late', email, { ...attemptFields(facts), state }),
    leaseLost: (email, facts) => emailLog('lease-lost', email, attemptFields(facts)),
  }
}

const attemptFields = ({ attempt, maxAttempts, provider, durationMs }: AttemptFacts) => ({
  attempt,
  maxAttempts,
  ...(provider !== undefined && { provider }),
  durationMs,
})

function settledLine(outcome: SettledOutcome): EmailLineFields & { line: EmailLine } {
  switch (outcome.kind) {
    case 'sent':
      return { line: 'sent', state: 'SENT', messageId: outcome.messageId }
    case 'retry':
      return {
        line: 'retry',
        state: 'RETRY_SCHEDULED',
        ...errorOf(outcome.failure),
        nextRetryDelay: outcome.delayMs,
      }
    case 'dead':
      return { line: 'dead', state: outcome.status, ...errorOf(outcome.failure) }
    case 'unknown':
      return {
        line: 'unknown',
        state: 'UNKNOWN',
        ...errorOf(outcome.failure),
        graceSeconds: outcome.graceSeconds,
      }
    case 'parked':
      return { line: 'parked', state: 'PENDING', ...errorOf(outcome.failure) }
    case 'postponed':
      return {
        line: outcome.because,
        state: 'RETRY_SCHEDULED',
        ...errorOf(outcome.failure),
        nextRetryDelay: outcome.delayMs,
      }
    case 'cannot-repeat':
      return {
        line: outcome.reason === 'RECIPIENT_SUPPRESSED' ? 'must-not-repeat' : 'cannot-repeat',
        state: 'UNKNOWN',
        provider: outcome.provider,
      }
    case 'suppressed':
      return { line: 'suppressed', state: 'REJECTED', errorCode: 'RECIPIENT_SUPPRESSED' }
    case 'expired':
      return { line: 'expired', state: 'EXPIRED', errorCode: 'EXPIRED' }
  }
}

/** isRetryable is about the error: after the last attempt, too, it says whether another one could have helped. */
const errorOf = ({ code, message, originalCode, retryable = false }: FailureFacts) => ({
  errorCode: code,
  ...(originalCode && { providerCode: originalCode }),
  errorReason: message,
  isRetryable: retryable,
})
