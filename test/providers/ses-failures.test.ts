import { createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { errorRule } from '../../src/providers/errors/rules.ts'
import { SES_ERRORS, SES_REFINEMENTS } from '../../src/providers/ses/errors.ts'
import { sesProvider } from '../../src/providers/ses/ses.ts'
import { type FakeSes, startFakeSes } from '../support/fake-ses.ts'
import { failureOf, message, patient } from './message.ts'

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }
let fake: FakeSes
let ses: ReturnType<typeof sesProvider>

beforeAll(async () => {
  fake = await startFakeSes()
  ses = sesProvider({ name: 'ses', region: 'eu-west-1', configurationSet: 'gateway', endpoint: fake.url, credentials })
})
afterEach(() => fake.control({ reset: true }))
afterAll(async () => {
  await ses.close()
  await fake.close()
})

describe('an answer of SES', () => {
  test.each(SES_ERRORS)('%s → %s, %s, %s', async (name, code, category, behaviour) => {
    fake.control({ default: { kind: 'error', status: 400, name } })
    const { retryable, effect, ambiguous } = errorRule(code, category, behaviour)
    expect(failureOf(await ses.send(message(), patient()))).toEqual({
      code: code.replace('*', 'SES'),
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

  test.each([
    ['Throttling', 'Daily message quota exceeded.'],
    ['TooManyRequestsException', 'Daily sending quota exceeded.'],
    ['MessageRejected', 'Sending paused for this account. For more information …'],
    ['NotFoundException', 'Configuration set <gateway> does not exist.'],
    ['BadRequestException', 'Configuration set <gateway> does not exist.'],
  ])('%s, told apart by "%s"', async (name, text) => {
    fake.control({ default: { kind: 'error', status: 400, name, message: text } })
    const row = SES_REFINEMENTS.find(
      ({ reportedCodes, message: pattern }) => reportedCodes.includes(name) && pattern.test(text),
    )!
    expect(failureOf(await ses.send(message(), patient())).code).toBe(row.rule.code)
  })

  test.each([408, 500, 502, 503, 504])(
    '%s that is not in the form of SES may come from a proxy behind which SES took the message',
    async status => {
      for (const body of ['<html>Bad gateway</html>', '', '{"message":"oops"}', '{"code":"InternalFailure"}']) {
        fake.control({ reset: true, default: { kind: 'text', status, body, accepted: true } })
        const failure = failureOf(await ses.send(message(), patient()))
        expect(failure, body).toMatchObject({ retryable: true, ambiguous: true })
        expect(fake.stats.requests).toBe(1)
      }
    },
  )

  test.each([
    [500, 'InternalFailure'],
    [503, 'ServiceUnavailable'],
    [500, 'SomethingNew'],
    [504, 'SomethingNew'],
  ])('%s in the form of SES, %s, was not accepted', async (status, name) => {
    fake.control({ default: { kind: 'error', status, name } })
    expect(failureOf(await ses.send(message(), patient()))).toMatchObject({ retryable: true, ambiguous: false })
    const body = JSON.stringify({ __type: `com.amazonaws.sesv2#${name}`, message: 'oops' })
    fake.control({ default: { kind: 'text', status, body, contentType: 'application/x-amz-json-1.0' } })
    expect(failureOf(await ses.send(message(), patient()))).toMatchObject({ retryable: true, ambiguous: false })
  })

  test('429 without a name limits the rate, whoever says it', async () => {
    fake.control({ default: { kind: 'text', status: 429, body: 'slow down' } })
    expect(failureOf(await ses.send(message(), patient()))).toMatchObject({ throttled: true, ambiguous: false })
  })

  test.each([200, 400, 500])('%s of ten megabytes is not read to its end, and its outcome is unknown', async status => {
    const body = JSON.stringify({ MessageId: 'x', __type: 'MessageRejected', message: 'x'.repeat(10_000_000) })
    fake.control({ default: { kind: 'text', status, body, contentType: 'application/json', accepted: true } })
    expect(failureOf(await ses.send(message(), patient()))).toMatchObject({
      code: 'SES_ANSWER_TOO_LARGE',
      retryable: true,
      ambiguous: true,
    })
    fake.control({ reset: true })
    expect((await ses.send(message(), patient())).kind, 'the next call works').toBe('sent')
  })

  test.each(['', 'not JSON', '{}'])('200 with the body "%s" may be an acceptance', async body => {
    fake.control({ default: { kind: 'text', status: 200, body, accepted: true } })
    expect(failureOf(await ses.send(message(), patient()))).toMatchObject({ retryable: true, ambiguous: true })
  })

  test('that repeats an address is masked', async () => {
    fake.control({
      default: { kind: 'error', status: 400, name: 'MessageRejected', message: 'maria@example.com is not verified' },
    })
    expect(failureOf(await ses.send(message(), patient())).message).toBe('m***@e***.com is not verified')
  })
})

describe('no answer', () => {
  const soon = () => AbortSignal.timeout(500)

  test('within the time limit: the call ends, and it may have been accepted', async () => {
    fake.control({ default: { kind: 'hang', accepted: true } })
    expect(failureOf(await ses.send(message(), soon()))).toMatchObject({
      code: 'SES_TIMEOUT',
      category: 'TIMEOUT_ERROR',
      ambiguous: true,
    })
    expect(fake.stats.requests).toBe(1)
    await expect.poll(() => fake.stats.concurrent).toBe(0)
  })

  test('a call whose time was up before it began asks nobody', async () => {
    expect(failureOf(await ses.send(message(), AbortSignal.abort()))).toMatchObject({
      code: 'SES_TIMEOUT',
      ambiguous: false,
    })
    expect(fake.stats.requests).toBe(0)
  })

  test.each(['before', 'after'] as const)(
    'but a reset %s the request was read: ambiguous, and not repeated',
    async when => {
      fake.control({ default: { kind: 'reset', when } })
      expect(failureOf(await ses.send(message(), patient()))).toMatchObject({ code: 'NETWORK_ERROR', ambiguous: true })
      expect(fake.stats.requests).toBe(1)
    },
  )

  test.each([
    ['nobody listens', 'http://127.0.0.1:1'],
    ['the name is unknown', 'http://nowhere.invalid'],
    ['TLS is spoken to a server without', 'plain'],
  ])('because %s: nothing has left', async (_, endpoint) => {
    const url = endpoint === 'plain' ? fake.url.replace('http:', 'https:') : endpoint
    const lost = sesProvider({ name: 'ses', region: 'eu-west-1', configurationSet: null, endpoint: url, credentials })
    const failure = failureOf(await lost.send(message(), patient()))
    expect(failure).toMatchObject({ retryable: true, ambiguous: false })
    expect(failure.openBreaker || failure.unconnected, 'no attempt is spent').toBe(true)
    await lost.close()
  })

  test('in the TLS handshake: nothing has left', async () => {
    const silent = createServer(socket => socket.on('error', () => {})).listen(0, '127.0.0.1')
    await new Promise(resolve => silent.once('listening', resolve))
    const { port } = silent.address() as { port: number }
    const lost = sesProvider({
      name: 'ses',
      region: 'eu-west-1',
      configurationSet: null,
      endpoint: `https://127.0.0.1:${port}`,
      connectMs: 200,
      credentials,
    })
    expect(failureOf(await lost.send(message(), patient()))).toMatchObject({
      code: 'NETWORK_ERROR',
      unconnected: true,
      ambiguous: false,
    })
    await lost.close()
    silent.close()
  })

  test('from whoever keeps the credentials: nothing has left', async () => {
    const endless = {
      name: 'ses',
      region: 'eu-west-1',
      configurationSet: null,
      endpoint: fake.url,
      credentials: () => new Promise<never>(() => {}),
    }
    const waiting = sesProvider(endless)
    expect(failureOf(await waiting.send(message(), soon()))).toMatchObject({ code: 'SES_TIMEOUT', ambiguous: false })
    await waiting.close()
  })
})
