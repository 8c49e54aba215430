import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type EventsApi, openEventsApi } from '../../support/events-api.ts'
import { sesEvent } from '../../support/ses-events.ts'
import {
  CERT_FILE,
  confirmation,
  makeSigner,
  notification,
  type Signer,
  type SnsFields,
  TOPIC,
} from '../../support/sns.ts'

const OTHER_REGION = 'arn:aws:sns:eu-west-1:123456789012:email-events'
const RAW_PASSWORD = 'a password that only the subscription knows'

let signer: Signer
let stranger: Signer
let eventsApi: EventsApi

beforeAll(async () => {
  signer = makeSigner()
  stranger = makeSigner('/CN=sns.amazonaws.com', 'SimpleNotificationService-ffff.pem')
  eventsApi = await openEventsApi({
    SNS_TOPIC_ARNS: `${TOPIC},${OTHER_REGION}`,
    SNS_REGIONS: 'us-east-1',
    SNS_CERT_DIR: signer.directory,
    SNS_RAW_DELIVERY_PASSWORD: RAW_PASSWORD,
  })
})
afterAll(async () => {
  await eventsApi?.close()
  signer?.remove()
  stranger?.remove()
})

const MAIL = { messageId: '0100018d1234abcd-5678', to: ['maria@example.com'], outboxId: randomUUID() }
const delivery = () => sesEvent('Delivery', MAIL)
const stored = async () =>
  (
    await eventsApi.db.pool.query(
      'select external_id, provider, payload, state from provider_events order by received_at',
    )
  ).rows

/** Everything that a message could change. Refusals are counted, elsewhere. */
async function fingerprint(): Promise<string> {
  const tables =
    `provider_events email_outbox email_events email_recipients email_ready suppression_list suppression_audit_log
    companies statistics audit_log dead_letters unknown_sends webhook_deliveries`.split(/\s+/)
  const parts = tables.map(table => `(select coalesce(json_agg(t order by t::text)::text, '') from ${table} t)`)
  const { rows } = await eventsApi.db.pool.query(`select concat_ws('|', ${parts.join(', ')}) as all`)
  return createHash('sha256').update(rows[0].all).digest('hex')
}

describe('a genuine message', () => {
  test.each(['1', '2'] as const)('of signature version %s is stored as it came and answered', async version => {
    const message = signer.sign(notification(delivery()), version)
    expect(await eventsApi.post(message)).toMatchObject({ status: 200, body: { processed: true } })
    expect((await stored()).at(-1)).toEqual({
      external_id: message.MessageId,
      provider: 'ses',
      payload: message.Message,
      state: 'waiting',
    })
  })

  test('delivered again is answered and changes nothing', async () => {
    const message = signer.sign(notification(delivery()))
    await eventsApi.post(message)
    const before = await fingerprint()
    for (let again = 0; again < 3; again++)
      expect(await eventsApi.post(message)).toMatchObject({ status: 200, body: { processed: true } })
    expect(await fingerprint()).toBe(before)
  })

  test('without a subject, as application/json, with its type in the header, is the same', async () => {
    const { Subject: _, ...fields } = notification(delivery())
    const headers = { 'content-type': 'application/json', 'x-amz-sns-message-type': 'Notification' }
    expect((await eventsApi.post(signer.sign(fields), headers)).status).toBe(200)
  })

  test('of the size that SNS allows is taken, quotes and all', async () => {
    const message = signer.sign(
      notification(`{"eventType":"Open","filler":"${'"'.repeat(0)}${'x'.repeat(255 * 1024)}"}`),
    )
    expect((await eventsApi.post(message)).status).toBe(200)
  })

  test('whose inside is no JSON is stored too: SNS would repeat it for ever', async () => {
    expect((await eventsApi.post(signer.sign(notification('{"eventType": "Bounce", ')))).status).toBe(200)
    expect((await eventsApi.post(signer.sign(notification('a \u0000 and half a \ud83d')))).status).toBe(200)
  })

  test('that the subscription has ended changes nothing', async () => {
    const before = await fingerprint()
    const ended = signer.sign(confirmation({ Type: 'UnsubscribeConfirmation' }))
    expect(await eventsApi.post(ended)).toMatchObject({ status: 200, body: { processed: true } })
    expect(await fingerprint()).toBe(before)
  })
})

type Mutation = { what: string; body: unknown; headers?: Record<string, string> }

const CERT_HOST = 'https://sns.us-east-1.amazonaws.com'
const CERT_URLS = [
  ...[
    'http://sns.us-east-1.amazonaws.com',
    'HTTPS://sns.us-east-1.amazonaws.com',
    '//sns.us-east-1.amazonaws.com',
    'file://',
  ],
  ...[
    'https://evil.example',
    'https://sns.us-east-1.amazonaws.com.evil.example',
    'https://evil.example#sns.us-east-1.amazonaws.com',
  ],
  ...[
    'https://sns.us-east-1.amazonaws.com@evil.example',
    'https://evil@sns.us-east-1.amazonaws.com',
    'https://:@sns.us-east-1.amazonaws.com',
  ],
  ...[
    'https://sns.us-east-1.amazonaws.com:443',
    'https://sns.us-east-1.amazonaws.com:8443',
    'https://sns.us-east-1.amazonaws.com.',
  ],
  ...[
    'https://sns.eu-west-1.amazonaws.com',
    'https://sns.us-east-1.amazonaws.com.cn',
    'https://sns.mars-1.amazonaws.com',
  ],
  ...[
    'https://sns-us-east-1.amazonaws.com',
    'https://snsXus-east-1.amazonaws.com',
    'https://xsns.us-east-1.amazonaws.com',
  ],
  ...[
    'https://SNS.us-east-1.amazonaws.com',
    'https://sns.us-east-1.amazonaws.com\\@evil.example',
    'https://127.0.0.1',
    'https://[::1]',
  ],
  ...[
    'https://sns.us-east-1.amazonaws.com/..',
    'https://sns.us-east-1.amazonaws.com/x',
    'https://sns.us-east-1.amazonaws.com/%2e',
  ],
  ...[
    'https://s3.amazonaws.com/sns.us-east-1.amazonaws.com',
    'https://sns.us-east-1.amazonaws.com%2fevil',
    'data:,',
    ' https://sns.us-east-1.amazonaws.com',
  ],
].map(start => `${start}/${CERT_FILE}`)
const CERT_PATHS = [
  ...[
    '',
    '/',
    '/key.pem',
    `/../${CERT_FILE}`,
    `//${CERT_FILE}`,
    `/%53impleNotificationService-0123456789abcdef0123456789abcdef.pem`,
  ],
  ...[
    `/${CERT_FILE}?x=1`,
    `/${CERT_FILE}#x`,
    `/${CERT_FILE}/`,
    `/${CERT_FILE}.pem`,
    `/${CERT_FILE};x`,
    `/${CERT_FILE}%00`,
    `/${CERT_FILE} `,
  ],
  ...[
    `/${CERT_FILE.toLowerCase()}`,
    `/${CERT_FILE.replace('.pem', '.PEM')}`,
    '/SimpleNotificationService-.pem',
    '/SimpleNotificationService-../key.pem',
  ],
  ...[
    '/SimpleNotificationService-ffff.pem',
    '/SimpleNotificationService-zz.pem',
    `/${CERT_FILE}\n`,
    `\\${CERT_FILE}`,
    `/${'a'.repeat(600)}.pem`,
  ],
].map(path => CERT_HOST + path)

const NOT_TEXT = [null, 0, 1, true, [], {}, ['x'], '', ' ']

/** One letter of a field becomes another, at so many places. */
function* flipped(genuine: SnsFields, field: string, places: number): Generator<Mutation> {
  const text = String(genuine[field])
  for (let n = 0; n < Math.min(places, text.length); n++) {
    const at = Math.floor((n * text.length) / Math.min(places, text.length))
    const letter = text[at] === 'A' ? 'B' : 'A'
    yield {
      what: `${field}: letter ${at}`,
      body: { ...genuine, [field]: text.slice(0, at) + letter + text.slice(at + 1) },
    }
  }
}

/** Of one genuine message; each is wrong in one way. */
function* mutationsOf(genuine: SnsFields): Generator<Mutation> {
  const signed = Object.keys(genuine).filter(field => field !== 'UnsubscribeURL')
  for (const field of signed) {
    const { [field]: _, ...without } = genuine
    yield { what: `${field}: missing`, body: without }
    for (const value of NOT_TEXT)
      yield { what: `${field}: ${JSON.stringify(value)}`, body: { ...genuine, [field]: value } }
    for (const end of ['x', ' ', '\n', '\u0000', '\nType\nNotification'])
      yield {
        what: `${field}: ends with ${JSON.stringify(end)}`,
        body: { ...genuine, [field]: `${genuine[field]}${end}` },
      }
    yield* flipped(genuine, field, field === 'Message' || field === 'Signature' ? 60 : 12)
  }
  yield {
    what: 'the other version',
    body: { ...genuine, SignatureVersion: genuine.SignatureVersion === '1' ? '2' : '1' },
  }
  yield { what: 'no version of ours', body: { ...genuine, SignatureVersion: '3' } }
  for (const url of [...CERT_URLS, ...CERT_PATHS]) yield { what: url, body: { ...genuine, SigningCertURL: url } }
  for (const link of [
    'http://sns.us-east-1.amazonaws.com/',
    'https://evil.example/',
    'https://a@sns.us-east-1.amazonaws.com/',
    'x',
    7,
  ])
    yield { what: `leads to ${link}`, body: { ...genuine, UnsubscribeURL: link } }
  const text = JSON.stringify(genuine)
  for (let n = 0; n < 50; n++) yield { what: `cut at ${n}/50`, body: text.slice(0, Math.floor((n * text.length) / 50)) }
  for (const type of ['SubscriptionConfirmation', 'UnsubscribeConfirmation', 'notification', 'Nonsense'])
    if (type !== genuine.Type)
      yield { what: `header says ${type}`, body: genuine, headers: { 'x-amz-sns-message-type': type } }
  yield { what: 'another key', body: stranger.sign(genuine) }
  yield { what: 'raw, they say', body: genuine, headers: { 'x-amz-sns-rawdelivery': 'true' } }
}

/** Signed well, and refused all the same. */
function* wrongButSigned(): Generator<Mutation> {
  const minutes = (n: number) => new Date(Date.now() + n * 60_000).toISOString()
  for (const version of ['1', '2'] as const) {
    for (const make of [() => notification(delivery()), () => confirmation()]) {
      for (const at of [-76, -600, -60 * 24 * 365, 16, 600])
        yield { what: `${at} minutes`, body: signer.sign({ ...make(), Timestamp: minutes(at) }, version) }
      for (const arn of [`${TOPIC}x`, TOPIC.replace('123', '321'), 'arn:aws:sns:us-east-1:1:x', OTHER_REGION, 'x'])
        yield { what: arn, body: signer.sign({ ...make(), TopicArn: arn }, version) }
    }
  }
}

describe('a message that is not genuine', () => {
  test('is refused in more than a thousand mutations, and changes nothing', async () => {
    const event = delivery()
    const genuine = [
      signer.sign(notification(event), '1'),
      signer.sign(notification(event), '2'),
      signer.sign(confirmation(), '1'),
      signer.sign(confirmation(), '2'),
    ]
    const mutations = [...genuine.flatMap(message => [...mutationsOf(message)]), ...wrongButSigned()]
    expect(mutations.length).toBeGreaterThan(1000)
    const before = await fingerprint()
    const answers = await Promise.all(mutations.map(one => eventsApi.post(one.body, one.headers)))
    const wrong = mutations.flatMap(({ what }, place) => {
      const { status } = answers[place]!
      return status >= 400 && status < 500 ? [] : [`${what}: ${status}`]
    })
    expect(wrong).toEqual([])
    expect(await fingerprint()).toBe(before)
    // None of them was refused for nothing: what they were made of passes.
    expect((await eventsApi.post(genuine[0])).status).toBe(200)
    expect((await eventsApi.post(genuine[1])).status).toBe(200)
  })

  test('is too large, or no text', async () => {
    const giant = signer.sign(notification('x'.repeat(1_100_000)))
    expect((await eventsApi.post(giant)).status).toBe(413)
    const image = { 'content-type': 'image/png' }
    expect((await eventsApi.post(signer.sign(notification(delivery())), image)).status).toBe(415)
  })

  test('says what is wrong with it, and is counted', async () => {
    const refusal = async (change: SnsFields) =>
      (await eventsApi.post({ ...signer.sign(notification('{}')), ...change })).body
    expect(await refusal({ TopicArn: 'x' })).toMatchObject({
      code: 'EVENT_REFUSED',
      detail: expect.stringMatching(/SNS_TOPIC_ARNS/),
    })
    expect(await refusal({ SigningCertURL: 'https://evil.example/x.pem' })).toMatchObject({
      detail: expect.stringMatching(/SigningCertURL must be https:/),
    })
    expect(await refusal({ Message: 7 })).toMatchObject({
      code: 'INVALID_EVENT',
      detail: expect.stringMatching(/Message: /),
    })
    expect(await refusal({ Signature: 'AAAA' })).toMatchObject({ detail: 'The signature does not match the message.' })
    const { rows } = await vi.waitUntil(async () => {
      const found = await eventsApi.db.pool.query(
        `select value from counters where name = 'provider_events_refused' and label = 'ses signature'`,
      )
      return found.rows.length > 0 && found
    }, 10_000)
    expect(Number(rows[0].value)).toBeGreaterThan(0)
  })
})

describe('raw delivery', () => {
  const basic = (password: string) => `Basic ${Buffer.from(`sns:${password}`).toString('base64')}`
  const raw = (change: Record<string, string> = {}) => ({
    'x-amz-sns-rawdelivery': 'true',
    'x-amz-sns-message-type': 'Notification',
    'x-amz-sns-message-id': randomUUID(),
    'x-amz-sns-topic-arn': TOPIC,
    authorization: basic(RAW_PASSWORD),
    ...change,
  })

  test('with the password of the subscription is stored, once', async () => {
    const headers = raw()
    expect(await eventsApi.post(delivery(), headers)).toMatchObject({ status: 200, body: { processed: true } })
    const before = await fingerprint()
    expect((await eventsApi.post(delivery(), headers)).status).toBe(200)
    expect(await fingerprint()).toBe(before)
    expect((await stored()).at(-1)).toMatchObject({ external_id: headers['x-amz-sns-message-id'], state: 'waiting' })
  })

  test('without it, with another, of another topic or without an id is refused', async () => {
    const before = await fingerprint()
    const { authorization: _, ...without } = raw()
    const asked = await eventsApi.post('{}', without)
    // SNS sends its credentials when it is asked for them.
    expect([asked.status, asked.headers['www-authenticate']]).toEqual([401, expect.stringMatching(/^Basic /)])
    const answers = [
      await eventsApi.post(delivery(), raw({ authorization: basic('wrong') })),
      await eventsApi.post(delivery(), raw({ authorization: 'Basic !' })),
      await eventsApi.post(delivery(), raw({ 'x-amz-sns-topic-arn': `${TOPIC}x` })),
      await eventsApi.post(delivery(), raw({ 'x-amz-sns-message-id': 'no id' })),
    ]
    expect(answers.map(one => one.status)).toEqual([401, 401, 403, 400])
    expect(await fingerprint()).toBe(before)
  })
})
