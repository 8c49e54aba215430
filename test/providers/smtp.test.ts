import { simpleParser } from 'mailparser'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Provider } from '../../src/providers/provider.ts'
import { smtpProvider } from '../../src/providers/smtp/smtp.ts'
import { type FakeSmtp, startBreakingSmtp, startFakeSmtp } from '../support/fake-smtp.ts'
import { failureOf, file, message, messageIdOf, patient } from './message.ts'

describe('a relay', () => {
  let relay: FakeSmtp
  let smtp: Provider
  beforeEach(async () => {
    relay = await startFakeSmtp()
    smtp = smtpProvider({ url: `smtp://127.0.0.1:${relay.port}`, maxConnections: 2 })
  })
  afterEach(async () => {
    await smtp.close()
    await relay.close()
  })

  test('gets the message under the attempt’s id, and the bcc on the envelope only', async () => {
    const sent = message({
      from: 'José <jose@acme.test>',
      cc: ['Ana <ana@example.com>'],
      bcc: ['Hidden <hidden@example.com>'],
      subject: 'Olá 🎉',
    })
    const messageId = messageIdOf(await smtp.send(sent, patient()))
    const [delivery] = relay.deliveries
    expect(messageId).toBe(`<${sent.attemptId}@acme.test>`)
    expect(delivery).toMatchObject({
      from: 'jose@acme.test',
      to: ['maria@example.com', 'ana@example.com', 'hidden@example.com'],
    })
    expect(delivery!.raw.toString()).not.toMatch(/hidden|bcc/i)
    expect(await simpleParser(delivery!.raw)).toMatchObject({
      messageId,
      subject: 'Olá 🎉',
      from: { text: '"José" <jose@acme.test>' },
    })
  })

  test('gets ten megabytes whole, with lines that begin with a dot', async () => {
    const content = Buffer.alloc(10 * 1024 * 1024, '.ten megabytes\r\n')
    const text = '.\r\n..\r\n.leading dots'
    messageIdOf(
      await smtp.send(
        message({ html: null, text, attachments: [file({ base64: content.toString('base64') })] }),
        patient(),
      ),
    )
    const parsed = await simpleParser(relay.deliveries[0]!.raw)
    expect(parsed.attachments[0]!.content.equals(content)).toBe(true)
    expect(parsed.text).toContain('.\n..\n.leading dots')
  })

  test('is reached over few connections, each used again', async () => {
    await Promise.all(Array.from({ length: 20 }, () => smtp.send(message(), patient())))
    expect(relay.deliveries).toHaveLength(20)
    expect(relay.connections()).toBe(2)
  })

  test('gets a new connection after a hundred messages', async () => {
    const single = smtpProvider({ url: `smtp://127.0.0.1:${relay.port}`, maxConnections: 1 })
    for (let sent = 0; sent < 101; sent++) messageIdOf(await single.send(message(), patient()))
    expect(relay.connections()).toBe(2)
    await single.close()
  })

  test('that hung up between two messages is called again', async () => {
    const impatient = await startFakeSmtp({ socketTimeout: 500 })
    const calling = smtpProvider({ url: `smtp://127.0.0.1:${impatient.port}` })
    messageIdOf(await calling.send(message(), patient()))
    await new Promise(resolve => setTimeout(resolve, 1500))
    messageIdOf(await calling.send(message(), patient()))
    expect(impatient.deliveries).toHaveLength(2)
    expect(impatient.connections()).toBe(2)
    await calling.close()
    await impatient.close()
  })

  test('that hangs up just as the next message begins is called again; one that does so in the message is not', async () => {
    for (const [at, connections] of [
      ['mail', 2],
      ['dot', 1],
    ] as const) {
      const impatient = await startBreakingSmtp(at, 'drop', { first: 1 })
      const calling = smtpProvider({ url: `smtp://127.0.0.1:${impatient.port}` })
      messageIdOf(await calling.send(message(), patient()))
      const second = await calling.send(message(), patient())
      expect(second).toMatchObject(at === 'mail' ? { kind: 'sent' } : { kind: 'failed', failure: { ambiguous: true } })
      expect([impatient.accepted(), impatient.connections()]).toEqual([connections, connections])
      await calling.close()
      await impatient.close()
    }
  })

  test('refuses some recipients: sent to the others, and the refused have bounced', async () => {
    relay.refuse({
      recipients: {
        'gone@example.com': { code: 550, text: '5.1.1 gone@example.com unknown' },
        'full@example.com': { code: 452, text: '4.2.2 mailbox full' },
        'policy@example.com': { code: 554, text: '5.7.1 relay access denied' },
      },
    })
    const result = await smtp.send(
      message({ cc: ['Gone@example.com', 'gone@example.com', 'policy@example.com'], bcc: ['full@example.com'] }),
      patient(),
    )
    expect(relay.deliveries[0]!.to).toEqual(['maria@example.com', 'Gone@example.com'])
    expect(result).toMatchObject({
      kind: 'sent',
      events: [
        {
          kind: 'BOUNCED',
          recipient: 'gone@example.com',
          metadata: { bounceType: 'Permanent', diagnosticCode: 'smtp; 550 5.1.1 g***@e***.com unknown' },
        },
        { kind: 'BOUNCED', recipient: 'policy@example.com', metadata: { bounceType: 'Undetermined' } },
        { kind: 'BOUNCED', recipient: 'full@example.com', metadata: { bounceType: 'Transient' } },
      ],
    })
  })

  test('refuses a lone recipient because there is no such mailbox: the same bounce as beside others', async () => {
    relay.refuse({ recipients: { 'maria@example.com': { code: 550, text: '5.1.1 unknown' } } })
    expect(await smtp.send(message(), patient())).toMatchObject({
      kind: 'sent',
      events: [{ kind: 'BOUNCED', recipient: 'maria@example.com', metadata: { bounceType: 'Permanent' } }],
    })
    expect(relay.deliveries).toEqual([])
    relay.refuse({})
    messageIdOf(await smtp.send(message(), patient()))
  })

  test('refuses everybody, one of them for now: all of it is tried again', async () => {
    relay.refuse({
      recipients: {
        'maria@example.com': { code: 550, text: '5.1.1 unknown' },
        'cc@example.com': { code: 450, text: '4.2.0 greylisted' },
      },
    })
    const failure = failureOf(await smtp.send(message({ cc: ['cc@example.com'] }), patient()))
    expect(failure).toMatchObject({ code: 'SMTP_MAILBOX_BUSY', deferred: true })
  })

  test.each([
    [
      'every recipient by policy',
      { recipients: { 'maria@example.com': { code: 550, text: '5.7.1 not from you' } } },
      'SMTP_REJECTED_BY_POLICY',
      false,
    ],
    [
      'every recipient for now',
      { recipients: { 'maria@example.com': { code: 450, text: 'greylisted' } } },
      'SMTP_MAILBOX_BUSY',
      true,
    ],
    ['the sender', { sender: { code: 553, text: '5.1.8 not you' } }, 'SMTP_SENDER_REFUSED', false],
    ['the message', { message: { code: 554, text: '5.7.1 spam' } }, 'SMTP_REJECTED_BY_POLICY', false],
    ['the message for now', { message: { code: 451, text: 'disk' } }, 'SMTP_LOCAL_ERROR', true],
    [
      'everything, and closes',
      { sender: { code: 421, text: '4.3.2 shutting down' } },
      'SMTP_SERVICE_NOT_AVAILABLE',
      true,
    ],
  ])('refuses %s: settled by its reply, and the next message goes out', async (_, refusals, code, retryable) => {
    relay.refuse(refusals)
    expect(failureOf(await smtp.send(message(), patient()))).toMatchObject({ code, retryable, ambiguous: false })
    relay.refuse({})
    messageIdOf(await smtp.send(message(), patient()))
    expect(relay.connections()).toBe(code === 'SMTP_SERVICE_NOT_AVAILABLE' ? 2 : 1)
  })

  test('that takes no message of this size is not asked', async () => {
    const small = await startFakeSmtp({ size: 1000 })
    const calling = smtpProvider({ url: `smtp://127.0.0.1:${small.port}` })
    const large = message({ text: 'x'.repeat(2000) })
    expect(failureOf(await calling.send(large, patient()))).toMatchObject({
      code: 'SMTP_MESSAGE_TOO_LARGE',
      retryable: false,
      ambiguous: false,
    })
    await calling.close()
    await small.close()
  })
})
