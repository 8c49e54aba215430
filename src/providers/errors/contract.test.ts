import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../settings/settings.ts'
import { RESEND_ERRORS } from '../resend/errors.ts'
import { SES_ERRORS } from '../ses/errors.ts'
import { classifyProviderError } from './classify.ts'
import { GATEWAY_ERRORS, isRetryableError, PERMANENT_ERRORS, RETRYABLE_ERRORS } from './contract.ts'
import { NETWORK_ERRORS } from './network.ts'

test('the lists are the published ones', () => {
  expect(RETRYABLE_ERRORS).toEqual(['421', '450', '451', '452', 'Throttling', 'ServiceUnavailable'])
  expect(PERMANENT_ERRORS).toEqual(['500', '550', '554', 'MessageRejected', 'MailFromDomainNotVerified'])
})

test.each(RETRYABLE_ERRORS)('%s is worth a retry', code => {
  expect(isRetryableError(code)).toBe(true)
})

test.each(PERMANENT_ERRORS)('%s is not', code => {
  expect(isRetryableError(code)).toBe(false)
})

test.each([
  ['4.7.0', true],
  ['5.1.1', false],
  ['550 5.1.1 user unknown', false],
  ['550-5.1.1 The email account does not exist', false],
  ['452 4.2.2 mailbox full', true],
  ['550 4.7.0 the enhanced status decides', true],
  ['421 5.7.1 the enhanced status decides', false],
  ['499', true],
  ['599', false],
  ['SMTP 550: Mailbox not found', false],
  ['SMTP Error 421: Connection timeout', true],
  ['smtp; 550 5.1.1 user unknown', false],
  ['AWS.SimpleEmailService.Throttling', true],
  ['com.amazonaws.ses#MessageRejected', false],
  ['TooManyRequestsException', true],
  ['AccountSendingPausedException', false],
  ['DailyQuotaExceeded', true],
  ['NetworkingError', true],
  ['RequestTimeout', true],
  ['rate_limit_exceeded', true],
  ['validation_error', false],
  ['ECONNRESET', true],
  ['SES_THROTTLING', true],
  ['SES_MESSAGE_REJECTED', false],
  ['RESEND_TIMEOUT', true],
  ['SMTP_PERMANENT_FAILURE', false],
  ['SES_HTTP_503', true],
  ['RESEND_HTTP_418', false],
])('isRetryableError(%j) is %s', (code, expected) => {
  expect(isRetryableError(code)).toBe(expected)
})

test('an unknown code is retried, since the attempts are few and a lost e-mail is lost', () => {
  for (const code of ['SomethingNew', 'constructor', '__proto__', '12345', '55000'])
    expect(isRetryableError(code)).toBe(true)
})

test('without a code there is no error to retry', () => {
  expect(isRetryableError(undefined)).toBe(false)
  expect(isRetryableError('')).toBe(false)
})

test('errors that the gateway itself detects are never retried', () => {
  for (const [code, rule] of Object.entries(GATEWAY_ERRORS)) {
    expect(rule.code).toBe(code)
    expect(isRetryableError(code)).toBe(false)
  }
})

test('a reported name and the gateway’s code for it agree about retrying', () => {
  const names = [...SES_ERRORS, ...RESEND_ERRORS, ...NETWORK_ERRORS].map(([name]) => name)
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.constantFrom(...PROVIDER_NAMES), (name, provider) => {
      const { code, retryable } = classifyProviderError({ provider, name })
      expect(isRetryableError(name)).toBe(retryable)
      expect(isRetryableError(code)).toBe(retryable)
    }),
    { numRuns: 1000 },
  )
})
