import { describe, expect, test } from 'vitest'
import { RESEND_ERRORS } from '../resend/errors.ts'
import { classifyProviderError } from './classify.ts'

const ses = (name: string) => classifyProviderError({ provider: 'ses', name })
const network = (networkCode: string) => classifyProviderError({ provider: 'ses', networkCode })

describe('SMTP', () => {
  test.each(['421 busy', '450 4.2.0 greylisted', '451 4.7.1 try later', '452 4.2.2 full'])(
    '%s is deferred',
    message => {
      expect(classifyProviderError({ provider: 'smtp', message })).toMatchObject({ deferred: true, retryable: true })
    },
  )

  test('a permanent refusal, and an HTTP response, are not', () => {
    expect(classifyProviderError({ provider: 'smtp', message: '550 5.1.1 unknown' }).deferred).toBe(false)
    expect(ses('ServiceUnavailable').deferred).toBe(false)
    expect(network('ECONNREFUSED').deferred).toBe(false)
  })

  test('the reply of the server is used before the code of the library', () => {
    const failure = classifyProviderError({
      provider: 'smtp',
      networkCode: 'EENVELOPE',
      smtpCode: 450,
      enhancedStatus: '4.2.2',
    })
    expect(failure).toMatchObject({ code: 'SMTP_MAILBOX_FULL_FOR_NOW', retryable: true, originalCode: '450 4.2.2' })
  })

  test('a reply that is only in the message is read from there', () => {
    const failure = classifyProviderError({ provider: 'smtp', name: 'Error', message: '550 5.1.1 <ana@x.com> unknown' })
    expect(failure).toMatchObject({ code: 'SMTP_MAILBOX_NOT_FOUND', originalCode: '550 5.1.1' })
    expect(failure.message).toBe('550 5.1.1 <a***@x***.com> unknown')
  })
})

describe('Resend', () => {
  test('every name of the SDK is known', () => {
    const names =
      'invalid_idempotency_key validation_error missing_api_key restricted_api_key invalid_api_key not_found ' +
      'method_not_allowed invalid_idempotent_request concurrent_idempotent_requests invalid_attachment ' +
      'invalid_from_address invalid_access invalid_parameter invalid_region missing_required_field ' +
      'monthly_quota_exceeded daily_quota_exceeded rate_limit_exceeded security_error application_error internal_server_error'
    expect(RESEND_ERRORS.map(([name]) => name)).toEqual(names.split(' '))
  })

  test('a connection that the SDK lost is ambiguous, an error that Resend answered is not', () => {
    const error = { provider: 'resend', name: 'application_error' } as const
    expect(classifyProviderError({ ...error, message: 'Unable to fetch data. …' }).ambiguous).toBe(true)
    expect(classifyProviderError({ ...error, statusCode: 500 }).ambiguous).toBe(false)
  })
})
