import type { Logger } from 'pino'
import { expect, test } from 'vitest'
import type { EmailToSend } from '../../outbox/load.ts'
import type { AttemptFacts } from '../settle/settlement-by-outcome.ts'
import { attemptLog } from './observe.ts'
import type { FailureFacts, SettledOutcome } from './outcome.ts'

const email = {
  ...{ outboxId: 'o', companyId: 'c', requestId: 'r', externalId: null, traceparent: null },
  ...{ recipients: [{ kind: 'to', address: 'joao@example.com' }], recipientRecord: null },
} as unknown as EmailToSend
const facts = { attempt: 5, maxAttempts: 5, durationMs: 12 } as AttemptFacts

function logged(outcome: SettledOutcome): Record<string, unknown> {
  let line: Record<string, unknown> = {}
  const keep = (fields: object, message: string) => {
    line = { ...fields, message }
  }
  const log = { isLevelEnabled: () => true, info: keep, warn: keep, error: keep, debug: keep }
  attemptLog(log as unknown as Logger).settled(email, outcome, facts)
  return line
}

const failure = (retryable: boolean): FailureFacts => ({
  ...{ code: 'SES_THROTTLING', originalCode: 'Throttling', category: 'QUOTA_ERROR', message: 'Too fast.', retryable },
})

test.each([true, false])('after the last attempt isRetryable is still about the error: %s', retryable => {
  expect(logged({ kind: 'dead', status: 'DLQ', failure: failure(retryable) })).toMatchObject({
    ...{ errorCode: 'SES_THROTTLING', providerCode: 'Throttling', errorReason: 'Too fast.', isRetryable: retryable },
  })
})

test('a validation that failed is not retryable and has no word of a provider', () => {
  const own = { code: 'INVALID_TEMPLATE', category: 'VALIDATION_ERROR', message: 'no content' }
  const line = logged({ kind: 'dead', status: 'FAILED', failure: own, validation: 'TEMPLATE' })
  expect(line).toMatchObject({ errorCode: 'INVALID_TEMPLATE', isRetryable: false })
  expect(line).not.toHaveProperty('providerCode')
})
