import { simpleParser } from 'mailparser'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { sesProvider } from '../../src/providers/ses/ses.ts'
import { type FakeSes, startFakeSes } from '../support/fake-ses.ts'
import { file, message, messageIdOf, patient } from './message.ts'

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

describe('a message', () => {
  test('without files and headers is built by SES: names encoded, the rest as it is', async () => {
    const sent = message({
      from: 'José da Silva <jose@acme.test>',
      to: ['"Müller, Søren" <soren@example.com>'],
      cc: ['cc@example.com'],
      bcc: ['Chefe <boss@example.com>'],
      replyTo: ['reply@acme.test'],
      subject: 'Olá, 日本 🎉',
      tags: ['welcome', 'campaign:Promoção de março'],
    })
    const messageId = messageIdOf(await ses.send(sent, patient()))
    const [body] = fake.bodies
    expect(fake.accepted[0]).toMatchObject({ messageId, outboxId: sent.outboxId, attemptId: sent.attemptId })
    expect(body).toMatchObject({
      FromEmailAddress: '=?UTF-8?Q?Jos=C3=A9_da_Silva?= <jose@acme.test>',
      ReplyToAddresses: ['reply@acme.test'],
      ConfigurationSetName: 'gateway',
      Content: {
        Simple: {
          Subject: { Data: 'Olá, 日本 🎉', Charset: 'UTF-8' },
          Body: { Text: { Data: 'It works.' }, Html: { Data: '<p>It works.</p>' } },
        },
      },
    })
    expect(body!.Destination.ToAddresses![0]).toMatch(
      /^=\?UTF-8\?Q\?M=C3=BCller=2C_S=C3=B8ren\?= <soren@example\.com>$/,
    )
    expect(body!.EmailTags).toEqual([
      { Name: 'outbox_id', Value: sent.outboxId },
      { Name: 'attempt_id', Value: sent.attemptId },
      { Name: 'welcome', Value: 'true' },
      { Name: 'campaign', Value: 'Promocao_de_marco' },
    ])
  })

  test('with files or headers goes as MIME, and the bcc stands only in the destination', async () => {
    const sent = message({
      to: ['Måria <maria@example.com>'],
      bcc: ['Hidden <hidden@example.com>'],
      subject: 'Olá 🎉',
      headers: { 'X-Campaign': 'spring', 'List-Unsubscribe': '<https://acme.test/u>' },
      attachments: [file({ filename: 'relatório.txt' })],
    })
    messageIdOf(await ses.send(sent, patient()))
    const raw = Buffer.from(fake.bodies[0]!.Content.Raw!.Data, 'base64')
    expect(raw.toString()).not.toMatch(/hidden/i)
    expect(fake.bodies[0]!.Destination).toEqual({
      ToAddresses: ['maria@example.com'],
      CcAddresses: [],
      BccAddresses: ['hidden@example.com'],
    })
    const parsed = await simpleParser(raw)
    expect(parsed.subject).toBe('Olá 🎉')
    expect(parsed.headers.get('x-campaign')).toBe('spring')
    expect(parsed.attachments[0]).toMatchObject({ filename: 'relatório.txt', contentType: 'text/plain' })
  })

  test('with ten megabytes arrives whole', async () => {
    const content = Buffer.alloc(10 * 1024 * 1024, 'ten megabytes ')
    const sent = message({
      attachments: [file({ base64: content.toString('base64'), contentType: 'application/pdf' })],
    })
    messageIdOf(await ses.send(sent, patient()))
    const parsed = await simpleParser(Buffer.from(fake.bodies[0]!.Content.Raw!.Data, 'base64'))
    expect(parsed.attachments[0]!.content.equals(content)).toBe(true)
  })

  test('leaves the configuration set out where there is none', async () => {
    const plain = sesProvider({
      name: 'ses',
      region: 'eu-west-1',
      configurationSet: null,
      endpoint: fake.url,
      credentials,
    })
    messageIdOf(await plain.send(message(), patient()))
    await plain.close()
    expect(fake.bodies[0]).not.toHaveProperty('ConfigurationSetName')
  })
})

describe('the quota', () => {
  test.each([
    ['a healthy account', {}, { recipientsPerSecond: 14, paused: null }],
    [
      'sending switched off',
      { SendingEnabled: false },
      { recipientsPerSecond: 14, paused: expect.stringMatching(/switched off/) },
    ],
    [
      'a paused account',
      { EnforcementStatus: 'PAUSED' },
      { recipientsPerSecond: 14, paused: expect.stringMatching(/PAUSED/) },
    ],
    [
      'a closed account',
      { EnforcementStatus: 'SHUTDOWN' },
      { recipientsPerSecond: 14, paused: expect.stringMatching(/SHUTDOWN/) },
    ],
    ['an account under review', { EnforcementStatus: 'PROBATION' }, { recipientsPerSecond: 14, paused: null }],
    [
      'a spent day',
      { SendQuota: { Max24HourSend: 200, MaxSendRate: 1, SentLast24Hours: 200 } },
      { recipientsPerSecond: 1, paused: expect.stringMatching(/200 of 200/) },
    ],
    [
      'no daily limit',
      { SendQuota: { Max24HourSend: -1, MaxSendRate: 500, SentLast24Hours: 9e6 } },
      { recipientsPerSecond: 500, paused: null },
    ],
    ['an answer without numbers', { SendQuota: undefined }, { recipientsPerSecond: null, paused: null }],
  ])('of %s', async (_, account, expected) => {
    fake.control({ account })
    expect(await ses.learnQuota!(patient())).toEqual(expected)
  })

  test('that SES does not tell is an error for the caller', async () => {
    fake.control({ accountAnswer: { kind: 'error', status: 403, name: 'AccessDeniedException' } })
    await expect(ses.learnQuota!(patient())).rejects.toThrow('AccessDenied')
    fake.control({ accountAnswer: { kind: 'hang' } })
    await expect(ses.learnQuota!(AbortSignal.timeout(100))).rejects.toThrow()
  })
})
