import { expect, test } from 'vitest'
import type { Provider } from '../../src/providers/provider.ts'
import { resendProvider } from '../../src/providers/resend/resend.ts'
import { sesProvider } from '../../src/providers/ses/ses.ts'
import { smtpProvider } from '../../src/providers/smtp/smtp.ts'
import { startFakeResend } from '../support/fake-resend.ts'
import { startFakeSes } from '../support/fake-ses.ts'
import { startFakeSmtp } from '../support/fake-smtp.ts'
import { message, messageIdOf, patient } from './message.ts'

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }

type Started = { provider: Provider; close: () => Promise<void> }
const STARTS: Record<string, () => Promise<Started>> = {
  async ses() {
    const { url, close } = await startFakeSes()
    const provider = sesProvider({
      name: 'ses',
      region: 'eu-west-1',
      configurationSet: null,
      endpoint: url,
      credentials,
    })
    return { provider, close }
  },
  async resend() {
    const { url, close } = await startFakeResend()
    return { provider: resendProvider({ apiKey: 're_test', baseUrl: url }), close }
  },
  async smtp() {
    const { port, close } = await startFakeSmtp()
    return { provider: smtpProvider({ url: `smtp://127.0.0.1:${port}` }), close }
  },
}

/** What would keep the process from ending: timers and sockets that are waited for. */
const handles = () => process.getActiveResourcesInfo().filter(name => /^(TCP|TLS|Timeout)/.test(name)).length

test.each(Object.keys(STARTS))('%s holds nothing once it is closed', async name => {
  const before = handles()
  const { provider, close } = await STARTS[name]!()
  const signal = patient()
  for (let sent = 0; sent < 3; sent++) messageIdOf(await provider.send(message(), signal))
  await provider.close()
  await close()
  await expect.poll(handles, { timeout: 8000 }).toBeLessThanOrEqual(before)
})
