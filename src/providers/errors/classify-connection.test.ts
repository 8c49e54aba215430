import { describe, expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../settings/settings.ts'
import { classifyProviderError } from './classify.ts'

const network = (networkCode: string, message?: string) =>
  classifyProviderError({ provider: 'ses', networkCode, message })

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
