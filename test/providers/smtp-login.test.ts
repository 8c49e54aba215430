import { describe, expect, test } from 'vitest'
import { smtpProvider, smtpSettings } from '../../src/providers/smtp/smtp.ts'
import { startFakeSmtp } from '../support/fake-smtp.ts'
import { failureOf, message, messageIdOf, patient } from './message.ts'

describe('credentials and TLS', () => {
  test('log in, and a wrong password parks the provider', async () => {
    const relay = await startFakeSmtp({ users: { 'user@acme': 'p:ss w/rd' } })
    const at = (password: string) =>
      smtpProvider({ url: `smtp://user%40acme:${encodeURIComponent(password)}@127.0.0.1:${relay.port}` })
    const [right, wrong] = [at('p:ss w/rd'), at('guess')]
    messageIdOf(await right.send(message(), patient()))
    expect(relay.deliveries[0]!.user).toBe('user@acme')
    const failure = failureOf(await wrong.send(message(), patient()))
    expect(failure).toMatchObject({ code: 'SMTP_AUTH_FAILED', openBreaker: true, ambiguous: false })
    expect(JSON.stringify(failure)).not.toContain('guess')
    await Promise.all([right.close(), wrong.close()])
    await relay.close()
  })

  test('that were accepted do not park the provider when a recipient’s server asks for a login', async () => {
    const relay = await startFakeSmtp({ users: { user: 'word' } })
    const provider = smtpProvider({ url: `smtp://user:word@127.0.0.1:${relay.port}` })
    const to = 'maria@example.com'
    for (const [code, text] of [
      [550, '5.7.8 rejected by the policy of the recipient'],
      [535, '5.7.8 authentication failed'],
      [530, '5.7.0 authentication required'],
    ] as const) {
      relay.refuse({ recipients: { [to]: { code, text } } })
      expect(failureOf(await provider.send(message({ to: [to] }), patient())), text).toMatchObject({
        code: 'SMTP_REJECTED_BY_POLICY',
        openBreaker: false,
        retryable: false,
      })
    }
    await provider.close()
    await relay.close()
  })

  test('that are missing park the provider, also when the relay asks for them only at the recipient', async () => {
    const relay = await startFakeSmtp()
    const provider = smtpProvider({ url: `smtp://127.0.0.1:${relay.port}` })
    relay.refuse({ recipients: { 'maria@example.com': { code: 530, text: '5.7.0 authentication required' } } })
    expect(failureOf(await provider.send(message({ to: ['maria@example.com'] }), patient()))).toMatchObject({
      code: 'SMTP_AUTH_REQUIRED',
      openBreaker: true,
    })
    await provider.close()
    await relay.close()
  })

  test.each(['smtp', 'smtps'])('a certificate nobody vouches for parks the provider (%s)', async scheme => {
    const relay = await startFakeSmtp({ secure: scheme === 'smtps', disabledCommands: ['AUTH'] })
    const at = (query: string) => smtpProvider({ url: `${scheme}://127.0.0.1:${relay.port}${query}` })
    const [strict, lenient] = [at(''), at('?tls.rejectUnauthorized=false')]
    expect(failureOf(await strict.send(message(), patient()))).toMatchObject({
      code: 'NETWORK_TLS_ERROR',
      openBreaker: true,
      ambiguous: false,
    })
    messageIdOf(await lenient.send(message(), patient()))
    await Promise.all([strict.close(), lenient.close()])
    await relay.close()
  })

  test('a password asks for TLS on its way to another machine, unless the URL says otherwise', () => {
    expect(smtpSettings('smtp://u:p@mail.acme.test:587').requireTLS).toBe(true)
    expect(smtpSettings('smtp://u:p@mail.acme.test:587?requireTLS=false').requireTLS).toBe(false)
    expect(smtpSettings('smtp://u:p@localhost:25').requireTLS).toBeUndefined()
    expect(smtpSettings('smtps://u:p@mail.acme.test').requireTLS).toBeUndefined()
    expect(smtpSettings('smtp://mail.acme.test').requireTLS).toBeUndefined()
    expect(() => smtpSettings('https://u:secret@mail.acme.test')).toThrow(/^SMTP_URL must look like/)
  })
})
