import { expect, test } from 'vitest'
import { ERROR_CODES, GATEWAY_ERRORS, vocabularyOf } from './contract.ts'

test.each([
  'SES_MESSAGE_REJECTED',
  'NETWORK_ERROR',
  'SMTP_TIMEOUT',
  'SMTP_MAILBOX_NOT_FOUND',
  'RESEND_HTTP_418',
  'REJECT',
  'WORKER_LOST',
  'PROVIDER_PAUSED',
])('%s is a code of the gateway', code => expect(vocabularyOf(code)).toBe('own'))

test.each([
  'MessageRejected',
  'rate_limit_exceeded',
  'ECONNREFUSED',
  '550',
  '550 5.1.1',
  '5.1.1',
  'com.amazonaws#Throttling',
])('%s is a code of a provider', code => expect(vocabularyOf(code)).toBe('provider'))

test.each(['', 'nonsense', 'SES_MESAGE_REJECTED', '200', '5500', 'ses_message_rejected'])('%j is neither', code =>
  expect(vocabularyOf(code)).toBeNull(),
)

test('every code of the gateway itself is among them', () => {
  expect(ERROR_CODES).toEqual(expect.arrayContaining(Object.keys(GATEWAY_ERRORS)))
  expect(ERROR_CODES.every(code => /^[A-Z0-9_]+$/.test(code))).toBe(true)
})
