import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { programVersion } from '../../src/platform/version.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { resendProvider } from '../../src/providers/resend/resend.ts'
import { type FakeResend, startFakeResend } from '../support/fake-resend.ts'
import { failureOf, file, message, messageIdOf, patient } from './message.ts'

const soon = () => AbortSignal.timeout(500)
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

describe('a message', () => {
  test('goes out in Resend’s form, under the attempt’s id', async () => {
    const sent = message({
      from: 'José <jose@acme.test>',
      cc: ['cc@example.com'],
      bcc: ['hidden@example.com'],
      replyTo: ['reply@acme.test'],
      subject: 'Olá 🎉',
      headers: { 'X-Campaign': 'spring' },
      tags: ['campaign=Promoção', 'vip', 'outbox_id:forged'],
      attachments: [file({ filename: 'relatório.txt' }), file({ contentId: 'logo', contentType: 'image/png' })],
    })
    const messageId = messageIdOf(await resend.send(sent, patient()))
    const [request] = fake.requests
    expect(fake.accepted[0]!.id).toBe(messageId)
    expect(request!.headers).toMatchObject({
      authorization: 'Bearer re_test',
      'idempotency-key': sent.attemptId,
      'user-agent': `email-gateway/${programVersion()}`,
      'content-type': 'application/json',
    })
    expect(request!.body).toEqual({
      from: 'José <jose@acme.test>',
      to: ['maria@example.com'],
      cc: ['cc@example.com'],
      bcc: ['hidden@example.com'],
      reply_to: ['reply@acme.test'],
      subject: 'Olá 🎉',
      html: '<p>It works.</p>',
      text: 'It works.',
      headers: { 'X-Campaign': 'spring' },
      tags: [
        { name: 'outbox_id', value: sent.outboxId },
        { name: 'attempt_id', value: sent.attemptId },
        { name: 'campaign', value: 'Promocao' },
        { name: 'vip', value: 'true' },
      ],
      attachments: [
        { filename: 'relatório.txt', content: 'YSBub3Rl', content_type: 'text/plain' },
        { filename: 'note.txt', content: 'YSBub3Rl', content_type: 'image/png', content_id: 'logo' },
      ],
    })
  })

  test('that is plain carries nothing empty', async () => {
    messageIdOf(await resend.send(message({ html: null }), patient()))
    expect(Object.keys(fake.requests[0]!.body).sort()).toEqual(['from', 'subject', 'tags', 'text', 'to'])
  })

  test('with ten megabytes arrives whole', async () => {
    const base64 = Buffer.alloc(10 * 1024 * 1024, 'ten megabytes ').toString('base64')
    messageIdOf(await resend.send(message({ attachments: [file({ base64 })] }), patient()))
    expect(fake.requests[0]!.body.attachments![0]!.content === base64).toBe(true)
  })
})

describe('the same attempt again', () => {
  test('has the same answer and sends nothing twice, also when the first answer was lost', async () => {
    const sent = message()
    fake.control({ rules: [{ next: 1, answer: { kind: 'hang', accepted: true } }] })
    expect(failureOf(await resend.send(sent, soon()))).toMatchObject({ code: 'RESEND_TIMEOUT', ambiguous: true })
    await expect.poll(() => fake.stats.concurrent).toBe(0)
    const messageId = messageIdOf(await resend.send(sent, patient()))
    expect(messageIdOf(await resend.send(sent, patient()))).toBe(messageId)
    expect(fake.accepted.map(({ id }) => id)).toEqual([messageId])
  })

  test('while the first is running, or with another body, says that the first did arrive', async () => {
    const sent = message()
    fake.control({ default: { kind: 'slow', latencyMs: 400 } })
    const first = resend.send(sent, patient())
    await expect.poll(() => fake.stats.accepted).toBe(1)
    expect(failureOf(await resend.send(sent, patient()))).toMatchObject({
      code: 'RESEND_CONCURRENT_IDEMPOTENT_REQUESTS',
      retryable: true,
      ambiguous: true,
    })
    messageIdOf(await first)
    expect(failureOf(await resend.send({ ...sent, subject: 'Other' }, patient()))).toMatchObject({
      code: 'RESEND_INVALID_IDEMPOTENT_REQUEST',
      retryable: false,
      ambiguous: true,
    })
  })
})
