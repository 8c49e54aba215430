import { afterEach, describe, expect, test, vi } from 'vitest'
import { readReport } from './table.ts'

afterEach(() => vi.useRealTimers())

const RECEIVED = '2026-05-10T12:00:00.000Z'
const at = (provider: 'ses' | 'resend', time: string) => {
  const payload =
    provider === 'ses'
      ? { eventType: 'Send', mail: { messageId: 'm-1', timestamp: time, destination: ['maria@example.com'] } }
      : { type: 'email.delivered', created_at: time, data: { email_id: 'm-1', to: ['maria@example.com'] } }
  const read = readReport(provider, JSON.stringify(payload), Date.parse(RECEIVED))
  return read.kind === 'report' ? read.report.items[0]!.at : read
}

describe.each(['ses', 'resend'] as const)('the time of an event of %s', provider => {
  test('is kept on a worker whose clock is days behind, because it is compared with the time of receipt', () => {
    vi.useFakeTimers({ now: Date.parse('2026-05-01T00:00:00Z') })
    expect(at(provider, '2026-05-10T11:59:00Z')).toBe('2026-05-10T11:59:00.000Z')
  })

  test('is left out when it lies more than a day after that', () => {
    expect(at(provider, '2026-05-11T11:00:00Z')).toBe('2026-05-11T11:00:00.000Z')
    expect(at(provider, '2026-05-12T12:00:00Z')).toBeNull()
  })
})

test.each(['constructor', '__proto__', 'hasOwnProperty', 'toString'])('an event of the type %s is ignored', type => {
  const payload = JSON.stringify({ eventType: type, type, data: { email_id: 'm-1', to: ['maria@example.com'] } })
  for (const provider of ['ses', 'resend'] as const)
    expect(readReport(provider, payload, Date.parse(RECEIVED))).toMatchObject({ kind: 'ignored' })
})
