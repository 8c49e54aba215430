import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Provider } from '../../src/providers/provider.ts'
import { resendProvider } from '../../src/providers/resend/resend.ts'
import { sesProvider } from '../../src/providers/ses/ses.ts'
import { smtpProvider } from '../../src/providers/smtp/smtp.ts'
import { alertAfterRequest, alertInHandshake } from '../support/tls-alerts.ts'
import { failureOf, message, patient } from './message.ts'

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }
const PROVIDERS: Record<string, (port: number) => Provider> = {
  ses: port =>
    sesProvider({
      name: 'ses',
      region: 'eu-west-1',
      configurationSet: null,
      endpoint: `https://127.0.0.1:${port}`,
      credentials,
    }),
  resend: port => resendProvider({ apiKey: 're_test', baseUrl: `https://127.0.0.1:${port}` }),
  smtp: port => smtpProvider({ url: `smtps://127.0.0.1:${port}` }),
}

const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const one of open.splice(0)) await one.close()
})

function providerAt(name: string, port: number): Provider {
  const provider = PROVIDERS[name]!(port)
  // Before its server, which waits for connections that are open.
  open.unshift(provider)
  return provider
}

const HANDSHAKE_FAILURE = 40
const ALERTS = [HANDSHAKE_FAILURE, 70, 80, 112]

describe.each(['ses', 'resend', 'smtp'])('TLS with %s', name => {
  test.each(ALERTS)('an alert %i in the handshake is no connection: nothing has left', async description => {
    const server = await alertInHandshake(description)
    open.push(server)
    const failure = failureOf(await providerAt(name, server.port).send(message(), patient()))
    expect(failure).toMatchObject({ retryable: true, unconnected: true, openBreaker: false, ambiguous: false })
  })
})

describe.each(['ses', 'resend'])('TLS with %s', name => {
  test('the same alert after the request has left is an unknown outcome', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const server = await alertAfterRequest(HANDSHAKE_FAILURE)
    open.push(server)
    const failure = failureOf(await providerAt(name, server.port).send(message(), patient()))
    expect(failure).toMatchObject({ retryable: true, unconnected: false, openBreaker: false, ambiguous: true })
    expect(server.requests()).toBe(1)
  })
})
