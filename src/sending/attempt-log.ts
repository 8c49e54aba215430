import type { Logger } from 'pino'
import type { EmailStatus } from '../contracts/states.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import type { FailureFacts, SettledOutcome } from './outcome.ts'
import type { AttemptFacts } from './partial-settlements.ts'

type Named = { outboxId: string; companyId: string }

/** The log lines of an attempt. Their field names are public. */
export type AttemptLog = {
  settled(email: EmailToSend, provider: string | null, outcome: SettledOutcome, facts: AttemptFacts): void
  notOurs(email: Named): void
  late(email: Named, status: EmailStatus): void
  leaseLost(email: Named): void
}

export function attemptLog(log: Logger): AttemptLog {
  const named = ({ outboxId, companyId }: Named) => ({ outboxId, jobId: outboxId, companyId })
  return {
    settled(email, provider, outcome, { attempt, maxAttempts, durationMs }) {
      const level = LEVELS[outcome.kind]
      if (!log.isLevelEnabled(level)) return
      const { message, ...own } = logLine(outcome)
      const { requestId } = email
      log[level]({ ...named(email), requestId, attempt, maxAttempts, provider, durationMs, ...own }, message)
    },
    notOurs: email => log.debug(named(email), 'Not sent: the e-mail has ended, or another worker has it'),
    late: (email, state) =>
      log.warn({ ...named(email), state }, 'The answer came after the lease had ended and resolved the unknown send'),
    leaseLost: email => log.warn(named(email), 'Lease lost: the answer of the provider changes nothing'),
  }
}

const LEVELS = {
  sent: 'info',
  retry: 'warn',
  dead: 'error',
  unknown: 'warn',
  parked: 'warn',
  postponed: 'warn',
  'cannot-ask': 'warn',
  suppressed: 'warn',
  expired: 'warn',
} as const satisfies Record<SettledOutcome['kind'], string>

type LogLine = { message: string; state: string; [field: string]: unknown }

function logLine(outcome: SettledOutcome): LogLine {
  switch (outcome.kind) {
    case 'sent':
      return { message: 'E-mail sent', state: 'SENT', messageId: outcome.messageId }
    case 'retry': {
      const error = { ...errorOf(outcome.failure), nextRetryDelay: outcome.delayMs }
      return { message: 'Attempt failed, retry scheduled', state: 'RETRY_SCHEDULED', ...error }
    }
    case 'dead': {
      const error = errorOf(outcome.failure)
      return { message: 'E-mail moved to the dead letter queue', state: outcome.status, ...error }
    }
    case 'unknown': {
      const error = { ...errorOf(outcome.failure), graceSeconds: outcome.graceSeconds }
      return { message: 'Unknown send: the request left and no answer came', state: 'UNKNOWN', ...error }
    }
    case 'parked':
      return {
        message: 'The provider is parked; the e-mail waits',
        state: 'PENDING',
        ...errorOf(outcome.failure),
      }
    case 'postponed': {
      const error = { ...errorOf(outcome.failure), nextRetryDelay: outcome.delayMs }
      const message =
        outcome.because === 'throttled'
          ? 'The provider limits its send rate; the e-mail waits and spends no attempt'
          : 'No connection to the provider; the e-mail waits and spends no attempt'
      return { message, state: 'RETRY_SCHEDULED', ...error }
    }
    case 'cannot-ask':
      return { message: 'Unknown send: the provider that could resolve it is parked or gone', state: 'UNKNOWN' }
    case 'suppressed':
      return { message: 'Recipient suppressed before the e-mail was sent', state: 'REJECTED' }
    case 'expired':
      return { message: 'E-mail expired', state: 'EXPIRED' }
  }
}

/** isRetryable is about the error: after the last attempt, too, it says whether another one could have helped. */
const errorOf = ({ code, message, originalCode, retryable = false }: FailureFacts) => ({
  errorCode: code,
  ...(originalCode && { providerCode: originalCode }),
  errorReason: message,
  isRetryable: retryable,
})
