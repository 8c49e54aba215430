import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { classifyProviderError, PROVIDER_NAMES } from './classify.ts'
import { RESEND_ERRORS } from './resend.ts'

const ses = (name: string, message?: string) => classifyProviderError({ provider: 'ses', name, message })
const network = (networkCode: string, message?: string) =>
  classifyProviderError({ provider: 'ses', networkCode, message })

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

describe('a TLS error', () => {
  test.each([
    '80:error:0A00010B:SSL routines:ssl3_get_record:wrong version number',
    '80:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure',
    '80:error:0A0003FC:SSL routines:ssl3_read_bytes:sslv3 alert bad record mac',
  ])('%j: whether anything was sent depends on the state of the connection, not on the message', message => {
    for (const code of ['EPROTO', 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'ERR_SSL_WRONG_VERSION_NUMBER'])
      expect(network(code, message)).toMatchObject({ openBreaker: false, unconnected: false, ambiguous: true })
    expect(network('ERR_TLS_HANDSHAKE', message)).toMatchObject({ unconnected: true, ambiguous: false })
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

describe('the connection', () => {
  test.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])(
    'was never made: %s, and nothing has left',
    code => {
      const expected = { code: 'NETWORK_ERROR', retryable: true, unconnected: true, ambiguous: false }
      expect(network(code)).toMatchObject(expected)
    },
  )

  test.each([
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    'TimeoutError',
    'AbortError',
  ])('may have carried the e-mail: %s is ambiguous', code => {
    expect(network(code)).toMatchObject({ retryable: true, unconnected: false, ambiguous: true })
  })

  test.each([
    ['ETIMEDOUT', 'connect ETIMEDOUT 10.0.0.1:443'],
    ['EHOSTUNREACH', 'connect EHOSTUNREACH 10.0.0.1:443'],
    ['ENETUNREACH', 'connect ENETUNREACH 2001:db8::1:443 - Local (:::0)'],
    ['ETIMEDOUT', 'Greeting never received'],
    ['TimeoutError', 'Socket timed out without establishing a connection within 5000 ms'],
    ['ECONNRESET', 'Client network socket disconnected before secure TLS connection was established'],
  ])('was never made according to the message: %s %s', (code, message) => {
    expect(network(code, message)).toMatchObject({ retryable: true, unconnected: true, ambiguous: false })
  })

  test.each(['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'])(
    'stood already: a `read %s` or `write %s` is ambiguous',
    code => {
      for (const call of ['read', 'write'])
        expect(network(code, `${call} ${code}`)).toMatchObject({ unconnected: false, ambiguous: true })
    },
  )

  test('a timeout carries the name of its provider', () => {
    const codes = PROVIDER_NAMES.map(provider => classifyProviderError({ provider, name: 'TimeoutError' }).code)
    expect(codes).toEqual(['SES_TIMEOUT', 'RESEND_TIMEOUT', 'SMTP_TIMEOUT', 'CAPTURE_TIMEOUT'])
  })

  test('the network code is used before the name of the error', () => {
    const failure = classifyProviderError({ provider: 'ses', name: 'TimeoutError', networkCode: 'ECONNREFUSED' })
    expect(failure).toMatchObject({ originalCode: 'ECONNREFUSED', ambiguous: false })
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
