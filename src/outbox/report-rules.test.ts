import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashEmail } from '../platform/text/hashing.ts'
import { addressForms, decideEmail, type EmailBefore, type ReportedFact } from './report-rules.ts'
import { EMAIL_STATUSES } from './states.ts'

const person = (
  ordinal: number,
  kind: 'to' | 'cc',
  address: string | null,
  status: EmailBefore['status'] = 'SENT',
) => ({
  ...{ ordinal, kind, address, status },
  suppressed: false,
})
const email = (change: Partial<EmailBefore> = {}): EmailBefore => ({
  outboxId: '01a1dfe1-467e-705f-8fd1-0b50e5004f4c',
  status: 'SENT',
  attemptId: null,
  wasUnknown: false,
  recipients: [person(0, 'to', 'maria@example.com')],
  ...change,
})
const fact = (kind: ReportedFact['kind'], change: Partial<ReportedFact> = {}): ReportedFact => ({
  kind,
  recipient: 'maria@example.com',
  at: '2026-01-23T10:00:00.000Z',
  feedbackId: null,
  metadata: kind === 'BOUNCED' ? { bounceType: 'Permanent' } : {},
  provider: 'ses',
  messageId: 'm-1',
  attemptId: null,
  ...change,
})

describe('reports about one e-mail', () => {
  test('in any order and number lead to the same state, times and events', () => {
    const things = [
      fact('SENT', { recipient: null }),
      fact('BOUNCED', { feedbackId: 'b-1', metadata: { bounceType: 'Transient' } }),
      fact('BOUNCED', { feedbackId: 'b-2', at: '2026-01-23T10:00:03.000Z' }),
      fact('DELIVERED', { at: '2026-01-23T10:00:02.000Z' }),
      fact('COMPLAINED', { at: '2026-01-23T10:00:04.000Z' }),
    ]
    const all = fc.shuffledSubarray([...things, ...things], { minLength: 10 })
    fc.assert(
      fc.property(all, fc.constantFrom(...EMAIL_STATUSES), (facts, status) => {
        const end = decideEmail(email({ status, recipients: [person(0, 'to', 'maria@example.com', status)] }), facts)
        expect(end).toMatchObject({
          status: 'COMPLAINED',
          bounceType: 'Permanent',
          bouncedAt: things[1]!.at,
          deliveredAt: things[3]!.at,
        })
        expect(end.events.filter(one => one.type !== 'RESOLVED').map(one => one.type)).toEqual([
          'SENT',
          'BOUNCE',
          'DELIVERED',
          'BOUNCE',
          'COMPLAINT',
        ])
      }),
    )
  })

  test('about a cc do not decide the status of the e-mail, but prove that it was sent', () => {
    const recipients = [person(0, 'to', 'maria@example.com', 'PENDING'), person(1, 'cc', 'bob@example.com', 'PENDING')]
    const end = decideEmail(email({ status: 'UNKNOWN', wasUnknown: true, recipients }), [
      fact('BOUNCED', { recipient: 'bob@example.com' }),
    ])
    expect(end).toMatchObject({ status: 'SENT', resolved: true, bouncedAt: null })
    expect(end.recipients.map(one => [one.ordinal, one.status])).toEqual([
      [0, 'SENT'],
      [1, 'BOUNCED'],
    ])
    expect(end.events.map(one => [one.type, one.effect?.emailHash])).toEqual([
      ['RESOLVED', undefined],
      ['SENT', undefined],
      ['BOUNCE', hashEmail('bob@example.com')],
    ])
  })

  test('that arrive before the answer of the provider add one SENT event, as the first', () => {
    const typesAfter = (status: EmailBefore['status'], ...facts: ReportedFact[]) =>
      decideEmail(email({ status, recipients: [person(0, 'to', 'maria@example.com', status)] }), facts).events.map(
        one => one.type,
      )
    expect(typesAfter('PROCESSING', fact('DELIVERED'))).toEqual(['SENT', 'DELIVERED'])
    expect(typesAfter('PROCESSING', fact('SENT', { recipient: null }), fact('DELIVERED'))).toEqual([
      'SENT',
      'DELIVERED',
    ])
    expect(typesAfter('SENT', fact('DELIVERED'))).toEqual(['DELIVERED'])
    expect(typesAfter('PROCESSING', fact('REJECTED'))).toEqual(['REJECTED'])
  })

  test('without a feedback id, a more severe one is another fact and has its effect', () => {
    const effectsOf = (...facts: ReportedFact[]) => decideEmail(email(), facts).events.map(one => one.effect?.kind)
    const soft = fact('BOUNCED', { metadata: { bounceType: 'Transient' } })
    expect(effectsOf(soft, fact('BOUNCED', { at: '2026-01-23T10:00:01.000Z' }))).toEqual([undefined, 'HARD_BOUNCE'])
    const notSpam = fact('COMPLAINED', { metadata: { feedbackType: 'not-spam' } })
    expect(effectsOf(notSpam, fact('COMPLAINED', { at: '2026-01-23T10:00:01.000Z' }))).toEqual([undefined, 'COMPLAINT'])
  })

  test('about an unknown address are recorded and change no status', () => {
    const recipients = [person(0, 'to', 'maria@example.com'), person(1, 'cc', 'bob@example.com')]
    const end = decideEmail(email({ recipients }), [fact('BOUNCED', { recipient: 'eve@example.com' })])
    expect([end.status, end.recipients, end.events.length]).toEqual(['SENT', [], 1])
    // The recipient's own server wrote that address.
    expect(end.events[0]!.effect).toBeNull()
  })

  test('give the same fact the same id, however it is reported, and another fact another id', () => {
    const idOf = (change: Partial<ReportedFact>) => decideEmail(email(), [fact('BOUNCED', change)]).events[0]!.id
    expect(idOf({ at: '2026-02-01T00:00:00.000Z', attemptId: 'x' })).toBe(idOf({}))
    expect(
      new Set([idOf({}), idOf({ feedbackId: 'b' }), idOf({ messageId: 'm-2' }), idOf({ provider: 'resend' })]).size,
    ).toBe(4)
  })

  test('a complaint that is not spam has no effect, a soft bounce neither', () => {
    const end = decideEmail(email(), [
      fact('COMPLAINED', { metadata: { feedbackType: 'not-spam' } }),
      fact('BOUNCED', { metadata: { bounceType: 'Transient' } }),
    ])
    expect(end.events.map(one => one.effect)).toEqual([null, null])
    expect(end).toMatchObject({ status: 'BOUNCED', complainedAt: null })
  })
})

test('an address is known by both ways to write its domain', () => {
  expect(addressForms('a@xn--mller-kva.example')).toEqual(['a@xn--mller-kva.example', 'a@müller.example'])
  expect(addressForms('a@example.com')).toEqual(['a@example.com'])
})
