import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { errorRule } from '../../src/providers/errors/rules.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { RESEND_ERRORS } from '../../src/providers/resend/errors.ts'
import { resendProvider } from '../../src/providers/resend/resend.ts'
import { type FakeResend, startFakeResend } from '../support/fake-resend.ts'
import { deafPort, failureOf, message, patient } from './message.ts'

let fake: FakeResend
let resend: Provider

beforeAll(async () => {
  fake = await startFakeResend({ apiKey: 're_test' })
  resend = resendProvider({ apiKey: 're_test', baseUrl: `${fake.url}/` })
})
afterEach(() => fake.control({ reset: true }))
afterAll(async () => {
  await resend.close()
  await fake.close()
})

describe('an answer of Resend', () => {
  test.each(RESEND_ERRORS)('%s → %s, %s, %s', async (name, code, category, behaviour) => {
    fake.control({ default: { kind: 'error', status: 422, name } })
    const { retryable, effect, ambiguous } = errorRule(code, category, behaviour)
    expect(failureOf(await resend.send(message(), patient()))).toEqual({
      code,
      category,
      retryable,
      openBreaker: effect === 'open-breaker',
      throttled: effect === 'slow-down',
      unconnected: false,
      deferred: false,
      ambiguous: ambiguous === true,
      originalCode: name,
      message: name,
    })
    expect(fake.stats.requests).toBe(1)
  })

  test('that the domain is not verified is told apart by its words, and addresses in it are masked', async () => {
    const text = 'The acme.test domain is not verified, asked by maria@example.com'
    fake.control({ default: { kind: 'error', status: 403, name: 'validation_error', message: text } })
    expect(failureOf(await resend.send(message(), patient()))).toMatchObject({
      code: 'RESEND_DOMAIN_NOT_VERIFIED',
      message: 'The acme.test domain is not verified, asked by m***@e***.com',
    })
  })

  test.each([
    [502, '<html>Bad gateway</html>', { code: 'RESEND_HTTP_502', retryable: true, ambiguous: true }],
    [408, '', { code: 'RESEND_TIMEOUT', retryable: true, ambiguous: true }],
    [500, '{"message":"oops"}', { code: 'RESEND_HTTP_500', retryable: true, ambiguous: true }],
    [503, '{"statusCode":503,"name":"new","message":"oops"}', { code: 'RESEND_HTTP_503', ambiguous: false }],
    [429, '', { code: 'RESEND_RATE_LIMITED', throttled: true, ambiguous: false }],
    [401, 'null', { code: 'RESEND_UNAUTHORIZED', openBreaker: true, ambiguous: false }],
    [504, '[]', { code: 'RESEND_TIMEOUT', retryable: true, ambiguous: true }],
    [418, '{"name":7}', { code: 'RESEND_HTTP_418', retryable: false, ambiguous: false }],
    [200, 'not JSON', { code: 'RESEND_UNKNOWN_ERROR', retryable: true, ambiguous: true }],
    [200, '{"id":""}', { code: 'RESEND_UNKNOWN_ERROR', retryable: true, ambiguous: true }],
    [
      500,
      `{"statusCode":500,"name":"application_error","message":"${'x'.repeat(200_000)}"}`,
      { code: 'RESEND_APPLICATION_ERROR', ambiguous: false },
    ],
    [200, `{"id":"x","more":"${'x'.repeat(2_000_000)}"}`, { code: 'RESEND_ANSWER_TOO_LARGE', ambiguous: true }],
    [422, 'x'.repeat(2_000_000), { code: 'RESEND_ANSWER_TOO_LARGE', ambiguous: true }],
  ])('%s with the body %s', async (status, body, expected) => {
    fake.control({ default: { kind: 'text', status, body } })
    const failure = failureOf(await resend.send(message(), patient()))
    expect(failure).toMatchObject(expected)
    expect(failure.message.length).toBeLessThanOrEqual(1000)
  })

  test('without end is not waited for', async () => {
    const endless = createServer((_request, response) => {
      response.writeHead(500)
      const timer = setInterval(() => response.write('x'.repeat(16_384)), 1)
      response.on('close', () => clearInterval(timer))
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => endless.once('listening', resolve))
    const { port } = endless.address() as AddressInfo
    const patientless = resendProvider({ apiKey: 're_test', baseUrl: `http://127.0.0.1:${port}` })
    expect(failureOf(await patientless.send(message(), patient())).code).toBe('RESEND_ANSWER_TOO_LARGE')
    await new Promise(resolve => endless.close(resolve))
  })

  test('that sends us elsewhere is not followed', async () => {
    const elsewhere = createServer((_request, response) => {
      response.writeHead(307, { location: `${fake.url}/emails` }).end()
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => elsewhere.once('listening', resolve))
    const { port } = elsewhere.address() as AddressInfo
    const strict = resendProvider({ apiKey: 're_test', baseUrl: `http://127.0.0.1:${port}` })
    failureOf(await strict.send(message(), patient()))
    expect(fake.stats.requests).toBe(0)
    elsewhere.closeAllConnections()
    await new Promise(resolve => elsewhere.close(resolve))
  })

  test('to a wrong key parks the provider', async () => {
    const wrong = resendProvider({ apiKey: 're_wrong', baseUrl: fake.url })
    const failure = failureOf(await wrong.send(message(), patient()))
    expect(failure).toMatchObject({ code: 'RESEND_INVALID_API_KEY', openBreaker: true })
    expect(JSON.stringify(failure)).not.toContain('re_wrong')
    expect(() => resendProvider({ apiKey: 're_x\nX-Evil: 1' })).toThrow(/^RESEND_API_KEY must be/)
  })
})

describe('no answer', () => {
  test('a call whose time was up before it began asks nobody', async () => {
    expect(failureOf(await resend.send(message(), AbortSignal.abort()))).toMatchObject({
      code: 'RESEND_TIMEOUT',
      ambiguous: false,
    })
    expect(fake.stats.requests).toBe(0)
  })

  test.each(['before', 'after'] as const)(
    'but a reset %s the request was read: ambiguous, and not repeated',
    async when => {
      fake.control({ default: { kind: 'reset', when } })
      expect(failureOf(await resend.send(message(), patient()))).toMatchObject({
        code: 'NETWORK_ERROR',
        ambiguous: true,
      })
      expect(fake.stats.requests).toBe(1)
    },
  )

  test.each([
    ['nobody listens', 'deaf'],
    ['the name is unknown', 'http://nowhere.invalid'],
    ['TLS is spoken to a server without', 'plain'],
  ])('because %s: nothing has left', async (_, baseUrl) => {
    const deaf = `http://127.0.0.1:${await deafPort()}`
    const url = { plain: fake.url.replace('http:', 'https:'), deaf }[baseUrl] ?? baseUrl
    const lost = resendProvider({ apiKey: 're_test', baseUrl: url })
    const failure = failureOf(await lost.send(message(), patient()))
    expect(failure).toMatchObject({ retryable: true, ambiguous: false })
    expect(failure.openBreaker || failure.unconnected, 'no attempt is spent').toBe(true)
    await lost.close()
  })
})
