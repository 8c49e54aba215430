import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../settings/settings.ts'
import { classifyProviderError } from './classify.ts'

const ses = (name: string, message?: string) => classifyProviderError({ provider: 'ses', name, message })

describe('the SES errors of the published contract', () => {
  test.each([
    ['MessageRejected', 'SES_MESSAGE_REJECTED', 'PERMANENT_ERROR', false],
    ['MailFromDomainNotVerified', 'SES_MAIL_FROM_DOMAIN_NOT_VERIFIED', 'CONFIGURATION_ERROR', false],
    ['ConfigurationSetDoesNotExist', 'SES_CONFIGURATION_SET_DOES_NOT_EXIST', 'CONFIGURATION_ERROR', false],
    ['AccountSendingPausedException', 'SES_ACCOUNT_SENDING_PAUSED', 'PERMANENT_ERROR', false],
    ['Throttling', 'SES_THROTTLING', 'QUOTA_ERROR', true],
    ['MaxSendRateExceeded', 'SES_MAX_SEND_RATE_EXCEEDED', 'QUOTA_ERROR', true],
    ['DailyQuotaExceeded', 'SES_DAILY_QUOTA_EXCEEDED', 'QUOTA_ERROR', true],
    ['ServiceUnavailable', 'SES_SERVICE_UNAVAILABLE', 'TRANSIENT_ERROR', true],
    ['RequestTimeout', 'SES_TIMEOUT', 'TIMEOUT_ERROR', true],
    ['NetworkingError', 'NETWORK_ERROR', 'TRANSIENT_ERROR', true],
  ])('%s → %s, %s, retryable: %s', (name, code, category, retryable) => {
    expect(ses(name)).toMatchObject({ code, category, retryable, originalCode: name })
  })
})

describe('quota, pause and credentials', () => {
  test.each([
    'DailyQuotaExceeded LimitExceededException AccountSendingPausedException SendingPausedException',
    'AccountSuspendedException AccessDenied AccessDeniedException InvalidClientTokenId SignatureDoesNotMatch',
    'ExpiredToken ExpiredTokenException UnrecognizedClientException CredentialsProviderError',
    'daily_quota_exceeded monthly_quota_exceeded missing_api_key invalid_api_key restricted_api_key',
    'CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT EAUTH',
  ])('open the breaker: %s', names => {
    for (const name of names.split(' ')) expect(ses(name), name).toMatchObject({ openBreaker: true, ambiguous: false })
  })

  test('do not when it is only the rate, or only this e-mail', () => {
    for (const name of ['Throttling', 'TooManyRequestsException', 'MessageRejected', 'rate_limit_exceeded']) {
      expect(ses(name).openBreaker, name).toBe(false)
    }
  })

  test('are distinguished by the message where SES has one name for two limits', () => {
    for (const name of ['Throttling', 'ThrottlingException', 'TooManyRequestsException']) {
      expect(ses(name, 'Daily message quota exceeded.')).toMatchObject({
        code: 'SES_DAILY_QUOTA_EXCEEDED',
        openBreaker: true,
      })
      expect(ses(name, 'Maximum sending rate exceeded.')).toMatchObject({
        code: 'SES_THROTTLING',
        openBreaker: false,
      })
    }
    expect(ses('MessageRejected', 'Sending paused for this account.').code).toBe('SES_ACCOUNT_SENDING_PAUSED')
    const smtp = { provider: 'smtp', smtpCode: 454 } as const
    const classify = (message: string) => classifyProviderError({ ...smtp, message })
    expect(classify('454 Throttling failure: Daily message quota exceeded')).toMatchObject({ openBreaker: true })
    expect(classify('454 Throttling failure: Maximum sending rate exceeded').code).toBe('SMTP_THROTTLING')
    expect(classify('454 4.7.0 Temporary authentication failure').code).toBe('SMTP_DEFERRED_BY_POLICY')
  })
})

describe('a limit of the send rate', () => {
  test.each([
    'Throttling MaxSendRateExceeded TooManyRequestsException ThrottlingException RequestThrottled SlowDown',
    'rate_limit_exceeded',
  ])('is recognised by %s', names => {
    for (const name of names.split(' '))
      expect(ses(name), name).toMatchObject({ throttled: true, retryable: true, openBreaker: false, ambiguous: false })
  })

  test('is recognised by a 429 without a name, and by an SMTP server that limits all mail', () => {
    expect(classifyProviderError({ provider: 'resend', statusCode: 429 }).throttled).toBe(true)
    const classify = (message: string) => classifyProviderError({ provider: 'smtp', message })
    expect(classify('454 Throttling failure: Maximum sending rate exceeded').throttled).toBe(true)
    expect(classify('421 4.7.28 rate limited').throttled).toBe(true)
    expect(classify('432 4.3.2 Concurrent connections limit exceeded')).toMatchObject({
      code: 'SMTP_THROTTLING',
      throttled: true,
      openBreaker: false,
    })
    expect(classify('432 Too many messages').throttled).toBe(true)
    expect(classify('432 4.7.12 A password transition is needed'), 'RFC 4954').toMatchObject({
      throttled: false,
      openBreaker: true,
    })
    expect(classify('450 4.7.28 too much mail for this domain'), 'one recipient’s').toMatchObject({
      throttled: false,
      deferred: true,
    })
  })

  test('is not a spent daily quota', () => {
    expect(ses('Throttling', 'Daily message quota exceeded.').throttled).toBe(false)
    expect(ses('daily_quota_exceeded').throttled).toBe(false)
  })
})

describe('the unknown', () => {
  test.each([
    [500, 'SES_HTTP_500', true],
    [503, 'SES_HTTP_503', true],
    [400, 'SES_HTTP_400', false],
    [422, 'SES_HTTP_422', false],
    [429, 'SES_RATE_LIMITED', true],
    [408, 'SES_TIMEOUT', true],
  ])('status %i is %s, retryable: %s', (statusCode, code, retryable) => {
    const failure = classifyProviderError({ provider: 'ses', name: 'NewException', statusCode, ownForm: true })
    expect(failure).toMatchObject({ code, retryable, originalCode: 'NewException', ambiguous: false })
  })

  test.each([408, 500, 502, 503, 504, 520])(
    'status %i that is not in the provider’s own form may come from a proxy that had passed the message on',
    statusCode => {
      const classify = (ownForm: boolean, name?: string) =>
        classifyProviderError({ provider: 'resend', statusCode, ownForm, name })
      expect(classify(false)).toMatchObject({ retryable: true, ambiguous: true })
      expect(classify(false, 'application_error'), 'a name proves nothing').toMatchObject({ ambiguous: true })
      expect(classify(true)).toMatchObject({ retryable: true, ambiguous: false })
      expect(classify(true, 'application_error')).toMatchObject({ retryable: true, ambiguous: false })
    },
  )

  test('status 401 means the credentials, and other 4xx are final, also from a proxy', () => {
    expect(classifyProviderError({ provider: 'resend', statusCode: 401 }).openBreaker).toBe(true)
    expect(classifyProviderError({ provider: 'resend', statusCode: 422, ownForm: false })).toMatchObject({
      retryable: false,
      ambiguous: false,
    })
  })

  test('an error without known fields is transient and ambiguous', () => {
    expect(classifyProviderError({ provider: 'ses' })).toEqual({
      code: 'SES_UNKNOWN_ERROR',
      category: 'TRANSIENT_ERROR',
      retryable: true,
      openBreaker: false,
      throttled: false,
      unconnected: false,
      deferred: false,
      ambiguous: true,
      originalCode: null,
      message: 'SES_UNKNOWN_ERROR',
    })
  })

  test('a blank code or name is ignored', () => {
    const failure = classifyProviderError({ provider: 'ses', networkCode: ' ', name: '\0', message: '\t' })
    expect(failure).toMatchObject({ originalCode: null, message: 'SES_UNKNOWN_ERROR' })
  })

  test('whatever comes in, a classified failure with a reason comes out', () => {
    const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
    const errors = fc.record({
      provider: fc.constantFrom(...PROVIDER_NAMES),
      name: maybe(fc.string()),
      statusCode: maybe(fc.integer({ min: 0, max: 999 })),
      smtpCode: maybe(fc.integer({ min: 0, max: 999 })),
      enhancedStatus: maybe(fc.string()),
      networkCode: maybe(fc.string()),
      message: maybe(fc.string()),
    })
    fc.assert(
      fc.property(errors, error => {
        const failure = classifyProviderError(error)
        expect(failure.message.trim()).not.toBe('')
        expect(failure.code).toMatch(/^[A-Z0-9_]+$/)
        expect(failure.originalCode).not.toBe('')
      }),
    )
  })

  test('a message of a megabyte is cut', () => {
    expect(classifyProviderError({ provider: 'smtp', message: 'x'.repeat(1e6) }).message).toHaveLength(1000)
  })
})
