import { afterEach, expect, test } from 'vitest'
import { smtpProvider } from '../../src/providers/smtp/smtp.ts'
import { startTalkativeSmtp } from '../support/fake-smtp.ts'
import { failureOf, file, message, messageIdOf, patient } from './message.ts'

let stop = async () => {}
afterEach(() => stop())

async function talkative(...given: Parameters<typeof startTalkativeSmtp>) {
  const relay = await startTalkativeSmtp(...given)
  // One connection, so that the next message is on it as soon as the one before has its result.
  const smtp = smtpProvider({ url: `smtp://127.0.0.1:${relay.port}`, maxConnections: 1 })
  stop = async () => {
    await smtp.close()
    await relay.close()
  }
  return { relay, smtp }
}

test('a relay that takes a message before its end has come is not believed', async () => {
  const { relay, smtp } = await talkative('body', '250 taken')
  const large = message({ attachments: [file({ base64: Buffer.alloc(24 * 1024 * 1024).toString('base64') })] })
  expect(failureOf(await smtp.send(large, patient()))).toMatchObject({ retryable: true, ambiguous: false })
  expect(relay.accepted()).toBe(0)
})

test('a relay that takes a message and says that it closes has taken it', async () => {
  const { relay, smtp } = await talkative('dot', '421 4.4.2 too many messages')
  for (const result of await Promise.all([1, 2].map(() => smtp.send(message(), patient())))) messageIdOf(result)
  expect({ accepted: relay.accepted(), connections: relay.connections() }).toEqual({ accepted: 2, connections: 2 })
})
