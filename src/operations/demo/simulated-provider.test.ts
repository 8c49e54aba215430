import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { uuidv7 } from '../../platform/text/uuid.ts'
import type { OutgoingMessage, Provider, ProviderEvent } from '../../providers/provider.ts'
import { readReport } from '../../providers/table.ts'
import { DEAD_MAILBOX, OLD_LIST_DOMAIN, SILENT_MAILBOX } from './companies.ts'
import { sesEvent, sesMessageId, simulatedProvider } from './simulated-provider.ts'

const IDS = { outboxId: uuidv7(), attemptId: uuidv7() }
const message = (to: string) => ({ ...IDS, to: [to], cc: [], bcc: [] }) as unknown as OutgoingMessage
const capture = {
  send: async () => ({ kind: 'sent', messageId: 'm-1', events: [] }),
} as unknown as Provider

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** `draws`: the random numbers in their order: latency, failure, report of the recipient, delay of the report. */
async function send(to: string, draws: number[], isOut = false) {
  const reported: ProviderEvent[][] = []
  const provider = simulatedProvider({
    name: 'ses:us-east-1',
    capture,
    isOut: () => isOut,
    report: (_message, _messageId, events) => reported.push(events),
    random: () => draws.shift() ?? 0.5,
  })
  const result = await provider.send(message(to), new AbortController().signal)
  await vi.advanceTimersByTimeAsync(10_000)
  return { result, reported: reported.flat().map(event => event.kind) }
}

describe('a simulated provider', () => {
  test.each([
    [0.001, 'SES_SERVICE_UNAVAILABLE'],
    [0.009, 'SES_MESSAGE_REJECTED'],
    [0.014, 'NETWORK_ERROR'],
    [0.0165, 'SES_THROTTLING'],
  ])('with %d as its draw answers %s', async (draw, code) => {
    const { result } = await send('maria@example.com', [0, draw])
    expect(result).toMatchObject({ kind: 'failed', failure: { code } })
  })

  test.each([
    [0.001, 'maria@example.com', ['BOUNCED']],
    [0.03, 'maria@example.com', []],
    [0.9, 'maria@example.com', ['DELIVERED']],
    [0.07, `maria@${OLD_LIST_DOMAIN}`, ['DELIVERED', 'COMPLAINED']],
  ])('reports later what became of the recipient: draw %d of %s', async (draw, to, kinds) => {
    const { result, reported } = await send(to, [0, 0.9, draw])
    expect(result).toMatchObject({ kind: 'sent', messageId: sesMessageId('m-1'), events: [] })
    expect(reported).toEqual(kinds)
  })

  test.each(['DELIVERED', 'BOUNCED', 'COMPLAINED'] as const)('reports %s as Amazon SES does', kind => {
    const to = 'maria@example.com'
    const { provider, payload } = sesEvent(message(to), 'm-1', { kind, recipient: to, metadata: {} })
    expect(readReport(provider, payload, Date.now())).toMatchObject({
      kind: 'report',
      report: { messageId: 'm-1', ...IDS, items: [{ kind, recipient: to }] },
    })
  })

  test('takes nothing during an outage, and nothing for a mailbox that is off or silent', async () => {
    const unavailable = { kind: 'failed', failure: { code: 'SES_SERVICE_UNAVAILABLE', retryable: true } }
    expect((await send('maria@example.com', [], true)).result).toMatchObject(unavailable)
    expect((await send(DEAD_MAILBOX, [])).result).toMatchObject(unavailable)
    const unanswered = { kind: 'failed', failure: { code: 'NETWORK_ERROR', ambiguous: true } }
    expect((await send(SILENT_MAILBOX, [])).result).toMatchObject(unanswered)
  })
})
