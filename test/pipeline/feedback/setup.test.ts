import { createServer, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  certificateLocation,
  certificateSource,
  fetchedCertificates,
  type Load,
  SnsRefused,
} from '../../../src/providers/ses/sns.ts'
import { openEventsApi, type TestDatabase } from '../../support/events-api.ts'
import { readBody, serve } from '../../support/fake-http.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { CERT_URL, confirmation, makeSigner, notification, type Signer, TOPIC } from '../../support/sns.ts'

let signer: Signer
let database: TestDatabase

beforeAll(async () => {
  signer = makeSigner()
  database = await createTestDatabase()
})
afterAll(async () => {
  signer?.remove()
  await database?.drop()
})

describe('a subscription', () => {
  test('is confirmed through the API of SNS, and its SubscribeURL is never asked for', async context => {
    process.env.AWS_ACCESS_KEY_ID = 'test'
    process.env.AWS_SECRET_ACCESS_KEY = 'test'
    const calls: URLSearchParams[] = []
    let broken = true
    const sns = await serve(async (request, response) => {
      calls.push(new URLSearchParams(await readBody(request)))
      response.setHeader('content-type', 'text/xml')
      if (broken) {
        response.statusCode = 403
        response.end(
          '<ErrorResponse><Error><Type>Sender</Type><Code>AuthorizationError</Code><Message>not allowed</Message></Error></ErrorResponse>',
        )
      } else
        response.end(`<ConfirmSubscriptionResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><ConfirmSubscriptionResult>
          <SubscriptionArn>${TOPIC}:1</SubscriptionArn></ConfirmSubscriptionResult></ConfirmSubscriptionResponse>`)
    })
    context.onTestFinished(() => sns.close())
    const eventsApi = await openEventsApi(
      {
        SNS_TOPIC_ARNS: TOPIC,
        SNS_CERT_DIR: signer.directory,
        AWS_ENDPOINT_URL_SNS: sns.url,
      },
      database,
    )
    context.onTestFinished(() => eventsApi.close())
    const message = signer.sign(confirmation(), '2')
    // SNS asks again after a 503, so a permission that is missing can still be given.
    expect(await eventsApi.post(message)).toMatchObject({
      status: 503,
      body: { code: 'SUBSCRIPTION_NOT_CONFIRMED', detail: expect.stringMatching(/not allowed/) },
    })
    broken = false
    expect(await eventsApi.post(message)).toMatchObject({ status: 200, body: { confirmed: true } })
    expect(
      calls.map(call => [
        call.get('Action'),
        call.get('TopicArn'),
        call.get('Token'),
        call.get('AuthenticateOnUnsubscribe'),
      ]),
    ).toEqual(Array.from({ length: 2 }, () => ['ConfirmSubscription', TOPIC, message.Token, 'true']))
  })

  test('without its settings each webhook route says which one is missing', async context => {
    const eventsApi = await openEventsApi({}, database)
    context.onTestFinished(() => eventsApi.close())
    expect(await eventsApi.post(signer.sign(notification('{}')))).toMatchObject({
      status: 503,
      body: { code: 'EVENTS_NOT_SET_UP', detail: expect.stringMatching(/SNS_TOPIC_ARNS/) },
    })
    expect(await eventsApi.post('{}', {}, '/webhooks/resend')).toMatchObject({
      status: 503,
      body: { detail: expect.stringMatching(/RESEND_WEBHOOK_SECRET/) },
    })
  })

  test('raw messages are refused with advice where no password is set', async context => {
    const eventsApi = await openEventsApi({ SNS_TOPIC_ARNS: TOPIC, SNS_CERT_DIR: signer.directory }, database)
    context.onTestFinished(() => eventsApi.close())
    const answer = await eventsApi.post('{}', { 'x-amz-sns-rawdelivery': 'true' })
    expect(answer).toMatchObject({ status: 403, body: { detail: expect.stringMatching(/SNS_RAW_DELIVERY_PASSWORD/) } })
  })
})

const place = certificateLocation(CERT_URL, 'us-east-1')
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => 'key',
    error => (error instanceof SnsRefused ? error.refusal.reason : error),
  )

/** Counts how often it is asked. */
function counting(answer: () => Promise<string | null>): { load: Load; asked: () => number } {
  let asked = 0
  return {
    asked: () => asked,
    load: async () => {
      asked++
      return answer()
    },
  }
}

describe('a signing certificate', () => {
  test('is asked for once, by however many messages at once, and kept while it is valid', async () => {
    let nowMs = Date.now()
    const { load, asked } = counting(async () => signer.certificate)
    const source = certificateSource(load, { pinned: false, now: () => nowMs })
    await Promise.all(Array.from({ length: 50 }, () => source(place)))
    await source(place)
    expect(asked()).toBe(1)
    nowMs += 3 * 86_400_000
    expect([await outcome(source(place)), asked()]).toEqual(['certificate', 2])
  })

  test('that does not hold is never kept, and not asked for again for a minute', async () => {
    const other = makeSigner('/CN=evil.example')
    let nowMs = Date.now()
    const wrong = [null, 'no certificate', other.certificate, other.key]
    other.remove()
    for (const pem of wrong) {
      const { load, asked } = counting(async () => pem)
      const source = certificateSource(load, { pinned: false, now: () => nowMs })
      expect([await outcome(source(place)), await outcome(source(place)), asked()]).toEqual([
        'certificate',
        'certificate',
        1,
      ])
      nowMs += 61_000
      expect([await outcome(source(place)), asked()]).toEqual(['certificate', 2])
    }
    const early = certificateSource(async () => signer.certificate, {
      pinned: false,
      now: () => Date.now() - 86_400_000,
    })
    expect(await outcome(early(place))).toBe('certificate')
  })

  test('that cannot be had now is no refusal: SNS will ask again, and so shall we', async () => {
    let nowMs = Date.now()
    let reachable = false
    const { load, asked } = counting(async () => {
      if (!reachable) throw new Error('ECONNREFUSED')
      return signer.certificate
    })
    const source = certificateSource(load, { pinned: false, now: () => nowMs })
    expect([await outcome(source(place)), await outcome(source(place)), asked()]).toEqual([
      'certificate-unreachable',
      'certificate-unreachable',
      1,
    ])
    reachable = true
    nowMs += 3_000
    expect(await outcome(source(place))).toBe('key')
  })

  test.each([
    ['200', 'key'],
    ['301', 'certificate'],
    ['302', 'certificate'],
    ['404', 'certificate'],
    ['500', 'certificate-unreachable'],
    ['giant', 'certificate'],
    ['cut', 'certificate-unreachable'],
  ])('fetched over TLS, answered with %s: %s', async (answer, expected) => {
    let asked = 0
    const server = createServer({ key: signer.key, cert: signer.certificate }, (_request, response) => {
      asked++
      if (answer === 'giant') response.end('x'.repeat(100_000))
      else if (answer === 'cut') response.destroy()
      else response.writeHead(Number(answer), { location: `https://127.0.0.1:${port}/again` }).end(signer.certificate)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    // The real request of the real module, to another address, whose certificate nobody knows.
    const toHere = ((_url: string, options: object, onAnswer: never) =>
      get(
        `https://127.0.0.1:${port}/`,
        { ...options, ca: signer.certificate, checkServerIdentity: () => undefined },
        onAnswer,
      )) as typeof get
    const source = certificateSource(fetchedCertificates(toHere), { pinned: false })
    expect([await outcome(source(place)), asked]).toEqual([expected, 1])
    server.closeAllConnections()
    server.close()
  })
})
