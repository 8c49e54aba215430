import { describe, expect, test } from 'vitest'
import { smtpProvider } from '../../src/providers/smtp/smtp.ts'
import { type BreakAt, startBreakingSmtp } from '../support/fake-smtp.ts'
import { failureOf, file, message, patient } from './message.ts'

describe('a connection that breaks', () => {
  /** More than the sockets of both sides hold, so that its end cannot have left. */
  const large = () => message({ attachments: [file({ base64: Buffer.alloc(24 * 1024 * 1024).toString('base64') })] })

  /** Time is over for the caller as soon as the relay has fallen silent. */
  const breaking = async (at: BreakAt, how: 'drop' | 'hang' | 'flood', mail = message()) => {
    const relay = await startBreakingSmtp(at, how)
    const smtp = smtpProvider({ url: `smtp://127.0.0.1:${relay.port}` })
    const patience = new AbortController()
    const sending = smtp.send(mail, how === 'hang' ? patience.signal : patient())
    await expect.poll(relay.broken, { timeout: 10_000, interval: 10 }).toBe(1)
    patience.abort(new DOMException('It took too long', 'TimeoutError'))
    const failure = failureOf(await sending)
    await expect.poll(relay.open, { timeout: 5000 }).toBe(0)
    const connections = relay.connections()
    await smtp.close()
    await relay.close()
    return { ...failure, connections }
  }

  test.each(['connect', 'ehlo', 'mail', 'rcpt', 'data'] as const)('at %s carried nothing', async at => {
    expect(await breaking(at, 'drop')).toMatchObject({
      code: 'NETWORK_ERROR',
      retryable: true,
      unconnected: true,
      ambiguous: false,
      connections: 1,
    })
  })

  test.each([
    ['connect', { unconnected: true, ambiguous: false }],
    ['rcpt', { unconnected: true, ambiguous: false }],
    ['dot', { unconnected: false, ambiguous: true }],
  ] as const)('by a reply without end at %s: it is not kept in memory', async (at, expected) => {
    const failure = await breaking(at, 'flood')
    expect(failure).toMatchObject({ retryable: true, ...expected })
    expect(failure.message).toMatch(/exceeds maximum allowed size/)
  })

  test('in the middle of a long message carried nothing', async () => {
    expect(await breaking('body', 'drop', large())).toMatchObject({
      code: 'NETWORK_ERROR',
      unconnected: false,
      ambiguous: false,
      connections: 1,
    })
  })

  test.each(['body', 'dot'] as const)('after the final dot had left (%s) may have carried it', async at => {
    expect(await breaking(at, 'drop')).toMatchObject({ code: 'NETWORK_ERROR', ambiguous: true, connections: 1 })
  })

  test.each(['connect', 'ehlo'] as const)('by falling silent at %s is given up with the signal', async at => {
    expect(await breaking(at, 'hang')).toMatchObject({ code: 'SMTP_TIMEOUT', unconnected: true, ambiguous: false })
  })

  test.each(['mail', 'rcpt', 'data'] as const)(
    'by falling silent at %s has carried nothing, and defers this e-mail instead of parking the relay for all',
    async at => {
      const failure = await breaking(at, 'hang')
      expect(failure).toMatchObject({ code: 'SMTP_TIMEOUT', unconnected: false, deferred: true, ambiguous: false })
      expect(failure).toMatchObject({ retryable: true })
    },
  )

  test('by falling silent in the middle of a long message carried nothing', async () => {
    expect(await breaking('body', 'hang', large())).toMatchObject({
      code: 'SMTP_TIMEOUT',
      unconnected: false,
      ambiguous: false,
    })
  })

  test('by falling silent after the final dot may have carried it', async () => {
    expect(await breaking('dot', 'hang')).toMatchObject({
      code: 'SMTP_TIMEOUT',
      category: 'TIMEOUT_ERROR',
      ambiguous: true,
    })
  })

  test('frees its place: the one that waited gets it, the one that waited too long has sent nothing', async () => {
    const relay = await startBreakingSmtp('dot', 'hang')
    const smtp = smtpProvider({ url: `smtp://127.0.0.1:${relay.port}`, maxConnections: 1 })
    const stuck = smtp.send(message(), AbortSignal.timeout(1000))
    const tooLate = smtp.send(message(), AbortSignal.timeout(500))
    const patientOne = smtp.send(message(), AbortSignal.timeout(2500))
    expect(await tooLate).toMatchObject({
      failure: { code: 'SMTP_TIMEOUT', unconnected: true, ambiguous: false },
      notCalled: true,
    })
    expect(await stuck).toMatchObject({ failure: { ambiguous: true } })
    expect(await stuck).not.toHaveProperty('notCalled')
    expect(failureOf(await patientOne).ambiguous).toBe(true)
    expect(relay.connections()).toBe(2)
    await smtp.close()
    await relay.close()
  })

  test.each([
    ['nobody listens', 'smtp://127.0.0.1:1', 'NETWORK_ERROR'],
    ['the name is unknown', 'smtp://nowhere.invalid', 'NETWORK_ERROR'],
  ])('was never made because %s', async (_, url, code) => {
    const smtp = smtpProvider({ url })
    expect(failureOf(await smtp.send(message(), patient()))).toMatchObject({ code, retryable: true, ambiguous: false })
    await smtp.close()
  })

  test('is closed with the provider, in the middle of a message too', async () => {
    const relay = await startBreakingSmtp('dot', 'hang')
    const smtp = smtpProvider({ url: `smtp://127.0.0.1:${relay.port}`, maxConnections: 1 })
    const open = smtp.send(message(), patient())
    const waiting = smtp.send(message(), patient())
    await expect.poll(relay.broken).toBe(1)
    await smtp.close()
    expect(failureOf(await open)).toMatchObject({ code: 'NETWORK_ERROR', ambiguous: true })
    expect(failureOf(await waiting)).toMatchObject({ code: 'NETWORK_ERROR', ambiguous: false })
    expect(relay.connections()).toBe(1)
    await relay.close()
  })
})
