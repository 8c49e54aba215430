import { randomUUID } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import type { OutgoingMessage, SendResult } from '../../src/providers/provider.ts'

export function message(change: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    outboxId: randomUUID(),
    attemptId: randomUUID(),
    companyId: randomUUID(),
    from: 'Acme <news@acme.test>',
    to: ['maria@example.com'],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Hello',
    html: '<p>It works.</p>',
    text: 'It works.',
    headers: {},
    tags: [],
    attachments: [],
    ...change,
  }
}

export const file = (change: Partial<OutgoingMessage['attachments'][number]> = {}) => ({
  filename: 'note.txt',
  contentType: 'text/plain',
  contentId: null,
  base64: Buffer.from('a note').toString('base64'),
  ...change,
})

/** Long enough for a loopback on a busy machine, never waited for. */
export const patient = () => AbortSignal.timeout(20_000)

export function failureOf(result: SendResult) {
  if (result.kind !== 'failed') throw new Error(`Expected a failure, got ${result.kind}`)
  return result.failure
}

export function messageIdOf(result: SendResult): string {
  if (result.kind !== 'sent')
    throw new Error(`Expected it to be sent, got ${result.failure.code}: ${result.failure.message}`)
  return result.messageId
}

/** Where nobody listens: one that was free a moment ago. */
export async function deafPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
