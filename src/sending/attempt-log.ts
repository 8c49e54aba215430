import type { Logger } from 'pino'
import type { EmailStatus } from '../contracts/states.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import type { AttemptFacts, FailureFacts, Outcome } from './outcome.ts'

type Named = { outboxId: string; companyId: string }

/** What attempts tell the log, in seed 000's and 002's fields. */
export type AttemptLog = {
  settled(email: EmailToSend, provider: string | null, outcome: Outcome, facts: AttemptFacts): void
  elsewhere(hand: Named): void
  late(hand: Named, status: EmailStatus): void
  leaseLost(hand: Named): void
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
    elsewhere: hand => log.debug(named(hand), 'Not ours to send: it has ended, or is in another worker’s hands'),
    late: (hand, state) =>
      log.warn({ ...named(hand), state }, 'The answer came after the lease had ended, and settled it'),
    leaseLost: hand => log.warn(named(hand), 'Lease lost: the e-mail went on without this worker'),
  }
}

const LEVELS = {
  sent: 'info',
  retry: 'warn',
  dead: 'error',
  unknown: 'warn',
  parked: 'warn',
  postponed: 'warn',
  unasked: 'warn',
  suppressed: 'warn',
  expired: 'warn',
} as const satisfies Record<Outcome['kind'], string>

type LogLine = { message: string; state: string; [field: string]: unknown }

function logLine(outcome: Outcome): LogLine {
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
      return { message: 'Whether the provider took it is not known', state: 'UNKNOWN', ...error }
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
    case 'unasked':
      return { message: 'The provider that could tell is parked or gone', state: 'UNKNOWN' }
    case 'suppressed':
      return { message: 'The recipient was suppressed meanwhile', state: 'REJECTED' }
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
